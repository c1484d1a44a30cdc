import HearthModel
import HearthStore
import TestSupport
import Testing

@testable import HearthCache

/// Each rule of a cache's rows is checked: a row that breaks it is found, and the violation names it.
@Suite("Invariants of the cache")
struct InvariantTests {
  private static let identity = BatchIdentity(high: 1, low: 2)

  /// A cache with at least one row in each table, as its own operations have made them: batches 1 (rooms/a), 2 (rooms/b, with a receipt)
  /// and 4 (rooms/a) are pending, 3 is refused.
  private func makeCache() throws -> TestCache {
    let cache = try TestCache(.memory)
    let store = cache.store
    try ClientSchema.schema.migrate(cache.database)
    try store.setIndexes([
      IndexDefinition(collectionGroup: "rooms", fields: [.init(path: field("n"), kind: .ascending)])
    ])
    let target = try store.allocateTarget(collection("rooms").target)
    try store.receive(
      found("rooms/a", 5, ["n": .integer(1)]), found("rooms/b", 5, ["n": .integer(2)]), at: 10,
      for: [target.targetID], token: "ten")
    try store.receive(found("halls/x", 6, ["n": .integer(3)]), at: 11)
    store.conflictRules = ConflictRules([
      ConflictRule(.collection(path("rooms")), .keepBoth)
    ])
    try store.write(.patch(key("rooms/a"), ["n": .integer(4)], mask: mask("n")))
    _ = try store.write(many: [
      LocalWrite(
        mutations: [.set(key("rooms/b"), ["n": .integer(5)])], localWriteTime: time(1), identity: Self.identity,
        keepsOutcome: true)
    ])
    let refused = BatchIdentity(high: 3, low: 4)
    let write = LocalWrite(
      mutations: [.set(key("rooms/c"), [:])], localWriteTime: time(1), identity: refused, keepsOutcome: true)
    _ = try store.reject(try #require(try store.write(many: [write]).first).batch, at: time(2))
    try store.write(.patch(key("rooms/a"), ["m": .integer(6)], mask: mask("m")))
    _ = try store.noteSending(1, reserving: 10)
    try store.noteFailedAttempt(at: [1], .rejected)
    while try store.advanceIndexFill() {}
    return cache
  }

  @Test("a cache that nothing has damaged breaks no rule")
  func sound() throws {
    let cache = try makeCache()
    #expect(try CacheInvariants.violations(in: cache.store) == [])
    try cache.restart()
    #expect(try CacheInvariants.violations(in: cache.store) == [])
  }

  @Test("a row that breaks a rule is named with it", arguments: outbox + overlays + targets + uses + clients)
  func breach(_ breach: Breach) throws {
    let cache = try makeCache()
    for sql in breach.sql { try cache.database.execute(sql) }
    let violations = try CacheInvariants.violations(in: cache.store)
    #expect(
      violations.contains { breach.isNamed(table: $0.table, row: $0.row, rule: $0.rule) }, "\(violations)")
  }

  @Test("with eager collection, a document that nothing refers to is named")
  func eager() throws {
    let cache = try TestCache(.memory, .eager)
    let target = try cache.store.allocateTarget(collection("rooms").target)
    try cache.store.receive(found("rooms/a", 5, [:]), at: 10, for: [target.targetID], token: "ten")
    #expect(try CacheInvariants.violations(in: cache.store) == [])
    try cache.database.execute("DELETE FROM cache_target_documents")
    #expect(try CacheInvariants.violations(in: cache.store).map(\.row) == ["rooms/a"])
  }

  @Test("the state of a target in use that memory does not have is named")
  func activeTarget() throws {
    let cache = try makeCache()
    try cache.database.execute("UPDATE cache_targets SET resume_token = x'01'")
    #expect(try CacheInvariants.violations(in: cache.store).map(\.table) == ["cache_targets"])
  }

  @Test("an overlay that says it is exact and changes more fields is named, although it shows the same")
  func exactOverlay() throws {
    let cache = try makeCache()
    func save(_ state: OverlayTable.State) throws {
      let overlay = Mutation.patch(
        key("rooms/a"), ["n": .integer(4), "m": .integer(6)], mask: mask("n", "m", "z"), precondition: .none)
      try cache.database.transaction("Save overlay") {
        try cache.store.tables.overlays.save(overlay, state: state, largestBatchID: 4, user: 1)
      }
    }
    try save(.wide)
    #expect(try CacheInvariants.violations(in: cache.store) == [])
    try save(.exact)
    #expect(try CacheInvariants.violations(in: cache.store).map(\.row) == ["1 rooms/a"])
  }

