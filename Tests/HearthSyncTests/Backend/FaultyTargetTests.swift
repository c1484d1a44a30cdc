import HearthModel
import TestSupport
import Testing

@testable import HearthSync

/// A target for which the backend ends the stream.
@Suite("A target that ends the watch stream", .timeLimit(.minutes(1)))
struct FaultyTargetTests {
  /// A backend that ends the stream when it is asked for one of some targets, and answers all others.
  private struct Backend {
    var faulty: Set<TargetID>
    var code = StatusCode.internal
    var time: Int64 = 100

    /// Answers until nothing more is asked for.
    ///
    /// - Returns: False if it has ended the stream.
    mutating func answer(_ client: TestClient, _ answered: inout Set<TargetID>) throws -> Bool {
      while let target = client.watched.keys.sorted().first(where: { !answered.contains($0) }) {
        if faulty.contains(target) {
          answered = []
          try client.breakWatchStream(code)
          if client.timers[.listenStreamConnectionBackoff] != nil { try client.fire(.listenStreamConnectionBackoff) }
          return false
        }
        time += 1
        answered.insert(target)
        try client.fill(target, [found("c\(target)/a", time)], at: time)
      }
      return true
    }
  }

  private func names(_ count: Int) -> [Query] { (0..<count).map { collection("c\(2 * $0 + 2)") } }

  @Test(
    "it is given up, and all others get their results",
    arguments: [[2], [6], [10], [4, 8], [2, 6, 10]] as [Set<TargetID>])
  func givenUp(faulty: Set<TargetID>) throws {
    let client = try TestClient()
    let listeners = names(5).map { client.listen($0) }
    var backend = Backend(faulty: faulty)
    var answered: Set<TargetID> = []
    var streams = 1
    while try !backend.answer(client, &answered) {
      streams += 1
      try #require(streams < 60)
    }
    for (number, listener) in listeners.enumerated() {
      let target = TargetID(2 * number + 2)
      if faulty.contains(target) {
        #expect(client.errors[listener]?.code == .internal)
        #expect(client.errors[listener]?.message.contains("ends the stream each time") == true)
      } else {
        #expect(client.snapshots[listener]?.last?.isFromCache == false && client.errors[listener] == nil, "\(target)")
      }
    }
    // From now on all are asked for at once.
    try client.breakWatchStream()
    if client.timers[.listenStreamConnectionBackoff] != nil { try client.fire(.listenStreamConnectionBackoff) }
    #expect(client.watched.count == 5 - faulty.count)
  }

