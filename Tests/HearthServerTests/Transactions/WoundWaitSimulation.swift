import HearthHistory
import HearthModel
import TestSupport

@testable import HearthServer

/// Transactions and writes of random actors on lists of numbers, taken in turns as chance will have it. One database decides on all commits,
/// as nodes do under its lock.
struct WoundWaitSimulation {
  static let commitsPerActor = 3

  /// A mistake in the use of the rule, which the simulation has to find.
  enum Mistake: CaseIterable {
    case documentsNotNoted
    case queriesNotNoted
    /// A transaction that was ended may commit.
    case endsOverlooked
  }

  private struct Actor {
    /// The age of the first attempt, until it is committed.
    var seniority: Seniority?
    var transaction: WoundWait.ID?
    var began: UInt64 = 0
    var readsLeft = 0
    var reads: [String: [Int]] = [:]
    var ranges: [(query: HearthModel.Query, result: [String: [Int]])] = []
    /// The numbers that its commit appends.
    var appends: [String: [Int]]?
    var blockers: Set<WoundWait.ID> = []
    var commits = 0
  }

  /// A row of an open transaction, with what it has read.
  private struct Row {
    var seniority: Seniority
    var keys: Set<DocumentKey> = []
    var queries: Set<HearthModel.Query> = []
    var isExpired = false
  }

  private(set) var failures: [String] = []
  private(set) var history: [ListTransaction] = []
  private(set) var wounds = 0
  private(set) var waits = 0
  let actorCount: Int
  private let mistake: Mistake?
  private let names: [String]
  private var generator: SeededGenerator
  private var actors: [Actor]
  private var lists: [String: [Int]] = [:]
  private var rows: [WoundWait.ID: Row] = [:]
  private var time: UInt64 = 0
  private var latestID: UInt8 = 0

  var commits: Int { actors.reduce(0) { $0 + $1.commits } }

  init(seed: UInt64, mistake: Mistake? = nil) {
    self.mistake = mistake
    generator = SeededGenerator(seed: seed)
    actorCount = Int.random(in: 2...9, using: &generator)
    actors = Array(repeating: Actor(), count: actorCount)
    names = (0..<Int.random(in: 1...5, using: &generator)).map { "lists/l\($0)" }
  }

  mutating func run() {
    for _ in 0..<50_000 {
      let unfinished = actors.indices.filter { actors[$0].commits < Self.commitsPerActor }
      guard !unfinished.isEmpty else {
        failures += HistoryChecker.findings(in: history).map(\.description)
        return
      }
      let ready = unfinished.filter { actors[$0].blockers.allSatisfy { rows[$0] == nil } }
      guard let index = ready.randomElement(using: &generator) else {
        return failures.append("all \(unfinished.count) wait")
      }
      time += 1
      step(index)
      guard failures.isEmpty else { return }
    }
    failures.append("no end")
  }

  private mutating func step(_ index: Int) {
    if actors[index].appends != nil { return commit(index) }
    guard let transaction = actors[index].transaction else { return begin(index) }
    if rows[transaction] == nil, mistake != .endsOverlooked { return abort(index) }
    switch generator.below(20) {
    case 0: abort(index)
    // Its client is away for so long that its time is over; it may still not know when it commits.
    case 1: rows[transaction]?.isExpired = true
    case _ where actors[index].readsLeft > 0: read(index, transaction)
    default: prepareCommit(index)
    }
  }

  private mutating func begin(_ index: Int) {
    let seniority = actors[index].seniority ?? Seniority(time: Int64(time), number: 0)
    actors[index].seniority = seniority
    actors[index].began = time
    guard generator.below(4) > 0 else { return prepareCommit(index) }
    latestID &+= 1
    let id = [latestID] + withUnsafeBytes(of: time) { Array($0) }
    rows[id] = Row(seniority: seniority)
    actors[index].transaction = id
    actors[index].readsLeft = 1 + generator.below(3)
  }

