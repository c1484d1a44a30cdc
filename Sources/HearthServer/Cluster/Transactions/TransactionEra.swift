#if PostgreSQL
  internal import HearthPostgres

  /// A time in which the PostgreSQL server has lost nothing of what it has acknowledged, also of what was not flushed: that is how transactions
  /// store what they read.
  ///
  /// It is a random number in a table that the server empties when it recovers from a crash, of itself or of one of its processes, and that
  /// standbys do not have. A crash ends all sessions, so the number that a statement finds is that of its whole transaction.
  enum TransactionEra {
    static let table =
      "CREATE UNLOGGED TABLE hearth_era (id smallint PRIMARY KEY CHECK (id = 1), number bigint NOT NULL)"

    /// Reads the number. ``number(_:)`` reads the result.
    static var call: PostgresCall { read.call() }

    /// - Parameter rows: The result of ``call``.
    /// - Returns: Nil if no transaction was begun since a crash.
    static func number(_ rows: PostgresRows) throws(PostgresError) -> Int64? { try rows.first?.int64(0) }

    /// The number of the present era, which begins with this if there was a crash.
    static func present(on session: PostgresSession) throws -> Int64 {
      let rows = try session.run([begin.call(.int8(.random(in: 1 ... .max))), read.call()])[1]
      return try rows.only().int64(0)
    }

    /// Ends the era: what transactions have read is not what the tables hold.
    static var end: PostgresCall { remove.call() }

    private static let begin = PostgresStatement(
      "begin era",
      """
      INSERT INTO hearth_era (id, number) SELECT 1, $1 WHERE NOT EXISTS (SELECT 1 FROM hearth_era WHERE id = 1)
      ON CONFLICT DO NOTHING
      """, [.int8])

    private static let remove = PostgresStatement("end era", "DELETE FROM hearth_era WHERE id = 1")

    private static let read = PostgresStatement("era", query)

    /// The number as part of other statements; NULL if no transaction was begun since a crash.
    static let query = "SELECT number FROM hearth_era WHERE id = 1"
  }
#endif
