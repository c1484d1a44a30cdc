import Dispatch
import HearthModel
import Synchronization
import TestSupport
import Testing

@testable import HearthServer

/// The order in which waiting commits come to the writer.
@Suite("The queue of commits", .timeLimit(.minutes(1)))
struct CommitQueueTests {
  private struct Entry: Hashable {
    var sender: String
    var number: Int
  }

  private let queue = CommitQueue<Entry>()

  private func add(_ sender: String, _ numbers: some Sequence<Int>, writes: Int = 1) {
    for number in numbers { _ = queue.add(Entry(sender: sender, number: number), of: sender, writes: writes) }
  }

  private func take(_ count: Int) -> [Entry] {
    let group = queue.take(atMost: count).group
    queue.finish(group.last, untried: [])
    return group.map(\.entry)
  }

  @Test("commits of one sender are a queue, whatever their numbers of writes are")
  func oneSender() {
    for number in 0..<200 { add("", [number], writes: number % 7) }
    var taken: [Int] = []
    while !queue.isEmpty { taken += take(16).map(\.number) }
    #expect(taken == Array(0..<200))
  }

  @Test("a commit does not wait for the many that another sender has sent before")
  func turns() {
    add("many", 0..<500)
    #expect(take(64).map(\.number) == Array(0..<64))
    add("few", [1000])
    let next = take(64)
    #expect(next.prefix(2).contains(Entry(sender: "few", number: 1000)))
    #expect(next.count { $0.sender == "many" } == 63)
    // Nor for one of many writes.
    add("large", [0, 1], writes: 500)
    add("few", [1001])
    let later = take(64).map(\.number)
    #expect(later.contains(1001) && later.contains(0) && !later.contains(1))
  }

  @Test("a sender who was away has no right to more turns than the others when it comes back")
  func absence() {
    add("always", 0..<1000)
    for _ in 0..<10 { _ = take(64) }
    add("back", 0..<300)
    let taken = take(64)
    #expect(abs(taken.count { $0.sender == "back" } - 32) <= 1, "\(taken)")
  }

  @Test("commits that are put back have their places again, and one that comes then has its turn with them")
  func puttingBack() {
    add("many", 0..<100)
    let (group, isMoreWaiting) = queue.take(atMost: 64)
    #expect(isMoreWaiting)
    add("few", [1000])
    queue.finish(group[2], untried: group.dropFirst(3))
    add("late", [2000])
    let next = take(8)
    #expect(next.filter { $0.sender == "many" }.map(\.number) == Array(3..<9))
    #expect(Set(next.map(\.sender)) == ["many", "few", "late"])
  }

  @Test("a sender whose commit has taken long waits for as many of the others")
  func charges() {
    add("slow", 0..<1)
    #expect(take(1) == [Entry(sender: "slow", number: 0)])
    queue.note(60_000, of: "slow")
    #expect(queue.isSlow("slow") && !queue.isSlow("usual"))
    add("slow", [1])
    add("usual", 0..<620)
    let taken = take(621)
    #expect(taken.firstIndex(of: Entry(sender: "slow", number: 1)).map { (595...605).contains($0) } == true)
    queue.note(100, of: "slow")
    #expect(!queue.isSlow("slow"))
  }

  @Test("each commit is taken once, those of a sender in their order", arguments: 0..<20)
  func randomOrders(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var sent: [String: Int] = [:]
    var done: [String: [Int]] = [:]
    for step in 0..<400 {
      if step < 300, Bool.random(using: &random) {
        let sender = "s\(Int.random(in: 0..<80, using: &random))"
        for _ in 0..<Int.random(in: 1...9, using: &random) {
          add(sender, [sent[sender, default: 0]], writes: Int.random(in: 0...20, using: &random))
          sent[sender, default: 0] += 1
        }
      } else {
        let (group, isMoreWaiting) = queue.take(atMost: Int.random(in: 1...12, using: &random))
        #expect(isMoreWaiting == !queue.isEmpty)
        let kept = group.isEmpty ? 0 : Int.random(in: 1...group.count, using: &random)
        for taken in group.prefix(kept) { done[taken.entry.sender, default: []].append(taken.entry.number) }
        queue.finish(kept > 0 ? group[kept - 1] : nil, untried: group.dropFirst(kept))
      }
    }
    while !queue.isEmpty { for entry in take(10) { done[entry.sender, default: []].append(entry.number) } }
    #expect(done == sent.mapValues { Array(0..<$0) })
  }

