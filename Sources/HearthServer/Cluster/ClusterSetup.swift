#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  /// Prepares a PostgreSQL database for a cluster: `hearth storage create` and `upgrade`, and the look at the schema when a node starts.
  package struct ClusterSetup: Sendable {
    let location: ClusterLocation
    let clock: ClusterClock

    package init(_ location: ClusterLocation) {
      self.init(location, clock: ClusterClock(.system))
    }

    init(_ location: ClusterLocation, clock: ClusterClock) {
      self.location = location
      self.clock = clock
    }

    /// Makes the tables. The database may hold others.
    ///
    /// - Throws: `ServerError` if there are tables of a cluster, or if the server cannot be used.
    package func create() async throws(ServerError) {
      try await perform { [clock] session in
        let facts = try session.facts()
        let present = try Self.tables(session)
        guard present.isEmpty else {
          throw ServerError(
            .storage,
            present.contains("hearth_schema")
              ? "The database has the tables of a cluster already: hearth serve --storage can use it."
              : "The database has tables that this release does not know: \(present.joined(separator: ", ")). "
                + "Use another database.")
        }
        guard let timeline = facts.timeline else {
          throw ServerError(
            .storage, "The PostgreSQL server is a standby, which takes no writes. Name the primary in the URL.")
        }
        let statements = ClusterSchema.statements.enumerated().map { number, sql in
          PostgresStatement("create schema \(number)", sql).call()
        }
        let secret = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        let version = clock.time(server: facts.time).microseconds
        let rows = [
          Self.insertSchema.call(.int4(ClusterSchema.version), .int4(ClusterSchema.version)),
          Self.insertCluster.call(.bytea(secret), .int8(facts.systemIdentifier), .int8(timeline)),
          Self.insertEmptyDatabase.call(
            .int8(ClusterSchema.emptyDatabase), .bytea(ClusterHistory.drawIncarnation()), .int8(version)),
          ClusterOrder.append(
            SnapshotVersion(microseconds: version), to: ClusterSchema.emptyDatabase, by: CommitMark(node: 0, number: 0)),
        ]
        // Statements are checked against the tables before they are sent in a pipeline: those are made in one before.
        _ = try session.run([.begin] + statements)
        _ = try session.run(rows + [.commit])
      }
    }

    /// Brings the tables of an older release to the schema of this one.
    ///
    /// - Returns: The schema before.
    /// - Throws: `ServerError` if there are none, or those of a newer release.
    package func upgrade() async throws(ServerError) -> Int32 {
      try await perform { session in
        // Each release that changes the schema adds its steps here, each a transaction.
        try Self.schema(session)
      }
    }

    /// Checks that the tables are those of a release that this one can serve.
    func checkSchema() async throws(ServerError) {
      let version = try await perform { session in
        let version = try Self.schema(session)
        guard version == ClusterSchema.version else { return version }
        let forbidden = try session.run(Self.forbidden.call(.textArray(ClusterSchema.tables))).map { try $0.text(0) }
        guard forbidden.isEmpty else {
          throw ServerError(
            .storage,
            "The role of the URL may not read, insert, update and delete rows of \(forbidden.joined(separator: ", ")). It must "
              + "own the tables, or have these rights.")
        }
        return version
      }
      guard version >= ClusterSchema.oldestServed else {
        throw ServerError(
          .storage, "The database has schema \(version) of an older release: run hearth storage upgrade with this one.")
      }
    }

    /// The number of the schema.
    ///
    /// - Throws: `ServerError` if there is none, or one for which this release is too old.
    static func schema(_ session: PostgresSession) throws -> Int32 {
      let present = try tables(session)
      guard present.contains("hearth_schema") else {
        throw ServerError(.storage, "The database has no tables of a cluster: run hearth storage create first.")
      }
      guard let row = try session.run(readSchema.call()).first else {
        throw ServerError(
          .storage, "Table hearth_schema has no row: the database was not made by hearth storage create.")
      }
      let (version, minimum) = (try row.int32(0), try row.int32(1))
      guard minimum <= ClusterSchema.version else {
        throw ServerError(
          .storage,
          "The database has schema \(version), which needs a newer release of hearth; this one knows schema "
            + "\(ClusterSchema.version).")
      }
      let missing = ClusterSchema.tables.filter { !present.contains($0) }
      // Another schema may have other tables.
      guard version != ClusterSchema.version || missing.isEmpty else {
        throw ServerError(
          .storage, "The database lacks tables: \(missing.joined(separator: ", ")). Restore it from a backup.")
      }
      return version
    }

    /// The tables of clusters in the database, in order.
    private static func tables(_ session: PostgresSession) throws -> [String] {
      try session.run(readTables.call()).map { try $0.text(0) }
    }

    /// Runs `body` on a session of its own.
    func perform<Result: Sendable>(
      _ body: @escaping @Sendable (PostgresSession) throws -> Result
    ) async throws(ServerError) -> Result {
      do {
        let pool = PostgresPool(try PostgresConfiguration(url: location.url), label: "hearth storage", size: 1)
        let result: Swift.Result<Result, any Error>
        do {
          result = .success(try await pool.withSession(deadline: .now + .seconds(60), body))
        } catch {
          result = .failure(error)
        }
        await pool.close()
        return try result.get()
      } catch {
        throw ServerError(storage: error)
      }
    }

    private static let readTables = PostgresStatement(
      "tables of clusters",
      """
      SELECT tablename::text FROM pg_catalog.pg_tables
      WHERE schemaname = current_schema() AND starts_with(tablename::text, 'hearth_') ORDER BY tablename
      """)
    /// The tables that the role may not use as a node does.
    private static let forbidden = PostgresStatement(
      "forbidden tables",
      """
      SELECT t.name FROM unnest($1::text[]) AS t (name) WHERE NOT (
        has_table_privilege(t.name, 'SELECT') AND has_table_privilege(t.name, 'INSERT')
        AND has_table_privilege(t.name, 'UPDATE') AND has_table_privilege(t.name, 'DELETE'))
      """, [.textArray])
    private static let readSchema = PostgresStatement("schema", "SELECT version, minimum_node FROM hearth_schema")
    private static let insertSchema = PostgresStatement(
      "insert schema", "INSERT INTO hearth_schema (version, minimum_node) VALUES ($1, $2)", [.int4, .int4])
    private static let insertCluster = PostgresStatement(
      "insert cluster", "INSERT INTO hearth_cluster (id, secret, system_id, timeline) VALUES (1, $1, $2, $3)",
      [.bytea, .int8, .int8])
    private static let insertEmptyDatabase = PostgresStatement(
      "insert empty database",
      """
      INSERT INTO hearth_databases (number, project, name, incarnation, log_start, index_generation, index_state)
      VALUES ($1, '', '', $2, $3, 0, 0)
      """, [.int8, .bytea, .int8])
  }

  extension ServerError {
    /// The error of a start that fails because of the cluster's PostgreSQL.
    init(storage error: any Error) {
      let isForbidden = (error as? PostgresError)?.sqlState == .insufficientPrivilege
      let advice = isForbidden ? " The role of the URL must own the database, or its tables." : ""
      self = (error as? ServerError) ?? ServerError(.storage, "PostgreSQL cannot be used: \(error)\(advice)")
    }
  }
#endif
