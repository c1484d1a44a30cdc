#if PostgreSQL
  /// Where a PostgreSQL server is, and how to sign in there: a URL as libpq reads it, for instance
  /// `postgres://hearth@db1,db2:5433/firestore?sslmode=verify-full`.
  ///
  /// | part | meaning |
  /// |---|---|
  /// | hosts | tried in their order, each address of each name; the first that takes writes is used |
  /// | `target_session_attrs` | `read-write` (the default), or `any` for servers that only read |
  /// | `sslmode`, `sslrootcert`, … | as in libpq |
  /// | `connect_timeout` | seconds for each address, 5 by default |
  /// | password | never here: libpq takes it from the file of `PGPASSFILE` (`~/.pgpass`), or from `PGPASSWORD` |
  package struct PostgresConfiguration: Sendable, CustomStringConvertible {
    /// - Throws: `configuration`. The message never repeats a password.
    package init(url: String) throws(PostgresError) {
      throw PostgresError(.configuration, "not built yet")
    }

    /// User, hosts and database, for logs. Nothing in it is secret.
    package var description: String { "" }
  }

  /// What each session of a pool is set to when it is opened.
  package struct PostgresSessionSettings: Sendable {
    /// The longest time of one statement (`statement_timeout`).
    package var statementTimeout: Duration = .seconds(10)
    /// The longest wait of one statement for a lock (`lock_timeout`).
    package var lockTimeout: Duration = .seconds(5)
    /// The server ends a session that is silent for so long inside of a transaction (`idle_in_transaction_session_timeout`), so that a
    /// process that stands still does not hold up the others.
    package var idleInTransactionTimeout: Duration = .seconds(2)
    /// True to forbid the plans that are wrong for tables of any size but the present: sequential scans, bitmaps, hash and merge joins,
    /// parallel workers, and plans for particular values of parameters. A plan that has no other way still uses them.
    package var forcesPlans = true
    /// Further settings by their names, for instance `synchronous_commit`.
    package var others: [String: String] = [:]

    package init() {}
  }
#endif