  // MARK: - In a database

  /// Takes some time of the server's clock for each commit, and notes its documents.
  private final class SlowGuard: CommitGuard {
    let clock: ManualClock
    let milliseconds: Int64
    let checked = Mutex<[String]>([])
    /// Is called for each commit, with the number of those so far.
    let step: @Sendable (Int) -> Void

    init(_ clock: ManualClock, milliseconds: Int64 = 20, step: @escaping @Sendable (Int) -> Void) {
      (self.clock, self.milliseconds, self.step) = (clock, milliseconds, step)
    }

    func inOneAttempt() -> SlowGuard { self }

    func check(
      _ writes: [any GuardedWrite], at time: Timestamp, stored: @escaping (DocumentKey) throws -> Document
    ) throws {
      clock.advance(milliseconds: milliseconds)
      let count = checked.withLock { checked in
        checked += writes.map(\.key.canonicalString)
        return checked.count
      }
      step(count)
    }
  }

  @Test("a commit is answered before the next one of a sender whose last one has taken long")
  func behindSlowSender() async throws {
    let fixture = try StorageFixture()
    let storage = fixture.storage
    let (bothWait, isAnswered) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let wasAnsweredInTime = Mutex(false)
    let slow = SlowGuard(fixture.clock, milliseconds: 80) { count in
      if count == 1 { bothWait.wait() }
      if count == 2 {
        let result = isAnswered.wait(timeout: .now() + 20)
        wasAnsweredInTime.withLock { $0 = result == .success }
      }
    }
    @Sendable func commit(_ path: String, of sender: String, _ commitGuard: SlowGuard?) async throws {
      var request = CommitRequest(mutations: [.set(key(path), [:])])
      (request.sender, request.commitGuard) = (sender, commitGuard)
      _ = try await storage.commit(request)
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await commit("slow/1", of: "slow", slow) }
      try await waitUntil { slow.checked.withLock { !$0.isEmpty } }
      group.addTask {
        try await commit("quick/1", of: "quick", nil)
        isAnswered.signal()
      }
      try await waitUntil { storage.waiting.count == 1 }
      group.addTask { try await commit("slow/2", of: "slow", slow) }
      try await waitUntil { storage.waiting.count == 2 }
      bothWait.signal()
      try await group.waitForAll()
    }
    #expect(wasAnsweredInTime.withLock { $0 })
  }

  @Test("a commit is answered after its turn, when those of others whose rules take long are still waiting")
  func slowRules() async throws {
    let fixture = try StorageFixture()
    let storage = fixture.storage
    let (allWait, isAnswered) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let wasAnsweredInTime = Mutex(false)
    let slow = SlowGuard(fixture.clock) { count in
      if count == 1 { allWait.wait() }
      // The writer goes on as soon as the other one has its answer.
      if count == 20 {
        let result = isAnswered.wait(timeout: .now() + 20)
        wasAnsweredInTime.withLock { $0 = result == .success }
      }
    }
    @Sendable func commit(_ path: String, of sender: String) async throws {
      var request = CommitRequest(mutations: [.set(key(path), [:])])
      (request.sender, request.commitGuard) = (sender, slow)
      _ = try await storage.commit(request)
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await commit("many/0", of: "many") }
      try await waitUntil { slow.checked.withLock { !$0.isEmpty } }
      for number in 1..<60 { group.addTask { try await commit("many/\(number)", of: "many") } }
      try await waitUntil { storage.waiting.count == 59 }
      group.addTask {
        try await commit("few/1", of: "few")
        isAnswered.signal()
      }
      try await waitUntil { storage.waiting.count == 60 }
      allWait.signal()
      try await group.waitForAll()
    }
    #expect(wasAnsweredInTime.withLock { $0 })
    #expect(slow.checked.withLock(\.count) == 61)
    let stored = try await storage.documents(for: [key("few/1"), key("many/59")], at: nil).documents
    #expect(stored.count(where: \.isFound) == 2)
  }
}
