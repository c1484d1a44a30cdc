import HearthModel
import TestSupport

@testable import HearthServer

/// Transactions and writes of random actors, taken in turns as chance will have it, on documents that are numbers.
struct LockSimulation {
  static let commitsPerActor = 3

  private struct Actor {
    var seniority: UInt64?
    var owner: LockTable.Owner?
    /// The documents that it has read.
    var documents: [DocumentKey: Int?] = [:]
    var ranges: [(query: HearthModel.Query, result: [DocumentKey: Int])] = []
    var readsLeft = 0
    var commits = 0
    var wish: Wish?
    var ticket: LockTable.TicketID?
    var isWaiting = false
  }

  private enum Wish {
    case read([DocumentKey], HearthModel.Query?)
    case write([(key: DocumentKey, number: Int?)])
  }

  private(set) var table = LockTable()
  private(set) var failures: [String] = []
  let actorCount: Int
  private var generator: SeededGenerator
  private var actors: [Actor]
  private var state: [DocumentKey: Int] = [:]
  private var lastOwner: UInt64 = 0
  private let keys: [DocumentKey]

  var commits: Int { actors.reduce(0) { $0 + $1.commits } }

  init(seed: UInt64) {
    generator = SeededGenerator(seed: seed)
    actorCount = Int.random(in: 2...9, using: &generator)
    actors = Array(repeating: Actor(), count: actorCount)
    keys = (0..<Int.random(in: 1...5, using: &generator)).map { key("c/\($0)") }
  }

  mutating func run() {
    var steps = 0
    while failures.isEmpty {
      let unfinished = actors.indices.filter { actors[$0].commits < Self.commitsPerActor }
      guard !unfinished.isEmpty else { return }
      guard let index = unfinished.filter({ !actors[$0].isWaiting }).randomElement(using: &generator) else {
        return failures.append("all \(unfinished.count) wait")
      }
      steps += 1
      if steps == 100_000 { return failures.append("no end after \(steps) steps") }
      step(index)
    }
  }

  private mutating func step(_ index: Int) {
    if actors[index].wish == nil { begin(index) }
    switch actors[index].wish {
    case .read(let keys, let query)?:
      guard let owner = actors[index].owner else { return }
      let answer = table.read(keys, query, by: owner, at: 0)
      settle(answer, of: index)
      if answer.ticket == nil { read(index) }
    case .write(let writes)?: commit(writes, of: index)
    case nil: break
    }
  }

  /// Chooses what an actor does next.
  private mutating func begin(_ index: Int) {
    if actors[index].owner == nil, Int.random(in: 0..<4, using: &generator) > 0 {
      lastOwner += 1
      let owner = LockTable.Owner(seniority: actors[index].seniority ?? lastOwner, number: lastOwner)
      (actors[index].owner, actors[index].seniority) = (owner, owner.seniority)
      actors[index].readsLeft = Int.random(in: 1...3, using: &generator)
    }
    if actors[index].owner != nil, actors[index].readsLeft > 0 {
      actors[index].readsLeft -= 1
      let isRange = Int.random(in: 0..<3, using: &generator) == 0
      let limit = Int.random(in: 0..<10, using: &generator)
      let range = HearthModel.Query(path: path("c")).with(filter: .field(field("n"), .greaterThan, limit.value))
      actors[index].wish = .read(isRange ? [] : [anyKey()], isRange ? range : nil)
    } else {
      let count = Int.random(in: 0...2, using: &generator)
      actors[index].wish = .write(
        (0..<count).map { _ in
          (anyKey(), Bool.random(using: &generator) ? Int.random(in: 0..<10, using: &generator) : nil)
        })
    }
  }

  private mutating func anyKey() -> DocumentKey { keys.randomElement(using: &generator) ?? key("c/x") }

  private func result(of query: HearthModel.Query) -> [DocumentKey: Int] {
    state.filter { query.matches(document($0.key, $0.value)) }
  }

  private func document(_ key: DocumentKey, _ number: Int?) -> Document {
    let version = SnapshotVersion(microseconds: 1)
    guard let number else { return .missing(key, version: version) }
    return .found(key, version: version, fields: EncodedFields(["n": number.value]))
  }

  /// The locks are there.
  private mutating func read(_ index: Int) {
    guard case .read(let keys, let query)? = actors[index].wish else { return }
    for key in keys { actors[index].documents[key] = .some(state[key]) }
    if let query { actors[index].ranges.append((query, result(of: query))) }
    actors[index].wish = nil
  }

  private mutating func commit(_ writes: [(key: DocumentKey, number: Int?)], of index: Int) {
    var after: [DocumentKey: Int?] = [:]
    for write in writes { after[write.key] = .some(write.number) }
    let transitions = after.filter { state[$0.key] != $0.value }.map { key, number in
      DocumentTransition(before: document(key, state[key]), after: document(key, number))
    }
    let answer = table.write(
      transitions, by: actors[index].owner, ticket: actors[index].ticket, at: 0)
    settle(answer, of: index)
    guard answer.ticket == nil else { return }
    if answer.isAborted { return failures.append("locks are lost without a word") }
    for (key, number) in actors[index].documents where state[key] != number {
      failures.append("\(key) was \(String(describing: number)) and is \(String(describing: state[key]))")
    }
    for range in actors[index].ranges where result(of: range.query) != range.result {
      failures.append("a range was \(range.result) and is \(result(of: range.query))")
    }
    for (key, number) in after { state[key] = number }
    let (owner, ticket) = (actors[index].owner, actors[index].ticket)
    actors[index] = Actor(commits: actors[index].commits + 1)
    if let owner { handle(table.release(owner)) }
    if let ticket { handle(table.finish(ticket)) }
  }

  private mutating func settle(_ answer: LockTable.Answer, of index: Int) {
    if let ticket = answer.ticket {
      actors[index].ticket = ticket
      actors[index].isWaiting = true
    }
    handle(answer.events)
  }

  private mutating func handle(_ events: [LockTable.Event]) {
    for event in events {
      let ticket =
        switch event {
        case .granted(let ticket), .ready(let ticket), .aborted(let ticket): ticket
        }
      guard let index = actors.firstIndex(where: { $0.ticket == ticket }) else { continue }
      actors[index].isWaiting = false
      switch event {
      case .granted:
        actors[index].ticket = nil
        read(index)
      case .ready: break
      case .aborted:
        let owner = actors[index].owner
        actors[index] = Actor(seniority: actors[index].seniority, commits: actors[index].commits)
        if let owner { handle(table.release(owner)) }
      }
    }
  }
}
