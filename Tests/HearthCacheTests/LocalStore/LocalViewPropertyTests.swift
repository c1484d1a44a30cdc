import HearthModel
import HearthStore
import TestSupport
import Testing

@testable import HearthCache

private struct Simulation {
  let cache: TestCache
  var naive = NaiveCache()
  var random: SeededGenerator
  var clock: Int64 = 1000
  var targets: [TargetID] = []

  static let keys = [
    "rooms/a", "rooms/b", "rooms/c", "halls/a", "rooms/a/rooms/x", "halls/a/rooms/y", "halls/a/rooms/z",
  ].map(key)

  static let queries = [
    collection("rooms"), collection("halls/a/rooms"), Query(path: ResourcePath(), collectionGroup: "rooms"),
    collection("rooms").with(filter: .field(FieldFilter(path: field("n"), op: .greaterThan, value: .integer(4)))),
    Query(path: key("halls/a").path),
    collection("rooms").with(filter: .field(FieldFilter(path: field("n"), op: .equal, value: .integer(4)))),
    Query(path: ResourcePath(), collectionGroup: "rooms")
      .with(filter: .field(FieldFilter(path: field("tags"), op: .arrayContainsAny, value: .array(["p", "x"]))))
      .with(order: OrderBy(path: field("n"), direction: .descending)),
    collection("rooms").with(order: OrderBy(path: field("in.m"))),
  ]

  static let indexes: [IndexDefinition] = [
    index(("n", .ascending)), index(("tags", .contains), ("n", .descending)), index(("in.m", .descending)),
    index(scope: .collectionGroup, ("n", .descending)),
  ]

  private static func index(
    scope: IndexDefinition.Scope = .collection, _ fields: (String, IndexDefinition.Kind)...
  ) -> IndexDefinition {
    do {
      return try IndexDefinition(
        collectionGroup: "rooms", scope: scope, fields: fields.map { .init(path: field($0.0), kind: $0.1) })
    } catch {
      fatalError("\(error)")
    }
  }

  mutating func pick<T>(_ values: [T]) -> T { values[Int.random(in: values.indices, using: &random)] }

  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

  mutating func fields() -> MapValue {
    var fields: MapValue = ["n": .integer(Int64.random(in: 0..<9, using: &random))]
    if chance(30) { fields["tags"] = .array([.string(pick(["x", "y"]))]) }
    if chance(30) {
      fields["in"] = .map(["deep": .integer(1), "m": .integer(Int64.random(in: 0..<9, using: &random))])
    }
    return fields
  }

