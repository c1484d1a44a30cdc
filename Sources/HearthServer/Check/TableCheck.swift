#if PostgreSQL
  internal import HearthPostgres

  /// Compares the tables of a cluster with those that this release makes, for which it makes these in a transaction that is rolled back.
  ///
  /// A restoration that was interrupted leaves indexes out, and a table that was made unlogged is empty after a crash of the server.
  struct TableCheck {
    /// A property of a table, such as a column or an index.
    private struct Property: Hashable {
      var table: String
      var name: String
    }

    /// The differences that are named. A database that lacks many is no database of a cluster.
    private static let namedDifferences = 5

    /// Tells what is wrong, in words; empty if nothing is.
    static func differences(on session: PostgresSession) throws -> [String] {
      let schema = try session.run(present.call()).only().text(0)
      let found = try properties(of: schema, on: session)
      let reference = "hearth_check_\(String(UInt64.random(in: 0 ... .max), radix: 36))"
      let setup = ["CREATE SCHEMA \(reference)", "SET LOCAL search_path TO \(reference)"] + ClusterSchema.statements
      let expected: [Property: String]
      do {
        _ = try session.run(
          [.begin] + setup.enumerated().map { PostgresStatement("make reference \($0)", $1).call() })
        expected = try properties(of: reference, on: session)
      } catch {
        _ = try? session.run(.rollback)
        throw error
      }
      _ = try session.run(.rollback)
      var differences = expected.sorted { ($0.key.table, $0.key.name) < ($1.key.table, $1.key.name) }.compactMap {
        property, value -> String? in
        guard found[property] != value else { return nil }
        let present = found[property].map { "is \($0)" } ?? "is missing"
        return "\(property.table): \(property.name) \(present), and must be \(value)"
      }
      if differences.count > namedDifferences {
        differences = differences.prefix(namedDifferences) + ["and \(differences.count - namedDifferences) more"]
      }
      return try differences + missingRows(on: session)
    }

    private static func properties(of schema: String, on session: PostgresSession) throws -> [Property: String] {
      var properties: [Property: String] = [:]
      for row in try session.run(describe.call(.text(schema))) {
        properties[Property(table: try row.text(0), name: try row.text(1))] = try row.text(2)
      }
      return properties
    }

    /// The rows that must be there, and are not.
    private static func missingRows(on session: PostgresSession) throws -> [String] {
      let row = try session.run(rows.call(.int8(ClusterSchema.emptyDatabase))).only()
      let tables = ["hearth_cluster", "hearth_databases", "hearth_commits"]
      return try tables.enumerated().filter { try row.int64($0.offset) == 0 }.map {
        "\($0.element): the row that hearth storage create makes is missing"
      }
    }

    private static let present = PostgresStatement("present schema", "SELECT current_schema()::text")

    private static let describe = PostgresStatement(
      "describe tables",
      """
      SELECT c.relname::text, 'the table',
        CASE c.relpersistence WHEN 'p' THEN 'logged' WHEN 'u' THEN 'unlogged' ELSE 'temporary' END
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = $1 AND c.relkind = 'r' AND starts_with(c.relname::text, 'hearth_')
      UNION ALL
      SELECT c.relname::text, 'column ' || a.attname,
        pg_catalog.format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
      WHERE n.nspname = $1 AND c.relkind = 'r' AND starts_with(c.relname::text, 'hearth_')
      UNION ALL
      SELECT c.relname::text, 'index ' || x.relname,
        replace(pg_catalog.pg_get_indexdef(x.oid), ' ON ' || quote_ident($1) || '.', ' ON ')
          || CASE WHEN i.indisvalid THEN '' ELSE ' (not valid)' END
      FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
      JOIN pg_catalog.pg_index i ON i.indrelid = c.oid JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
      WHERE n.nspname = $1 AND starts_with(c.relname::text, 'hearth_')
      """, [.text])

    private static let rows = PostgresStatement(
      "rows of setup",
      """
      SELECT (SELECT count(*) FROM hearth_cluster), (SELECT count(*) FROM hearth_databases WHERE number = $1),
        (SELECT count(*) FROM hearth_commits WHERE database = $1)
      """, [.int8])
  }
#endif
