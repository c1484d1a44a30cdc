#if PostgreSQL
  /// Identity, role and durability of a server at a moment.
  package struct PostgresServerFacts: Sendable, Equatable {
    /// For instance 150018 for 15.18.
    package var version: Int
    /// Given to a cluster by `initdb`. Standbys have that of their primary.
    package var systemIdentifier: Int64
    /// Rises with each promotion of a standby. Nil on a server in recovery.
    package var timeline: Int64?
    package var isInRecovery: Bool
    /// True if transactions are read-only unless they say otherwise, as on a standby.
    package var isReadOnly: Bool
    /// `fsync`, `full_page_writes` and `synchronous_commit`, as the server writes them: `on`, `off`, `remote_apply`, … The last one is that of
    /// a new session, whatever this one has set.
    package var fsync: String
    package var fullPageWrites: String
    package var synchronousCommit: String
    package var synchronousStandbyNames: String
    /// The clock of the server, in microseconds since 1970.
    package var clockMicroseconds: Int64
    /// When the server was started, in microseconds since 1970.
    package var startMicroseconds: Int64
    package var maximumConnections: Int
  }

  extension PostgresSession {
    /// Reads the facts of this session's server.
    package func facts(deadline: ContinuousClock.Instant? = nil) throws(PostgresError) -> PostgresServerFacts {
      let row = try run(Self.factsStatement.call(), deadline: deadline).only()
      return try PostgresServerFacts(
        version: Int(row.int32(0)), systemIdentifier: row.int64(1),
        timeline: Self.timeline(ofSegment: row.optionalText(2)), isInRecovery: row.bool(3), isReadOnly: row.bool(4),
        fsync: row.text(5), fullPageWrites: row.text(6), synchronousCommit: row.text(7),
        synchronousStandbyNames: row.text(8), clockMicroseconds: row.microseconds(9),
        startMicroseconds: row.microseconds(10), maximumConnections: Int(row.int32(11)))
    }

    /// The timeline comes from the name of the present segment of the log. `pg_control_checkpoint()` still has the one before for a moment after
    /// a promotion.
    private static let factsStatement = PostgresStatement(
      "server facts",
      """
      SELECT current_setting('server_version_num')::int4, (SELECT system_identifier FROM pg_control_system()),
        CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_walfile_name(pg_current_wal_lsn()) END,
        pg_is_in_recovery(), current_setting('transaction_read_only')::bool, current_setting('fsync'),
        current_setting('full_page_writes'),
        (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'),
        current_setting('synchronous_standby_names'), clock_timestamp(), pg_postmaster_start_time(),
        current_setting('max_connections')::int4
      """)

    /// The first eight hexadecimal digits.
    private static func timeline(ofSegment name: String?) throws(PostgresError) -> Int64? {
      guard let name else { return nil }
      guard name.utf8.count == 24, let timeline = Int64(name.prefix(8), radix: 16) else {
        throw PostgresError(
          .badResult, "\"\(name)\" is not the name of a WAL segment.", statementName: factsStatement.name)
      }
      return timeline
    }
  }
#endif
