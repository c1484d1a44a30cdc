/// A step from one version of a component's tables to the next.
package struct Migration: Sendable {
  /// The version that the tables have afterwards; the first is 1.
  package let version: Int
  package let name: String
  package let apply: @Sendable (Database) throws -> Void

  package init(version: Int, name: String, apply: @escaping @Sendable (Database) throws -> Void) {
    self.version = version
    self.name = name
    self.apply = apply
  }

  /// A migration that executes these statements in order.
  package init(version: Int, name: String, statements: [String]) {
    self.init(version: version, name: name) { database in
      for statement in statements { try database.execute(statement) }
    }
  }
}

/// The tables of one component ("store", "cache", "server") and their migrations.
///
/// Each component keeps its version in the table `schema_versions` of the database. Migrations go forward only.
package struct Schema: Sendable {
  package let component: String
  /// In ascending order of version, without gaps, from 1.
  package let migrations: [Migration]
  /// Statements that must compile after the migration. They tell a file whose version says one thing and whose tables say
  /// another from a healthy one when it is opened, not at the first use.
  package let probes: [String]

  package init(component: String, migrations: [Migration], probes: [String] = []) {
    assert(
      migrations.enumerated().allSatisfy { $0.element.version == $0.offset + 1 },
      "The versions of \"\(component)\" are \(migrations.map(\.version)), not 1, 2, 3 …")
    self.component = component
    self.migrations = migrations
    self.probes = probes
  }

  package var currentVersion: Int { migrations.last?.version ?? 0 }

  /// Brings the component's tables to the current version; all pending steps are one transaction.
  ///
  /// - Throws: ``StoreError`` `newerSchema` when a newer release wrote the file, which is then not changed; `corrupt`
  ///   when the tables are not those of their version; any failure of a step.
  package func migrate(_ database: Database) throws {
    if try version(in: database) != currentVersion {
      try database.transaction("Migrate \(component)") {
        // Read again under the write lock: another process may have migrated in between.
        let found = try version(in: database)
        guard found != currentVersion else { return }
        try database.execute(
          "CREATE TABLE IF NOT EXISTS schema_versions "
            + "(component TEXT PRIMARY KEY NOT NULL, version INTEGER NOT NULL) WITHOUT ROWID")
        for migration in migrations where migration.version > found {
          do {
            try migration.apply(database)
          } catch let error as StoreError where error.kind == .misuse || error.kind == .constraint {
            // The steps are right where the tables are what the version says.
            throw StoreError.corrupt(
              "Migration \(migration.version) (\(migration.name)) of \"\(component)\" does not fit the tables: "
                + error.message)
          } catch let error as StoreError {
            throw error.at("Migration \(migration.version) (\(migration.name)) of \"\(component)\"")
          }
        }
        // Makes SQLite's own number rise, so that a process that has the file open looks at the versions, also when no table has changed.
        if found > 0 {
          try database.execute("CREATE VIEW migrated_tables AS SELECT 1")
          try database.execute("DROP VIEW migrated_tables")
        }
        try database.update(
          "INSERT OR REPLACE INTO schema_versions (component, version) VALUES (?, ?)", .text(component),
          .integer(Int64(currentVersion)))
      }
    }
    try probe(database)
  }

  /// Returns true if the tables are those of an earlier release, which ``migrate(_:)`` would change.
  ///
  /// - Throws: As ``checkVersion(in:)``.
  package func isOutdated(in database: Database) throws -> Bool {
    (1..<max(currentVersion, 1)).contains(try version(in: database))
  }

  /// Looks whether this release may use the tables, and reads nothing else.
  ///
  /// - Throws: ``StoreError`` `newerSchema` when a newer release has migrated them.
  package func checkVersion(in database: Database) throws {
    _ = try version(in: database)
  }

  /// As ``checkVersion(in:)``, for a file whose list of tables may be damaged. Its pages are read without SQLite, those in its log are not.
  ///
  /// - Parameter components: Components that such a file has in any case, by which their table is recognized.
  /// - Throws: ``StoreError`` `newerSchema` when a newer release has migrated the file, as far as that can be found out.
  package static func checkVersions(
    of schemas: [Schema], onPagesOf path: String, with components: Set<String>
  ) throws(StoreError) {
    // A page that is no longer used has lower versions, as they only rise.
    for versions in DatabaseLeaves.numbersByText(in: path) where components.isSubset(of: versions.keys) {
      for schema in schemas {
        guard let found = versions[schema.component], found > schema.currentVersion,
          !isIndexed(schema.component, found, in: path)
        else { continue }
        try schema.check(found, name: "\"\(path)\"")
      }
    }
  }

  /// Returns true if a table has a row with this number and text: an index of it has both as well.
  private static func isIndexed(_ text: String, _ number: Int64, in path: String) -> Bool {
    DatabaseLeaves.rows(in: path, numbers: [number]).contains { $0.columns.contains(.text(Array(text.utf8))) }
  }

  /// The version in the file: 0 when the component has no tables there.
  private func version(in database: Database) throws -> Int {
    let table = try database.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'schema_versions'")
    guard try table.step() else { return 0 }
    let statement = try database.prepare("SELECT version FROM schema_versions WHERE component = ?", .text(component))
    guard try statement.step() else { return 0 }
    let found = try statement.int64(at: 0)
    guard found >= 1 else {
      throw StoreError.corrupt("Database \(database.name): \"\(component)\" has the version \(found); the first is 1.")
    }
    try check(found, name: database.name)
    return Int(found)
  }

  private func check(_ found: Int64, name: String) throws(StoreError) {
    guard found <= Int64(currentVersion) else {
      throw StoreError(
        kind: .newerSchema,
        message: "Database \(name): its \"\(component)\" tables have version \(found), and this release knows "
          + "versions up to \(currentVersion). Use the release that wrote it, or another folder.")
    }
  }

  private func probe(_ database: Database) throws(StoreError) {
    for probe in probes {
      do throws(StoreError) {
        _ = try database.prepare(probe)
      } catch {
        guard error.kind == .misuse else { throw error }
        throw .corrupt(
          "Database \(database.name): its \"\(component)\" tables are not those of version \(currentVersion): "
            + error.message)
      }
    }
  }
}