  private mutating func read(_ index: Int, _ transaction: WoundWait.ID) {
    actors[index].readsLeft -= 1
    if generator.below(3) == 0 {
      let filter = Filter.field(field("n"), .greaterThan, generator.below(4).value)
      let query = HearthModel.Query(path: path("lists")).with(filter: filter)
      if mistake != .queriesNotNoted { rows[transaction]?.queries.insert(query) }
      actors[index].ranges.append((query, result(of: query)))
    } else {
      let name = anyName()
      if mistake != .documentsNotNoted { rows[transaction]?.keys.insert(key(name)) }
      actors[index].reads[name] = actors[index].reads[name] ?? lists[name, default: []]
    }
  }

  private mutating func prepareCommit(_ index: Int) {
    var appends: [String: [Int]] = [:]
    for number in 0..<(1 + generator.below(2)) { appends[anyName()] = [Int(time) * 10 + number] }
    actors[index].appends = appends
  }

  private mutating func anyName() -> String { names[generator.below(names.count)] }

  // MARK: - Commits

  private mutating func commit(_ index: Int) {
    let (actor, own) = (actors[index], actors[index].transaction)
    guard let appends = actor.appends, let seniority = actor.seniority else { return }
    if let own, rows[own].map(\.isExpired) ?? true, mistake != .endsOverlooked { return abort(index) }
    let transitions = appends.map { name, numbers in
      let list = lists[name, default: []]
      return DocumentTransition(before: document(name, list), after: document(name, list + numbers))
    }
    let decision = rule().decision(on: transitions, by: own, seniority)
    checkAges(decision, own, seniority)
    switch decision {
    case .wait(for: let older):
      waits += 1
      actors[index].blockers = older
    case .proceed(let ended):
      wounds += ended.wounded.count
      for id in ended.wounded.union(ended.expired) { rows[id] = nil }
      checkRanges(of: actor)
      for (name, numbers) in appends { lists[name, default: []] += numbers }
      if let own { rows[own] = nil }
      note(index, .committed)
      actors[index] = Actor(commits: actor.commits + 1)
    }
  }

  private func rule() -> WoundWait {
    var rule = WoundWait()
    for (id, row) in rows {
      rule.add(id, row.seniority, isExpired: row.isExpired)
      for key in row.keys { rule.add(key, readBy: id) }
      for query in row.queries { rule.add(query, readBy: id) }
    }
    return rule
  }

  /// The oldest never waits, and no transaction is ended by a younger one.
  private mutating func checkAges(_ decision: WoundWait.Decision, _ own: WoundWait.ID?, _ seniority: Seniority) {
    switch decision {
    case .wait(for: let older):
      if older.contains(where: { rows[$0].map { $0.seniority >= seniority || $0.isExpired } ?? true }) || older.isEmpty
      {
        failures.append("a commit waits for one that is not older")
      }
    case .proceed(let ended):
      if let own, ended.wounded.union(ended.expired).contains(own) {
        failures.append("a commit ends its own transaction")
      }
      if ended.wounded.contains(where: { rows[$0].map { $0.seniority < seniority } ?? true }) {
        failures.append("a transaction is ended by a younger one")
      }
    }
  }

  private mutating func checkRanges(of actor: Actor) {
    for range in actor.ranges where result(of: range.query) != range.result {
      failures.append("a range was \(range.result) and is \(result(of: range.query))")
    }
  }

  private mutating func abort(_ index: Int) {
    if let transaction = actors[index].transaction { rows[transaction] = nil }
    note(index, .failed)
    actors[index] = Actor(seniority: actors[index].seniority, commits: actors[index].commits)
  }

  private mutating func note(_ index: Int, _ outcome: ListTransaction.Outcome) {
    time += 1
    history.append(
      ListTransaction(
        client: "actor\(index)", began: actors[index].began, ended: time, outcome: outcome, reads: actors[index].reads,
        appends: actors[index].appends ?? [:]))
  }

  // MARK: - Documents

  private func document(_ name: String, _ list: [Int]) -> Document {
    let version = SnapshotVersion(microseconds: 1)
    guard !list.isEmpty else { return .missing(key(name), version: version) }
    return .found(key(name), version: version, fields: EncodedFields(["n": (list.count % 5).value]))
  }

  private func result(of query: HearthModel.Query) -> [String: [Int]] {
    lists.filter { query.matches(document($0.key, $0.value)) }
  }
}
