#if PostgreSQL
  internal import HearthPostgres

  /// Work on a database that one holder at a time should do, in `hearth_tasks`. A lease only avoids that several do the same.
  enum ClusterTask: Int16 {
    case trimming = 1
    case filling = 2
    /// The trial of `hearth storage check`, which has made the database for itself. Its row stays: lists leave the database out.
    case check = 3

    /// Takes the work over for a time, or keeps it.
    ///
    /// - Returns: A call that affects no row if another holder has it.
    func lease(of database: Int64, by holder: Int64, seconds: Int64) -> PostgresCall {
      Self.lease.call(.int8(database), .int2(rawValue), .int8(holder), .int8(seconds))
    }

    private static let lease = PostgresStatement(
      "lease of task",
      """
      INSERT INTO hearth_tasks (database, kind, holder, until)
      VALUES ($1, $2, $3, clock_timestamp() + $4 * interval '1 second')
      ON CONFLICT (database, kind) DO UPDATE SET holder = excluded.holder, until = excluded.until
      WHERE hearth_tasks.holder = excluded.holder OR hearth_tasks.until < clock_timestamp()
      """, [.int8, .int2, .int8, .int8])
  }
#endif
