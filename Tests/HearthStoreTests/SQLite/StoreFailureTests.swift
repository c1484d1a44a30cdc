import Foundation
import HearthModel
import HearthStore
import Testing

@Suite("Failures of the document store")
struct StoreFailureTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  @Test("a failure at any point of a transaction leaves nothing half done", arguments: TestLocation.allCases)
  func failureAtEachPoint(location: TestLocation) throws {
    let store = try DocumentStore(database: location.open(in: folder))
    try store.setAll(found("c/a", 1), found("d/only", 1))
    let before = try contents(store)
    func change() throws {
      try store.database.transaction("change") {
        try store.set(found("c/a", 2, ["a": .integer(1)]))
        try store.set(found("c/b", 2))
        try store.set(found("new/a", 2))
        try store.remove(key("d/only"))
      }
    }
    var point = 0
    while true {
      var passed = 0
      store.database.injectFailure = { _ in
        passed += 1
        return passed == point + 1 ? StoreError(kind: .io, message: "injected at point \(point)") : nil
      }
      let failed = kind { try change() }
      store.database.injectFailure = nil
      if failed == nil { break }
      #expect(failed == .io)
      #expect(try contents(store) == before, "point \(point)")
      #expect(try store.database.integrityProblems() == [])
      point += 1
    }
    #expect(point > 10, "begin, each statement and the commit were reached")
    #expect(try contents(store).map(\.key.canonicalString) == ["c/a", "c/b", "new/a"])
  }

  private func contents(_ store: DocumentStore) throws -> [Document] {
    try ["c", "d", "new"].flatMap { try store.scan(.collection(path($0))) }
  }

  @Test("a failure in the middle of a scan reaches the caller")
  func failingScan() throws {
    let store = try DocumentStore(database: Database(.memory))
    try store.setAll(found("c/a"), found("c/b"))
    store.database.injectFailure = {
      if case .statement(let sql) = $0, sql.contains("documents") {
        return StoreError(kind: .io, message: "injected")
      }
      return nil
    }
    #expect(kind { _ = try store.scan(.collection(path("c"))) } == .io)
    #expect(kind { _ = try QueryExecutor(documents: store).run(Query(path: path("c"))) } == .io)
    #expect(kind { _ = try store.document(for: key("c/a")) } == .io)
  }

  @Test("a store of a newer release is refused and not changed")
  func newerStore() throws {
    do {
      let store = try DocumentStore(database: Database(.file(path: folder.file())))
      try store.set(found("c/a"))
      try store.database.execute("UPDATE schema_versions SET version = 1000 WHERE component = 'store'")
    }
    let database = try Database(.file(path: folder.file()))
    do {
      _ = try DocumentStore(database: database)
      Issue.record("opened")
    } catch let error as StoreError {
      #expect(error.kind == .newerSchema)
      #expect(error.message.contains("1000"))
      #expect(error.message.contains(folder.file()))
    }
    #expect(try integers("SELECT count(*) FROM documents", in: database) == [1])
  }

  @Test("a store whose tables were taken away is corrupt")
  func missingTables() throws {
    do { try DocumentStore(database: Database(.file(path: folder.file()))).database.execute("DROP TABLE documents") }
    #expect(kind { _ = try DocumentStore(database: Database(.file(path: folder.file()))) } == .corrupt)
  }

  struct Damage: Sendable, CustomTestStringConvertible {
    var sql: String
    /// The text that the message contains besides the table.
    var names: String
    var testDescription: String { sql }
  }

  @Test(
    "rows that this library cannot have written are errors that name table and key, never traps",
    arguments: [
      Damage(sql: "UPDATE documents SET kind = 9", names: "c/a"),
      Damage(sql: "UPDATE documents SET kind = 'found'", names: "c/a"),
      Damage(sql: "UPDATE documents SET version = 'x'", names: "c/a"),
      Damage(sql: "UPDATE documents SET read_time = x'00'", names: "c/a"),
      Damage(sql: "UPDATE documents SET nanoseconds = -1", names: "c/a"),
      Damage(sql: "UPDATE documents SET nanoseconds = 9223372036854775807", names: "c/a"),
      Damage(sql: "UPDATE documents SET has_committed_mutations = 'no'", names: "c/a"),
      Damage(sql: "UPDATE documents SET fields = 'text'", names: "c/a"),
      Damage(sql: "UPDATE documents SET fields = 5", names: "c/a"),
      Damage(sql: "UPDATE documents SET fields = x'12ff'", names: "c/a"),
      Damage(sql: "UPDATE documents SET fields = x'12060a0161120212ff'", names: "c/a"),
      Damage(sql: "UPDATE documents SET id = 'x/y'", names: "x/y"),
      Damage(sql: "UPDATE documents SET id = ''", names: "c"),
      Damage(sql: "UPDATE documents SET id = x'ff'", names: "id"),
      Damage(sql: "UPDATE documents SET id = CAST(x'ff' AS TEXT)", names: "id"),
      Damage(sql: "UPDATE collections SET path = 'c//d'", names: "c//d"),
      Damage(sql: "UPDATE collections SET path = 'c/d'", names: "c/d"),
      Damage(sql: "UPDATE collections SET path = ''", names: "collections"),
      Damage(sql: "UPDATE collections SET path = x'ff'", names: "path"),
      Damage(sql: "UPDATE collections SET number = 1 << 40", names: "collections"),
      Damage(sql: "UPDATE collections SET number = -1", names: "collections"),
    ])
  func damagedRows(damage: Damage) throws {
    let store = try DocumentStore(database: Database(.memory))
    try store.set(found("c/a", 1, ["a": .integer(1)]))
    try store.database.execute("PRAGMA ignore_check_constraints = ON")
    try store.database.execute(damage.sql)
    let query = Query(path: path("c"), filters: [.field(field("a"), .equal, .integer(1))])
    let group = Query(path: path(""), collectionGroup: "c", filters: query.filters)
    let executor = QueryExecutor(documents: store)
    let attempts: [() throws -> Void] = [
      { _ = try store.document(for: key("c/a")) },
      { _ = try store.scan(.collection(path("c"))) },
      { _ = try store.scan(.group("c", under: path(""))) },
      { _ = try store.scan(.collection(path("c")), changedAfter: version(0)) },
      { _ = try store.childIDs(under: path("")) },
      { _ = try store.documents(in: path("c"), limit: 9) },
      { _ = try executor.run(query) },
      { _ = try executor.run(group) },
      { _ = try executor.run(query, previous: PreviousResult(keys: [key("c/a")], limboFreeVersion: version(1))) },
      { _ = try store.count() },
      { try store.set(found("c/b")) },
      { try store.remove(key("c/a")) },
    ]
    var errors: [StoreError] = []
    for attempt in attempts {
      do {
        try attempt()
      } catch let error as StoreError {
        errors.append(error)
      }
    }
    #expect(errors.contains { $0.kind == .corrupt && $0.message.contains(damage.names) }, "\(errors)")
    #expect(errors.allSatisfy { $0.kind == .corrupt || $0.kind == .constraint || $0.kind == .full }, "\(errors)")
  }

  @Test("a collection whose arrival numbers are used up is full, and its neighbour untouched")
  func arrivalOverflow() throws {
    let store = try DocumentStore(database: Database(.memory))
    try store.setAll(found("c/a"), found("d/a"))
    try store.database.execute("UPDATE documents SET place = (2 << 36) - 1 WHERE collection = 1")
    let error = #expect(throws: StoreError.self) { try store.set(found("c/b")) }
    #expect(error?.kind == .full)
    #expect(
      error?.message.hasPrefix("Collection \"c\" cannot take document \"b\": ") == true, "\(error?.message ?? "none")")
    #expect(try keys(store.scan(.collection(path("c")))) == ["c/a"])
    #expect(try keys(store.scan(.collection(path("d")))) == ["d/a"])
  }

  @Test("one collection too many is full and names the collection")
  func collectionOverflow() throws {
    let store = try DocumentStore(database: Database(.memory))
    try store.database.execute("INSERT INTO collections VALUES ((1 << 27) - 1, 'last', 'last')")
    do {
      try store.set(found("c/a"))
      Issue.record("stored")
    } catch let error as StoreError {
      #expect(error.kind == .full)
      #expect(error.message.contains("cannot take collection \"c\""), "\(error)")
    }
  }
}