  mutating func mutation() -> Mutation {
    let key = pick(Self.keys)
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return .delete(key)
    case 1, 2: return .set(key, fields())
    case 3: return .patch(key, fields(), mask: mask("n"))
    case 4: return .patch(key, ["in": .map(["m": .integer(3)])], mask: mask("in.m", "tags"))
    case 5: return .patch(key, fields(), mask: mask("n", "in.deep"), precondition: .none)
    case 6:
      return .patch(
        key, [:], mask: .empty,
        transforms: [FieldTransform(path: field("n"), operation: .increment(.integer(1)))])
    default:
      return .patch(
        key, [:], mask: .empty, precondition: .none,
        transforms: [
          FieldTransform(path: field("tags"), operation: .arrayUnion([.string(pick(["p", "q"]))])),
          FieldTransform(path: field("at"), operation: .serverTimestamp),
        ])
    }
  }

  mutating func step() throws {
    switch Int.random(in: 0..<100, using: &random) {
    case 0..<35: try write()
    case 35..<55: try acknowledge()
    case 55..<62: try reject()
    case 62..<88: try receive()
    case 88..<94: try changeUser()
    case 94..<97: try cache.restart(user: naive.user)
    case 97..<99: try changeIndexes()
    default: try listen()
    }
    if chance(30) { _ = try cache.store.advanceIndexFill(.init(documents: 2, entries: 3)) }
    if chance(20) {
      // The snapshots of this test name documents of targets that no backend has sent.
      let violations = try CacheInvariants.violations(in: cache.store).filter { $0.table != "cache_target_documents" }
      #expect(violations == [])
    }
  }

  mutating func changeIndexes() throws {
    if chance(20) { return try cache.store.deleteAllIndexes() }
    try cache.store.setIndexes(Self.indexes.filter { _ in chance(70) })
  }

  /// Entries that were kept through everything are those that a new index gets.
  func checkIndexes() throws {
    func fill() throws { while try cache.store.advanceIndexFill() {} }
    func entries() throws -> [String] {
      let definitions = try cache.store.indexes.listings().map(\.definition)
      #expect(Set(definitions) == Set(Self.indexes))
      return try cache.dump().filter { $0.hasPrefix("index_entries:") || $0.hasPrefix("index_local_entries:") }
        .map { row in row.split(separator: "|").dropFirst().joined(separator: "|") }.sorted()
    }
    try cache.store.setIndexes(Self.indexes)
    try fill()
    let kept = try entries()
    #expect(!kept.isEmpty)
    try cache.store.deleteAllIndexes()
    try fill()
    #expect(try entriesCount() == 0)
    try cache.store.setIndexes(Self.indexes)
    try fill()
    #expect(try entries() == kept)
  }

  private func entriesCount() throws -> Int {
    try cache.dump().filter { $0.hasPrefix("index_") }.count
  }

  mutating func write() throws {
    let mutations = (0...Int.random(in: 0..<3, using: &random)).map { _ in mutation() }
    clock += 1
    let (batchID, changes) = try cache.store.write(mutations, localWriteTime: time(clock))
    let batch = try #require(try cache.store.pendingBatches().last)
    #expect(batch.batchID == batchID && batch.mutations == mutations)
    naive.queue.append(batch)
    #expect(Set(changes.keys) == batch.keys)
    try expectView(changes)
  }

  mutating func acknowledge() throws {
    guard let batch = naive.queue.first else { return }
    clock += 1
    var results: [MutationResult] = []
    for mutation in batch.mutations {
      var transformResults: [Value] = []
      for transform in mutation.transforms {
        switch transform.operation {
        case .increment: transformResults.append(.integer(Int64.random(in: 0..<9, using: &random)))
        case .serverTimestamp: transformResults.append(.timestamp(time(clock)))
        default: transformResults.append(.null)
        }
      }
      results.append(MutationResult(version: version(clock), transformResults: transformResults))
    }
    // An answer that the watch stream has overtaken.
    if chance(20) { for index in results.indices { results[index].version = version(clock - 300) } }
    let result = MutationBatchResult(
      batch: batch, commitVersion: results[0].version, results: results
    )
    let changes = try cache.store.acknowledge(result)
    try naive.acknowledge(result)
    #expect(Set(changes.keys) == batch.keys)
    try expectView(changes)
  }

  mutating func reject() throws {
    guard !naive.queue.isEmpty else { return }
    let index = Int.random(in: naive.queue.indices, using: &random)
    let batch = try naive.drop(at: index)
    let isCancelled = chance(50)
    let changes =
      isCancelled
      ? try cache.store.withdraw(batch.batchID, evenIfSent: false, .rejected, at: time(clock))
      : try cache.store.reject(batch)
    #expect(Set(changes.keys) == batch.keys)
    try expectView(changes)
  }

  mutating func receive() throws {
    clock += 1
    var event = RemoteEvent(snapshotVersion: version(clock))
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let key = pick(Self.keys)
      let at = chance(20) ? version(clock - Int64.random(in: 0..<200, using: &random)) : version(clock)
      event.documentUpdates[key] =
        chance(70) ? .found(key, version: at, fields: EncodedFields(fields())) : .missing(key, version: at)
      if chance(5) { event.documentUpdates[key] = .missing(key, version: .none) }
    }
    if let target = targets.last {
      let added: Set = chance(50) ? [pick(Self.keys)] : []
      let removed: Set = chance(20) ? [pick(Self.keys)] : []
      event.targetChanges[target] = TargetChange(
        resumeToken: [UInt8]("t\(clock)".utf8), isCurrent: true, added: added, removed: removed.subtracting(added))
    }
    // Allocated again after each restart, as a client does that still listens.
    for query in Self.queries.prefix(targets.count) { _ = try cache.store.allocateTarget(query.target) }
    let before = naive
    let changes = try cache.store.apply(event)
    try naive.apply(event)
    for key in Self.keys where try naive.localView(of: key) != before.localView(of: key) {
      #expect(changes[key] != nil, "\(key.canonicalString) changed and was not reported")
    }
    for (key, document) in changes where naive.remote[key] != nil { try expect(document, key) }
  }

  mutating func changeUser() throws {
    let former = naive.queue
    let user = pick([nil, "alice", "bob"])
    guard user != naive.user else { return }
    naive.user = user
    let change = try cache.store.changeUser(user)
    #expect(Set(change.keys) == Set((former + naive.queue).flatMap(\.keys)))
    try expectView(change)
  }

  mutating func listen() throws {
    guard targets.count < Self.queries.count else { return }
    targets.append(try cache.store.allocateTarget(Self.queries[targets.count].target).targetID)
  }

  func expect(_ document: Document, _ key: DocumentKey) throws {
    let expected = try naive.localView(of: key)
    #expect(
      document == expected,
      """
      \(key.canonicalString): \(document.kind) \(document.mutationState) \(document.version) \(document.values as Any), \
      expected \(expected.kind) \(expected.mutationState) \(expected.version) \(expected.values as Any)
      """)
  }

  func expectView(_ changes: DocumentMap) throws {
    for (key, document) in changes { try expect(document, key) }
  }

  func check() throws {
    let store = cache.store
    var view: DocumentMap = [:]
    for key in Self.keys {
      view[key] = try naive.localView(of: key)
      try expect(try store.readDocument(key), key)
    }
    for query in Self.queries {
      let expected = view.filter { query.matches($0.value) }
      #expect(try store.execute(query, usePreviousResults: true).documents == expected)
    }
    #expect(try store.pendingBatches() == naive.queue)
    #expect(try store.nextMutationBatch(after: -1) == naive.queue.first)
    for target in targets { #expect(try store.confirmedKeys(for: target) == naive.targetKeys[target] ?? []) }
  }
}

@Suite("Local view = remote documents + pending batches")
struct LocalViewPropertyTests {
  @Test(
    "after any sequence of writes, answers, snapshots, user changes and restarts", arguments: SeededGenerator.seeds(24))
  func equation(_ seed: UInt64) throws {
    let cache = try TestCache(seed % 3 == 0 ? .file : .memory)
    defer { cache.close() }
    var simulation = Simulation(cache: cache, random: SeededGenerator(seed: seed))
    for step in 0..<120 {
      do {
        try simulation.step()
        try simulation.check()
      } catch {
        Issue.record(error, "seed \(seed), step \(step)")
        return
      }
    }
    do {
      try simulation.checkIndexes()
    } catch {
      Issue.record(error, "seed \(seed), the indexes at the end")
    }
  }
}
