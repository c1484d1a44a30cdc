#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  /// The lock under which a database is changed: its row in `hearth_databases`, held from before the first read of a transaction to its end.
  ///
  /// The lock of one group of commits is released only after the group is visible to new snapshots, and the next group writes nothing before
  /// it has the lock. So every snapshot contains a prefix of the groups, and the newest row of `hearth_commits` names that prefix: nothing can
  /// appear below a version that a reader has seen.
  enum ClusterOrder {
    /// The state of a database as the holder of its lock finds it.
    struct State: Sendable, Equatable {
      var incarnation: [UInt8]
      var logStart: SnapshotVersion
      var indexGeneration: Int64
      var indexState: Int64
      /// The present version.
      var latest: SnapshotVersion
      /// The time of the server.
      var time: Timestamp
      /// `synchronous_commit` is off in this session: COMMIT would be answered before it is durable.
      var isAsynchronous: Bool

      /// The calls that end the transaction of the lock so durably that its outcome may be given to clients.
      ///
      /// The setting can be turned off for a role, for a database, or while sessions are open, and a pooler may forget what a session has set.
      /// So each transaction looks at it, and overrides it. Stronger and weaker settings than `on` stay.
      func commit(on location: ClusterLocation) -> [PostgresCall] {
        isAsynchronous && !location.allowsUnsafeDurability ? [ClusterOrder.setDurable, .commit] : [.commit]
      }
    }

    /// The calls that take the lock, inside of a transaction at READ COMMITTED, before everything else. ``state(_:)`` reads their results.
    ///
    /// The version and the time are taken by a statement of its own: the columns of the first one may be computed before it waits for the lock.
    static func calls(_ database: Int64) -> [PostgresCall] {
      [lock.call(.int8(database)), latest.call(.int8(database))]
    }

    /// Takes the lock in a new transaction.
    static func begin(_ database: Int64, on session: PostgresSession) throws -> State {
      try state(session.run([.begin] + calls(database)).dropFirst())
    }

    /// - Parameter results: Those of ``calls(_:)``.
    /// - Throws: DATA_LOSS if the database has no row, or no version.
    static func state(_ results: ArraySlice<PostgresRows>) throws -> State {
      guard results.count >= 2, let row = results[results.startIndex].first,
        let newest = results[results.startIndex + 1].first
      else {
        throw StatusError(code: .dataLoss, message: "hearth_databases or hearth_commits has no row of the database.")
      }
      return State(
        incarnation: try row.bytes(0), logStart: try row.version(1),
        indexGeneration: try row.int64(2), indexState: try row.int64(3),
        latest: try newest.version(0), time: Timestamp(microseconds: try newest.microseconds(1)),
        isAsynchronous: try newest.bool(2))
    }

    /// Makes the COMMIT of the running transaction wait until it is on disk, and at the synchronous standbys if there are any.
    static let setDurable = PostgresStatement(
      "set durable", "SELECT set_config('synchronous_commit', 'on', true)"
    ).call()

    private static let lock = PostgresStatement(
      "lock order",
      """
      SELECT incarnation, log_start, index_generation, index_state FROM hearth_databases WHERE number = $1 FOR UPDATE
      """, [.int8])

    private static let latest = PostgresStatement(
      "latest version and time",
      """
      SELECT version, clock_timestamp(), current_setting('synchronous_commit') = 'off'
      FROM hearth_commits WHERE database = $1 ORDER BY version DESC LIMIT 1
      """, [.int8])

    /// Makes a version the newest one, without changes.
    static func append(_ version: SnapshotVersion, to database: Int64, by mark: CommitMark, bytes: Int64 = 0)
      -> PostgresCall
    {
      appendCommit.call(
        .int8(database), .int8(version.microseconds), .int8(mark.node), .int8(mark.number), .int8(bytes))
    }

    static let appendCommit = PostgresStatement(
      "append commit",
      "INSERT INTO hearth_commits (database, version, node, mark, bytes) VALUES ($1, $2, $3, $4, $5)",
      [.int8, .int8, .int8, .int8, .int8])
  }

  /// Names a transaction of a node that may be committed without the node hearing of it.
  struct CommitMark: Sendable, Hashable {
    /// Drawn at the start of the node.
    var node: Int64
    /// Rises with each transaction of the node.
    var number: Int64
  }
#endif
