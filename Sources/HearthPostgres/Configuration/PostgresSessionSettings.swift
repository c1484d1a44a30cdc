#if PostgreSQL
  /// The settings of a session from its start on.
  package struct PostgresSessionSettings: Sendable {
    /// The longest time of one statement (`statement_timeout`).
    package var statementTimeout: Duration = .seconds(10)
    /// The longest wait of one statement for a lock (`lock_timeout`).
    package var lockTimeout: Duration = .seconds(5)
    /// The time after which the server ends a session that is silent inside a transaction (`idle_in_transaction_session_timeout`), so that
    /// a process that is stopped does not block the others.
    package var idleInTransactionTimeout: Duration = .seconds(2)
    /// True to forbid plans that depend on the sizes of tables and on values of parameters: sequential scans, bitmaps, hash and merge joins,
    /// kept results of inner scans, parallel workers. A statement that has no other plan still gets one of them.
    package var forcesPlans = true
    /// Further settings by their names, for instance `synchronous_commit`. They override the others.
    package var others: [String: String] = [:]

    package init() {}

    /// The settings of the server, by name.
    var values: [String: String] {
      var values = [
        "statement_timeout": Self.milliseconds(statementTimeout),
        "lock_timeout": Self.milliseconds(lockTimeout),
        "idle_in_transaction_session_timeout": Self.milliseconds(idleInTransactionTimeout),
        // A warning says that a commit has not waited for its synchronous standby.
        "client_min_messages": "warning",
        // Of the transactions that name none.
        "default_transaction_isolation": "read committed",
      ]
      if forcesPlans { values.merge(Self.plans) { $1 } }
      return values.merging(others) { $1 }
    }

    /// A prepared statement that was planned while its tables were small would go on reading them from front to back.
    private static let plans = [
      "enable_seqscan": "off", "enable_bitmapscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off",
      "enable_memoize": "off", "enable_material": "off", "jit": "off",
      "max_parallel_workers_per_gather": "0", "plan_cache_mode": "force_generic_plan",
    ]

    /// 0 would mean no limit to the server, which takes at most 2^31 - 1.
    private static func milliseconds(_ duration: Duration) -> String {
      String(Int(min(max(duration, .milliseconds(1)), .seconds(2_000_000)) / .milliseconds(1)))
    }
  }
#endif
