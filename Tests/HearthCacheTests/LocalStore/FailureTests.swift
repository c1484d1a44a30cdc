import HearthModel
import HearthStore
import Testing

@testable import HearthCache

/// The steps of a short life in which every method changes something.
private enum Step: String, CaseIterable, CustomStringConvertible {
  case write, writeMany, acknowledge, reject, receive, allocate, notify, release, changeUser

  var description: String { rawValue }

  var transaction: String {
    switch self {
    case .write, .writeMany: "Locally write mutations"
    case .acknowledge: "Acknowledge batch"
    case .reject: "Reject batch"
    case .receive: "Apply remote event"
    case .allocate: "Allocate target"
    case .notify: "notifyLocalViewChanges"
    case .release: "Release target"
    case .changeUser: "Handle user change"
    }
  }

  /// Runs the step and describes its result.
  func run(on store: LocalStore, _ target: TargetID) throws -> String {
    switch self {
    case .write:
      let result = try store.write(
        .patch(
          key("rooms/a"), [:], mask: .empty,
          transforms: [FieldTransform(path: field("n"), operation: .increment(.integer(1)))]),
        .set(key("rooms/new"), [:]))
      return "\(result.batchID) \(describe(result.changes))"
    case .writeMany:
      let writes = (1...2).map {
        LocalWrite(mutations: [.set(key("rooms/\($0)"), ["n": .integer($0)])], localWriteTime: time($0))
      }
      return "\(try store.write(many: writes).map { "\($0.batch.batchID) \(describe($0.changes))" })"
    case .acknowledge: return describe(try store.acknowledgeNext(at: 50))
    case .reject:
      let next = try #require(try store.nextMutationBatch(after: -1))
      return describe(try store.reject(next))
    case .receive:
      return describe(
        try store.receive(
          found("rooms/a", 40, ["n": .integer(7)]), missing("rooms/b", 41), found("rooms/d", 42, [:]), at: 45,
          for: [target], token: "t45"))
    case .allocate: return "\(try store.allocateTarget(collection("attics").target).targetID)"
    case .notify:
      try store.notifyLocalViewChanges([
        LocalViewChanges(
          targetID: target, isFromCache: false, addedKeys: [key("rooms/a")], removedKeys: [key("rooms/b")])
      ])
      return ""
    case .release:
      try store.releaseTarget(target)
      return ""
    case .changeUser:
      let change = try store.changeUser("alice")
      return describe(change)
    }
  }

  private func describe(_ documents: DocumentMap) -> String {
    documents.sorted { $0.key < $1.key }.map { "\($0.key.canonicalString) \($0.value)" }.joined(separator: "\n")
  }
}

@Suite("Failures of the database")
struct FailureTests {
  /// A cache with documents, pending writes of two users and a target.
  private func makeCache(_ garbageCollection: GarbageCollection) throws -> (cache: TestCache, target: TargetID) {
    let cache = try TestCache(.memory, garbageCollection, user: "alice")
    let store = cache.store
    let target = try store.allocateTarget(collection("rooms").target).targetID
    try store.receive(
      found("rooms/a", 3, ["n": .integer(1)]), found("rooms/b", 4, ["n": .integer(2)]), at: 5, for: [target],
      token: "t5")
    try store.write(.patch(key("rooms/b"), ["m": .integer(1)], mask: mask("m")))
    _ = try store.changeUser(nil)
    try store.write(.patch(key("rooms/a"), ["m": .integer(1)], mask: mask("m")), .set(key("rooms/c"), [:]))
    try store.write(.delete(key("rooms/b")))
    return (cache, target)
  }

  private static let collections: [GarbageCollection] = [.eager, TestCache.lru]