  // MARK: - Breaches

  private static let outbox = [
    Breach(
      "cache_mutation_batches", "1", "its user", "UPDATE cache_mutation_batches SET user_id = 9 WHERE batch_id = 1"),
    Breach(
      "cache_mutation_batches", "1", "can be decoded",
      "UPDATE cache_mutation_batches SET batch = x'FF' WHERE batch_id = 1"),
    Breach(
      "cache_batch_documents", "1 rooms/a 1", "in the queue", "DELETE FROM cache_mutation_batches WHERE batch_id = 1"),
    Breach(
      "cache_mutation_batches", "1", "has its documents", "DELETE FROM cache_batch_documents WHERE batch_id = 1"),
    Breach(
      "cache_mutation_batches", "1", "has its documents",
      "INSERT INTO cache_batch_documents (user_id, path, batch_id) VALUES (1, 'rooms/d', 1)"),
    Breach("cache_globals", "3", "a batch that is kept", "UPDATE cache_globals SET highest_batch_id = 3"),
    Breach(
      "cache_mutation_batches", "2", "no other batch", "UPDATE cache_rejected_batches SET batch_id = 2"),
    Breach("cache_mutation_batches", "2", "cache_receipts leads to it", "DELETE FROM cache_receipts"),
    Breach("cache_receipts", "2", "has its identity", "UPDATE cache_receipts SET batch_id = 1"),
    Breach("cache_receipts", "7", "lower half", "UPDATE cache_receipts SET number = 7"),
    Breach(
      "cache_mutation_batches", "2", "no outcome",
      """
      UPDATE cache_write_outcomes SET number = (SELECT number FROM cache_receipts),
        identity = (SELECT identity FROM cache_receipts)
      """),
    Breach("cache_sent_marks", "1", "one reservation", "UPDATE cache_sent_marks SET through = 105"),
    Breach("cache_sent_marks", "9", "its user", "UPDATE cache_sent_marks SET user_id = 9"),
    Breach("cache_write_attempts", "1", "at least one", "UPDATE cache_write_attempts SET attempts = 0"),
    Breach(
      "cache_base_documents", "1 rooms/a", "a pending batch",
      "DELETE FROM cache_batch_documents WHERE path = 'rooms/a'"),
    Breach("cache_base_documents", "rooms/", "can be decoded", "UPDATE cache_base_documents SET hash = hash + 1"),
    Breach("cache_rejected_batches", "3", "its user", "UPDATE cache_rejected_batches SET user_id = 9"),
    Breach("cache_rejected_batches", "3", "can be decoded", "UPDATE cache_rejected_batches SET batch = x'FF'"),
    Breach(
      "cache_rejected_batches", "3", "not pending",
      "UPDATE cache_rejected_batches SET batch = (SELECT batch FROM cache_mutation_batches WHERE batch_id = 2)"),
    Breach("cache_rejected_batches", "3", "own scale", "UPDATE cache_rejected_batches SET kept_at = kept_at + 1"),
    Breach("cache_write_outcomes", "4", "own scale", "UPDATE cache_write_outcomes SET kept_at = kept_at + 1"),
    Breach("cache_write_outcomes", "4", "can be decoded", "UPDATE cache_write_outcomes SET code = 99"),
    Breach("cache_write_outcomes", "5", "lower half", "UPDATE cache_write_outcomes SET number = 5"),
    Breach(
      "cache_unreadable_batches", "8", "its user",
      "INSERT INTO cache_unreadable_batches (batch_id, user_id, batch, reason) VALUES (8, 9, x'00', '')"),
  ]

