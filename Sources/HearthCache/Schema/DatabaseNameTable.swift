internal import HearthModel
internal import HearthStore

/// The name of the database that a cache belongs to, for tools that inspect the file from outside.
///
/// A client knows it from its settings, and stores it at its first start. A file that no client of this release has opened lacks the table.
struct DatabaseNameTable {
  let database: Database

  static let schema = Schema(
    component: "database",
    migrations: [
      Migration(
        version: 1, name: "the backend's database",
        statements: [
          "CREATE TABLE cache_database (id INTEGER PRIMARY KEY CHECK (id = 1), project TEXT NOT NULL, name TEXT NOT NULL)"
        ])
    ],
    probes: ["SELECT id, project, name FROM cache_database"])

  /// - Returns: Nil if no client has named it, or the row does not hold a name.
  func databaseID() throws -> DatabaseID? {
    let hasTable = try database.firstRow("SELECT 1 FROM sqlite_master WHERE name = 'cache_database'") { _ in true }
    guard hasTable != nil else { return nil }
    let names = try database.firstRow("SELECT project, name FROM cache_database WHERE id = 1") { row in
      (try? row.string(at: 0)).flatMap { project in (try? row.string(at: 1)).map { (project, $0) } }
    }
    guard let (project, name) = names ?? nil else { return nil }
    return try? DatabaseID(resourceName: DatabaseID(projectID: project, database: name).resourceName)
  }

  /// Makes the table if it is missing, and names the database if another one or none is named.
  func name(_ databaseID: DatabaseID) throws {
    guard (try? self.databaseID()) != databaseID else { return try Self.schema.migrate(database) }
    try database.transaction("Name database") {
      try Self.schema.migrate(database)
      guard try self.databaseID() != databaseID else { return }
      try database.update(
        "INSERT OR REPLACE INTO cache_database (id, project, name) VALUES (1, ?, ?)", .text(databaseID.projectID),
        .text(databaseID.database))
    }
  }
}
