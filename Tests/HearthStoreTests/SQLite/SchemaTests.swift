import Foundation
import HearthStore
import Testing

@Suite("Schema versions")
struct SchemaTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  static let first = Migration(version: 1, name: "create", statements: ["CREATE TABLE a (i INTEGER)"])
  static let second = Migration(
    version: 2, name: "add b", statements: ["ALTER TABLE a ADD COLUMN b TEXT", "INSERT INTO a VALUES (1, 'x')"])

  @Test("a new file gets every step, an old one the missing ones, a current one none", arguments: TestLocation.allCases)
  func forward(location: TestLocation) throws {
    let database = try location.open(in: folder)
    try Schema(component: "test", migrations: [Self.first]).migrate(database)
    #expect(try integers("SELECT count(*) FROM pragma_table_info('a')", in: database) == [1])
    let schema = Schema(component: "test", migrations: [Self.first, Self.second], probes: ["SELECT i, b FROM a"])
    try schema.migrate(database)
    try schema.migrate(database)
    #expect(try integers("SELECT i FROM a", in: database) == [1])
  }

  @Test("components have versions of their own")
  func components() throws {
    let database = try Database(.memory)
    try Schema(component: "one", migrations: [Self.first, Self.second]).migrate(database)
    let create = Migration(version: 1, name: "create", statements: ["CREATE TABLE c (i INTEGER)"])
    try Schema(component: "two", migrations: [create]).migrate(database)
    #expect(try integers("SELECT version FROM schema_versions ORDER BY component", in: database) == [2, 1])
  }

  @Test("a newer file is refused with both versions and its path, and is not changed")
  func newer() throws {
    do {
      let database = try Database(.file(path: folder.file()))
      try Schema(component: "test", migrations: [Self.first, Self.second]).migrate(database)
    }
    let database = try Database(.file(path: folder.file()))
    do {
      try Schema(component: "test", migrations: [Self.first]).migrate(database)
      Issue.record("accepted")
    } catch let error as StoreError {
      #expect(error.kind == .newerSchema)
      #expect(error.message.contains(folder.file()))
      #expect(error.message.contains("version 2"))
    }
    #expect(try integers("SELECT i FROM a", in: database) == [1])
  }

  @Test("a step that fails leaves the file at the version it had")
  func failedStep() throws {
    let database = try Database(.memory)
    try Schema(component: "test", migrations: [Self.first]).migrate(database)
    let injected = StoreError(kind: .full, message: "injected")
    for point in [Database.FailurePoint.statement("INSERT INTO a VALUES (1, 'x')"), .commit] {
      database.injectFailure = { $0 == point ? injected : nil }
      #expect(kind { try Schema(component: "test", migrations: [Self.first, Self.second]).migrate(database) } == .full)
      database.injectFailure = nil
      #expect(try integers("SELECT version FROM schema_versions", in: database) == [1])
      #expect(try integers("SELECT count(*) FROM pragma_table_info('a')", in: database) == [1])
    }
  }

  @Test("tables that do not fit the version are a corrupt file")
  func missingTable() throws {
    let schema = Schema(component: "test", migrations: [Self.first], probes: ["SELECT i FROM a"])
    func damage(_ sql: String) throws {
      let database = try Database(.file(path: folder.file()))
      try schema.migrate(database)
      try database.execute(sql)
    }
    func migrate() throws { try schema.migrate(Database(.file(path: folder.file()))) }
    try damage("UPDATE schema_versions SET version = 1")
    try migrate()
    for sql in [
      "DROP TABLE a", "UPDATE schema_versions SET version = 'one'", "UPDATE schema_versions SET version = -1",
    ] {
      try FileManager.default.removeItem(atPath: folder.file())
      try damage(sql)
      #expect(kind { try migrate() } == .corrupt, "\(sql)")
    }
  }
}