  @Test(
    "an operation that fails at its transaction or its commit changes nothing and succeeds the next time",
    arguments: Step.allCases, collections)
  fileprivate func transactionFails(_ step: Step, _ collection: GarbageCollection) throws {
    let (control, controlTarget) = try makeCache(collection)
    defer { control.close() }
    let expected = try step.run(on: control.store, controlTarget)
    for point in [Database.FailurePoint.transaction(step.transaction), .commit] {
      let (cache, target) = try makeCache(collection)
      defer { cache.close() }
      let before = try cache.dump()
      #expect(throws: injected) { try cache.failing(at: point) { _ = try step.run(on: cache.store, target) } }
      #expect(try cache.dump() == before)
      // A release ends listening all the same; there is nothing to repeat.
      if step == .release { continue }
      #expect(try step.run(on: cache.store, target) == expected)
      #expect(try cache.dump() == control.dump())
    }
  }

  @Test(
    "an operation that fails at any statement changes nothing and succeeds the next time",
    arguments: Step.allCases, collections)
  fileprivate func statementFails(_ step: Step, _ collection: GarbageCollection) throws {
    let (control, controlTarget) = try makeCache(collection)
    defer { control.close() }
    let expected = try step.run(on: control.store, controlTarget)
    var index = 0
    while true {
      let (cache, target) = try makeCache(collection)
      defer { cache.close() }
      let before = try cache.dump()
      guard cache.failing(atStatement: index, { _ = try step.run(on: cache.store, target) }) else { break }
      #expect(try cache.dump() == before, "statement \(index)")
      index += 1
      if step == .release { continue }
      #expect(try step.run(on: cache.store, target) == expected, "statement \(index - 1)")
      #expect(try cache.dump() == control.dump(), "statement \(index - 1)")
    }
    #expect(index > 0)
  }

  @Test("reads report failures under their names", arguments: Backing.allCases)
  func reads(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    let reads: [(String, () throws -> Void)] = [
      ("Get last remote snapshot version", { _ = try store.lastRemoteSnapshotVersion() }),
      ("Get next mutation batch", { _ = try store.nextMutationBatch(after: -1) }),
      ("Get highest unacknowledged batch id", { _ = try store.outbox.highestBatchID() }),
      ("Get target data", { _ = try store.targetData(for: collection("rooms").target) }),
      ("Remote document keys", { _ = try store.confirmedKeys(for: 2) }),
      ("read document", { _ = try store.read("rooms/a") }),
      ("Execute query", { _ = try store.found(collection("rooms")) }),
    ]
    for (name, read) in reads {
      #expect(throws: injected, "\(name)") { try cache.failing(at: .transaction(name), read) }
      try read()
    }
  }

  @Test("a row that does not hold what it should is an error that names it")
  func damagedRows() throws {
    let (cache, target) = try makeCache(TestCache.lru)
    defer { cache.close() }
    let store = cache.store
    try cache.database.execute("UPDATE cache_overlays SET mutation = X'FFFF'")
    try cache.database.execute("UPDATE cache_mutation_batches SET batch = X'0A'")
    try cache.database.execute("UPDATE cache_targets SET target = X'FF', snapshot_nanos = -5")
    try cache.database.execute("UPDATE cache_globals SET highest_batch_id = 9223372036854775807")
    func table(_ body: () throws -> Void) -> String? {
      do {
        try body()
        return nil
      } catch let CacheError.corruptRecord(table, _, _) {
        return table
      } catch {
        return "\(error)"
      }
    }
    #expect(table { _ = try store.read("rooms/a") } == "cache_overlays")
    #expect(table { _ = try store.found(collection("rooms")) } == "cache_overlays")
    #expect(throws: CacheError.self) { try store.nextMutationBatch(after: -1) }
    try cache.database.execute("UPDATE cache_target_documents SET path = 'rooms' WHERE path = 'rooms/a'")
    #expect(table { _ = try store.confirmedKeys(for: target) } == "cache_target_documents")
    #expect(throws: CacheError.exhausted(counter: "highest_batch_id", highest: .max)) {
      try store.write(.set(key("halls/a"), [:]))
    }
    try cache.restart()
    #expect(table { _ = try cache.store.allocateTarget(collection("rooms").target) } == "cache_targets")
  }
}
