import HearthModel
import HearthStore
import TestSupport
import Testing

@testable import HearthCache

/// The rule of collection, carried out on plain sets.
private struct NaiveCollector {
  struct TargetRow {
    var sequenceNumber: Int
    var keys: Set<DocumentKey> = []
  }

  var clock = 0
  var rows: [TargetID: TargetRow] = [:]
  var active: Set<TargetID> = []
  var uses: [DocumentKey: Int] = [:]
  var documents: Set<DocumentKey> = []
  var pending: [String: [DocumentKey]] = [:]

  var unneeded: [DocumentKey] { uses.keys.filter(isUnneeded) }

  func isUnneeded(_ key: DocumentKey) -> Bool {
    !rows.values.contains { $0.keys.contains(key) } && !pending.values.contains { $0.contains(key) }
  }

  mutating func use(_ keys: some Sequence<DocumentKey>) { for key in keys { uses[key] = clock } }

  mutating func collect(
    percentile: Int, maxSequenceNumbers: Int, shown: Set<DocumentKey>
  ) -> (targets: Int, documents: Int) {
    guard percentile > 0 else { return (0, 0) }
    var removed = (targets: 0, documents: 0)
    var spared = 0
    while true {
      let idle = rows.filter { !active.contains($0.key) }
      let numbers = (idle.values.map(\.sequenceNumber) + unneeded.compactMap { uses[$0] }).sorted()
      guard !numbers.isEmpty else { return removed }
      let share = min(max(numbers.count * percentile / 100, 1), maxSequenceNumbers)
      let rank = min(share + spared, numbers.count)
      let bound = numbers[rank - 1]
      let oldTargets = idle.filter { $0.value.sequenceNumber <= bound }.map(\.key)
      for target in oldTargets { rows[target] = nil }
      let oldDocuments = unneeded.filter { uses[$0, default: 0] <= bound }
      let goes = oldDocuments.filter { !shown.contains($0) }
      for key in goes {
        uses[key] = nil
        documents.remove(key)
      }
      removed = (removed.targets + oldTargets.count, removed.documents + goes.count)
      spared = oldDocuments.count - goes.count
      guard oldTargets.isEmpty, goes.isEmpty, spared > 0, rank < numbers.count else { return removed }
    }
  }
}

private struct Simulation {
  let cache: TestCache
  let limits: GarbageCollectionRun.StepLimits
  var random: SeededGenerator
  var naive = NaiveCollector()
  var targetIDs: [TargetID: Target] = [:]
  var version: Int64 = 10

  static let keys = (0..<24).map { key("rooms/\($0)") }
  static let queries = (1...8).map { collection("rooms").with(limit: $0, type: .first) }

  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  mutating func keys(upTo count: Int) -> Set<DocumentKey> {
    Set(Self.keys.shuffled(using: &random).prefix(Int.random(in: 0...count, using: &random)))
  }

  var user: String { cache.store.user ?? "nobody" }

  mutating func step() throws {
    naive.clock += 1
    version += 1
    switch Int.random(in: 0..<20, using: &random) {
    case 0..<4: try listen()
    case 4..<7: try unlisten()
    case 7..<12: try receive()
    case 12..<15: try write()
    case 15..<17: try answer()
    case 17: try changeUser()
    case 18: try viewDrops()
    default: try collect()
    }
  }

  mutating func listen() throws {
    guard let query = Self.queries.randomElement(using: &random) else { return }
    let id = try cache.store.allocateTarget(query.target).targetID
    targetIDs[id] = query.target
    if naive.rows[id] == nil { naive.rows[id] = NaiveCollector.TargetRow(sequenceNumber: naive.clock) }
    naive.active.insert(id)
  }

  mutating func unlisten() throws {
    guard let id = naive.active.sorted().randomElement(using: &random) else { return }
    let unconfirmed = keys(upTo: 1)
    try cache.store.releaseTarget(id, unconfirmedKeys: unconfirmed)
    naive.active.remove(id)
    naive.rows[id]?.sequenceNumber = naive.clock
    naive.use(unconfirmed)
  }

  mutating func receive() throws {
    var event = RemoteEvent(snapshotVersion: .init(microseconds: version))
    for id in naive.active.sorted() where chance(60) {
      let added = keys(upTo: 6)
      let removed = keys(upTo: 4).subtracting(added)
      guard !added.isEmpty || !removed.isEmpty else { continue }
      event.targetChanges[id] = TargetChange(
        resumeToken: [1, UInt8(truncatingIfNeeded: version)], isCurrent: true, added: added, removed: removed)
      naive.rows[id]?.sequenceNumber = naive.clock
      naive.rows[id]?.keys.subtract(removed)
      naive.rows[id]?.keys.formUnion(added)
      naive.use(added)
      naive.use(removed)
      for key in added { event.documentUpdates[key] = found(key.canonicalString, version, ["n": .integer(1)]) }
    }
    // Documents of another listener: for a target that is not listened to any more.
    for key in keys(upTo: 1) where event.documentUpdates[key] == nil {
      event.documentUpdates[key] = missing(key.canonicalString, version)
      naive.use([key])
    }
    naive.documents.formUnion(event.documentUpdates.keys)
    _ = try cache.store.apply(event)
  }

