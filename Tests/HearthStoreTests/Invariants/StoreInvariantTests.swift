import HearthModel
import HearthPlan
import HearthStore
import TestSupport
import Testing

/// Each rule of a store's rows is checked: a row that breaks it is found, and the violation names it.
@Suite("Invariants of the store")
struct StoreInvariantTests {
  /// Documents c/a, c/b and d/x, two full indexes of c, and one that holds c/a only.
  private func makeStore() throws -> DocumentStore {
    let store = try DocumentStore(database: Database(.memory))
    for (name, number) in [("c/a", 1), ("c/b", 2), ("d/x", 3)] {
      try store.set(found(name, 5, ["n": .integer(Int64(number)), "tags": .array([.string("p"), .string("q")])]))
    }
    try store.set(.missing(key("d/y"), version: version(6)))
    try store.indexes.set([
      StoreIndexTests.index("c", ("n", .ascending)), StoreIndexTests.index("c", ("tags", .contains)),
    ])
    while try store.indexes.fill() {}
    try store.indexes.add(StoreIndexTests.index("c", ("n", .descending)), origin: .automatic)
    _ = try store.indexes.fill(.init(documents: 1))
    return store
  }

  @Test("a store that nothing has damaged breaks no rule, whatever changes in it")
  func sound() throws {
    let store = try makeStore()
    #expect(try StoreInvariants.violations(in: store) == [])
    try store.set(found("c/a", 7, ["n": .integer(9)]))
    try store.set(found("c/z", 8, ["tags": .array([])]))
    try store.remove(key("c/b"))
    #expect(try StoreInvariants.violations(in: store) == [])
    try store.indexes.set([])
    #expect(try StoreInvariants.violations(in: store) == [])
    while try store.indexes.fill(.init(entries: 1)) {}
    try store.removeAll()
    #expect(try StoreInvariants.violations(in: store) == [])
  }

  @Test("a row that breaks a rule is named with it", arguments: breaches)
  func breach(_ breach: Breach) throws {
    let store = try makeStore()
    for sql in breach.sql { try store.database.execute(sql) }
    let violations = try StoreInvariants.violations(in: store)
    #expect(
      violations.contains { breach.isNamed(table: $0.table, row: $0.row, rule: $0.rule) }, "\(violations)")
  }

  @Test("entries of a document with pending writes that its local view does not give are named")
  func localEntries() throws {
    let store = try makeStore()
    let local = found("c/a", 0, ["n": .integer(7)])
    func violations() throws -> [RowViolation] {
      try store.database.transaction("Look") { try store.indexes.violations(ofLocal: local, owner: 1) }
    }
    try store.database.transaction("Enter") { try store.indexes.setLocal(local, owner: 1) }
    #expect(try violations() == [])
    try store.database.execute("UPDATE index_local_entries SET key = x'0505'")
    #expect(try violations().map(\.row) == ["1 1 c/a", "3 1 c/a"])
  }

  private static let breaches = [
    Breach("documents", "", "its collection", "DELETE FROM collections WHERE path = 'd'"),
    Breach("documents", "", "only a document that exists", "UPDATE documents SET kind = 2 WHERE id = 'a'"),
    Breach("documents", "", "acknowledged", "UPDATE documents SET kind = 3 WHERE id = 'y'"),
    Breach("documents", "c", "can be decoded", "UPDATE documents SET fields = x'FF' WHERE id = 'a'"),
    Breach("documents", "c", "can be decoded", "UPDATE documents SET id = 'a/b' WHERE id = 'a'"),
    Breach(
      "collections", "e", "holds a document", "INSERT INTO collections (number, path, group_id) VALUES (9, 'e', 'e')"),
    Breach("collections", "c/a", "is one of a collection", "UPDATE collections SET path = 'c/a' WHERE path = 'c'"),
    Breach("collections", "c", "its group", "UPDATE collections SET group_id = 'x' WHERE path = 'c'"),
    Breach(
      "collections", "f", "27 bits", "INSERT INTO collections (number, path, group_id) VALUES (1 << 27, 'f', 'f')"),
    Breach("index_fields", "9", "a definition", "UPDATE index_fields SET number = 9 WHERE number = 2"),
    Breach("index_entries", "9", "a definition", "UPDATE index_entries SET number = 9 WHERE number = 2"),
    Breach(
      "index_local_entries", "9", "a definition", "INSERT INTO index_local_entries VALUES (9, 1, 'c', x'05', 'a')"),
    Breach("index_definitions", "3", "negative", "UPDATE index_definitions SET filled_through = -1 WHERE number = 3"),
    Breach(
      "index_definitions", "3", "no other", "UPDATE index_fields SET kind = 1 WHERE number = 3"),
    Breach("index_entries", "1 ", "has an entry for each", "DELETE FROM index_entries WHERE number = 1"),
    Breach(
      "index_entries", "2 ", "contents of its document",
      "UPDATE index_entries SET key = CAST(x'05' || key AS BLOB) WHERE number = 2"),
    Breach(
      "index_entries", "3 ", "has an entry for each",
      "UPDATE index_definitions SET filled_through = \(Int64.max) WHERE number = 3"),
    Breach(
      "index_entries", "1 ", "contents of its document", "UPDATE documents SET kind = 2, fields = x'' WHERE id = 'a'"),
  ]
}