  private static let overlays = [
    Breach("cache_overlays", "1 rooms/a", "largest batch", "UPDATE cache_overlays SET largest_batch_id = 1"),
    Breach("cache_overlays", "1 rooms/a", "it shows", "DELETE FROM cache_overlays WHERE path = 'rooms/a'"),
    Breach(
      "cache_overlays", "1 rooms/a", "it shows",
      // As if the second batch had not been laid over the document.
      "DELETE FROM cache_mutation_batches WHERE batch_id = 1", "DELETE FROM cache_batch_documents WHERE batch_id = 1"),
    Breach(
      "cache_overlays", "1 rooms/b", "its mutation",
      "UPDATE cache_overlays SET path = 'rooms/x' WHERE path = 'rooms/a'",
      "UPDATE cache_overlays SET path = 'rooms/a' WHERE path = 'rooms/b'",
      "UPDATE cache_overlays SET path = 'rooms/b' WHERE path = 'rooms/x'"),
    Breach("cache_overlays", "1 rooms/a", "collection", "UPDATE cache_overlays SET collection_group = 'halls'"),
    Breach("cache_overlays", "1 rooms/a", "one of the states", "UPDATE cache_overlays SET state = 7"),
    Breach(
      "index_local_entries", "1 rooms/z", "an overlay", "UPDATE index_local_entries SET id = 'z' WHERE id = 'a'"),
  ]

  private static let targets = [
    Breach("cache_globals", "2", "number of targets", "UPDATE cache_globals SET target_count = 2"),
    Breach("cache_globals", "0", "highest_target_id", "UPDATE cache_globals SET highest_target_id = 0"),
    Breach("cache_target_documents", "2 rooms/a", "has a row", "DELETE FROM cache_targets"),
    Breach("cache_removed_targets", "2", "no row", "INSERT INTO cache_removed_targets VALUES (2)"),
    Breach("cache_targets", "2", "snapshot that was applied", "UPDATE cache_globals SET snapshot_nanos = 9000"),
    Breach(
      "cache_targets", "2", "without documents in limbo", "UPDATE cache_targets SET limbo_free_seconds = 1"),
    Breach("cache_targets", "2", "canonical id", "UPDATE cache_targets SET canonical_id = 'x'"),
    Breach(
      "cache_targets", "4", "no other row",
      """
      INSERT INTO cache_targets SELECT 4, canonical_id, target, sequence_number, snapshot_seconds, snapshot_nanos,
        limbo_free_seconds, limbo_free_nanos, resume_token FROM cache_targets
      """),
    Breach("cache_targets", "2", "can be decoded", "UPDATE cache_targets SET target = x'FF'"),
    Breach("cache_target_documents", "2 rooms/a", "is stored", "DELETE FROM documents WHERE id = 'a'"),
    Breach(
      "cache_target_documents", "2 rooms/a", "existed", "UPDATE documents SET kind = 2, fields = x'' WHERE id = 'a'"),
  ]

  private static let uses = [
    Breach(
      "cache_globals", "", "highest_sequence_number", "UPDATE cache_document_uses SET sequence_number = 1000"),
    Breach("cache_document_uses", "halls/x", "is_unneeded", "UPDATE cache_document_uses SET is_unneeded = 0"),
    Breach(
      "cache_document_uses", "rooms/c", "is_unneeded",
      "INSERT INTO cache_target_documents (target_id, path, sequence_number) VALUES (2, 'rooms/c', 0)"),
    Breach("documents", "halls/x", "can be collected", "DELETE FROM cache_document_uses WHERE path = 'halls/x'"),
  ]

  private static let clients = [
    Breach("cache_sharing", "0", "highest_client_id", "UPDATE cache_sharing SET lease_heir = 1"),
    Breach("cache_sharing", "7", "notices were removed", "UPDATE cache_sharing SET trimmed_through = 7"),
    Breach(
      "cache_clients", "1", "has read", "UPDATE cache_sharing SET highest_client_id = 1",
      "INSERT INTO cache_clients (client_id, name, user_key, wants_network, is_visible, seen) VALUES (1, 'x', '', 1, 1, 5)"
    ),
    Breach("cache_client_targets", "1 2", "its client", "INSERT INTO cache_client_targets VALUES (1, 2, 1)"),
    Breach("cache_client_targets", "1 8", "its target", "INSERT INTO cache_client_targets VALUES (1, 8, 1)"),
    Breach("cache_current_targets", "2", "both", "INSERT INTO cache_current_targets VALUES (2), (-2)"),
    Breach("cache_followed_targets", "2", "its lease", "INSERT INTO cache_followed_targets VALUES (2, 4)"),
    Breach(
      "cache_notices", "1", "has been queued",
      """
      INSERT INTO cache_notices (client_id, kind, user_id, path, subject, code, message)
      VALUES (1, 1, 1, '', 9, 0, '')
      """),
  ]
}