  @Test(
    "no target is given up while the backend answers none, nor for errors of the connection",
    arguments: [StatusCode.internal, .unavailable, .resourceExhausted])
  func trouble(code: StatusCode) throws {
    let client = try TestClient()
    let listeners = names(3).map { client.listen($0) }
    var backend = Backend(faulty: code == .internal ? [2, 4, 6] : [6], code: code)
    var answered: Set<TargetID> = []
    for _ in 0..<40 { #expect(try !backend.answer(client, &answered)) }
    #expect(client.errors.isEmpty)
    backend.faulty = []
    #expect(try backend.answer(client, &answered))
    for listener in listeners { #expect(client.snapshots[listener]?.last?.isFromCache == false) }
  }

  @Test("the only target is asked for again")
  func alone() throws {
    let client = try TestClient()
    let listener = client.listen(names(1)[0])
    var backend = Backend(faulty: [2])
    var answered: Set<TargetID> = []
    for _ in 0..<20 { #expect(try !backend.answer(client, &answered)) }
    backend.faulty = []
    #expect(try backend.answer(client, &answered))
    #expect(client.snapshots[listener]?.last?.isFromCache == false && client.errors.isEmpty)
  }

  @Test("targets that come and go while they are asked for one by one are neither forgotten nor removed unasked")
  func comingAndGoing() throws {
    let client = try TestClient()
    let first = names(4).map { client.listen($0) }
    for _ in 0..<3 {
      try client.breakWatchStream(.internal)
      if client.timers[.listenStreamConnectionBackoff] != nil { try client.fire(.listenStreamConnectionBackoff) }
    }
    #expect(client.watched.keys.sorted() == [2])
    // One that waits goes, and one comes.
    client.post(.unlisten(first[1]))
    let late = client.listen(collection("late"))
    #expect(client.watched.keys.sorted() == [2])
    var backend = Backend(faulty: [])
    var answered: Set<TargetID> = []
    #expect(try backend.answer(client, &answered))
    #expect(answered == [2, 6, 8, 10])
    #expect(client.snapshots[late]?.last?.isFromCache == false)
  }

  @Test(
    "one that goes and comes again before it is answered is asked for again, and so are those behind it",
    arguments: [1, 3])
  func comesAgain(count: Int) throws {
    let client = try TestClient(durable: true)
    let listeners = names(count).map { client.listen($0) }
    for _ in 0..<3 {
      try client.breakWatchStream(.internal)
      if client.timers[.listenStreamConnectionBackoff] != nil { try client.fire(.listenStreamConnectionBackoff) }
    }
    #expect(client.watched.keys.sorted() == [2])
    client.post(.unlisten(listeners[0]))
    let again = client.listen(names(1)[0])
    try client.acknowledge(2)
    try client.acknowledgeRemoval(2)
    var backend = Backend(faulty: [])
    var answered: Set<TargetID> = []
    #expect(try backend.answer(client, &answered))
    #expect(answered.count == count && client.timers[.listenStreamIdle] == nil)
    for listener in listeners.dropFirst() + [again] {
      #expect(client.snapshots[listener]?.last?.isFromCache == false)
    }
  }

  /// The search between random targets and a backend that ends the stream for one of them.
  private struct Trial {
    var random: SeededGenerator
    var search = FaultyTargetSearch()
    let faulty: TargetID
    var targets: Set<TargetID> = []
    var isOpen = false
    var asked: Set<TargetID> = []
    var answered: Set<TargetID> = []

    init(seed: UInt64) {
      random = SeededGenerator(seed: seed)
      faulty = TargetID.random(in: 1...12, using: &random)
    }

    mutating func ask(_ new: [TargetID]) {
      for target in new {
        #expect(targets.contains(target) && !asked.contains(target))
        asked.insert(target)
      }
    }

    mutating func open() {
      guard !isOpen, !targets.isEmpty else { return }
      (isOpen, asked, answered) = (true, [], [])
      ask(search.opened(targets))
    }

    mutating func add(_ target: TargetID) {
      guard targets.insert(target).inserted, isOpen else { return }
      if search.added(target) { ask([target]) }
    }

    mutating func remove(_ target: TargetID) {
      guard targets.remove(target) != nil else { return }
      let wasAsked = search.removed(target)
      #expect(!isOpen || wasAsked == asked.contains(target))
      (asked, answered) = (asked.subtracting([target]), answered.subtracting([target]))
      askOn()
    }

    mutating func answer() {
      guard let target = asked.subtracting(answered).subtracting([faulty]).sorted().randomElement(using: &random) else {
        return
      }
      answered.insert(target)
      askOn()
    }

    /// After messages and removals, as the engine does.
    private mutating func askOn() {
      let (wanted, done) = (targets, answered)
      while isOpen, let next = search.next(isAnswered: { !wanted.contains($0) || done.contains($0) }) {
        if targets.contains(next) { ask([next]) }
      }
    }

    /// The backend comes to the faulty target.
    mutating func end() {
      guard isOpen, asked.contains(faulty) else { return }
      isOpen = false
      let unanswered = targets.subtracting(answered)
      let error = StatusError(code: .internal, message: "x")
      let given = search.ended(error, unanswered: unanswered, hasAnswered: unanswered.count < targets.count)
      guard let given else { return }
      #expect(given == faulty)
      remove(given)
    }
  }

  @Test("the search finds it, whatever comes and goes, and all others are asked for", arguments: 0..<200)
  func search(seed: UInt64) {
    var trial = Trial(seed: seed)
    for _ in 0..<300 {
      let target = TargetID.random(in: 1...12, using: &trial.random)
      switch Int.random(in: 0..<6, using: &trial.random) {
      case 0: trial.open()
      case 1: trial.add(target)
      case 2: trial.remove(target)
      case 3, 4: trial.answer()
      default: trial.end()
      }
    }
    trial.add(trial.faulty % 12 + 1)
    for _ in 0..<60 {
      trial.open()
      for _ in 0..<12 { trial.answer() }
      trial.end()
    }
    #expect(!trial.targets.contains(trial.faulty))
    #expect(trial.targets == trial.answered && trial.targets == trial.asked)
  }
}