  mutating func write() throws {
    guard let key = Self.keys.randomElement(using: &random) else { return }
    try cache.store.write(.set(key, ["w": .integer(version)]))
    naive.pending[user, default: []].append(key)
    naive.use([key])
  }

  mutating func answer() throws {
    guard let key = naive.pending[user]?.first else { return }
    if chance(70) {
      try cache.store.acknowledgeNext(at: version)
      naive.documents.insert(key)
    } else if let batch = try cache.store.nextMutationBatch(after: -1) {
      _ = try cache.store.reject(batch)
    }
    naive.pending[user]?.removeFirst()
    // If something else needs the document, the write itself was its use.
    if naive.isUnneeded(key) { naive.use([key]) }
  }

  mutating func changeUser() throws {
    if chance(40) {
      let user = cache.store.user
      try cache.restart(user: user)
      naive.active = []
    } else {
      _ = try cache.store.changeUser([nil, "alice", "bob"].randomElement(using: &random) ?? nil)
    }
  }

  mutating func viewDrops() throws {
    let dropped = keys(upTo: 2)
    try cache.store.notifyLocalViewChanges([LocalViewChanges(targetID: 0, isFromCache: true, removedKeys: dropped)])
    naive.use(dropped)
  }

  mutating func collect() throws {
    let percentile = [0, 10, 40, 100].randomElement(using: &random) ?? 10
    let maximum = chance(30) ? 3 : 1_000
    let shown = keys(upTo: 2)
    let parameters = GarbageCollectionParameters(
      thresholdBytes: 0, percentile: Int64(percentile), maxSequenceNumbers: Int64(maximum))
    var run = GarbageCollectionRun(parameters, limits: limits)
    while try !cache.store.advance(&run, isShown: shown.contains) {}
    let expected = naive.collect(percentile: percentile, maxSequenceNumbers: maximum, shown: shown)
    #expect(run.report.removedTargetCount == expected.targets)
    #expect(run.report.removedDocumentCount == expected.documents)
    #expect(run.report.hasCollected)
  }

  func check() throws {
    let store = cache.store
    for key in Self.keys {
      #expect(try store.tables.documents.document(for: key).isUnknown == !naive.documents.contains(key), "\(key)")
    }
    for (id, target) in targetIDs {
      #expect(
        try store.tables.targets.target(target)?.targetID == (naive.rows[id] == nil ? nil : id) || naive.rows[id] == nil
      )
      #expect(try store.confirmedKeys(for: id) == naive.rows[id]?.keys ?? [])
    }
    try checkUses()
    try #expect(cache.unneededPaths() == naive.unneeded.map(\.canonicalString).sorted())
    #expect(try store.tables.globals.targetCount() == naive.rows.count)
    // The snapshots of this test say of documents of targets that they are missing.
    let violations = try CacheInvariants.violations(in: store).filter { $0.table != "cache_target_documents" }
    #expect(violations == [])
  }
}

extension Simulation {
  /// The documents were last of use in the same order.
  private func checkUses() throws {
    let uses = try naive.uses.map {
      (key: $0.key, naive: $0.value, stored: try cache.store.tables.uses.lastUse(of: $0.key))
    }
    .sorted { $0.naive < $1.naive }
    for (a, b) in zip(uses, uses.dropFirst()) {
      let (first, second) = (try #require(a.stored), try #require(b.stored))
      #expect(a.naive == b.naive ? first == second : first < second, "\(a.key) and \(b.key)")
    }
  }
}

extension TestCache {
  /// The documents that are marked as unneeded.
  func unneededPaths() throws -> [String] {
    try store.tables.uses.unneeded(after: .start, upTo: .max, limit: 100_000).map(\.key.canonicalString).sorted()
  }
}

@Suite("Garbage collection removes what its rule says")
struct GarbageCollectionPropertyTests {
  private static let tiny = GarbageCollectionRun.StepLimits(
    targets: 1, keys: 2, documents: 1, documentBytes: 1, pages: 1)

  @Test(
    "after any sequence of listens, snapshots, writes, answers, users and restarts",
    arguments: SeededGenerator.seeds(40))
  func rule(_ seed: UInt64) throws {
    var dumps: [[String]] = []
    for limits in [GarbageCollectionRun.StepLimits(), Self.tiny] {
      let cache = try TestCache(seed % 4 == 0 ? .file : .memory)
      defer { cache.close() }
      var simulation = Simulation(cache: cache, limits: limits, random: SeededGenerator(seed: seed))
      for step in 0..<150 {
        do {
          try simulation.step()
          try simulation.check()
        } catch {
          Issue.record(error, "seed \(seed), step \(step)")
          return
        }
      }
      dumps.append(try cache.dump())
    }
    #expect(dumps[0] == dumps[1], "the length of steps makes a difference")
  }
}
