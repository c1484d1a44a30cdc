#if PostgreSQL
  internal import HearthPostgres

  extension ClusterTransactions {
    /// The era in the id of a transaction, see ``TransactionID``. Those of an ended era are over, although their rows say that they are open.
    private static func era(of id: String) -> String { "substring(\(id) from 10 for 8)" }

    /// Inserts nothing if too many are open.
    static let insert = PostgresStatement(
      "begin transaction",
      """
      INSERT INTO hearth_transactions
        (id, place, mode, state, read_version, read_count, expiry, seniority_time, seniority_number)
      SELECT $1, $2, $3, 0, $4, 0, $5, $8, $9
      WHERE (
        SELECT count(*) FROM hearth_transactions
        WHERE place = $2 AND expiry > $6 AND state = 0 AND \(era(of: "id")) = \(era(of: "$1"))) < $7
      """, [.bytea, .bytea, .int2, .int8, .int8, .int8, .int8, .int8, .int8])

    /// Takes the age of a transaction that has ended without a commit, which has none after that.
    static let takeSeniority = PostgresStatement(
      "take seniority",
      """
      WITH ended AS (
        SELECT id, seniority_time, seniority_number FROM hearth_transactions
        WHERE id = $1 AND seniority_time <> 0 AND (state <> 0 OR expiry <= $2) FOR UPDATE
      )
      UPDATE hearth_transactions t SET seniority_time = 0 FROM ended WHERE t.id = ended.id
      RETURNING ended.seniority_time, ended.seniority_number
      """, [.bytea, .int8])

    /// Stores what an open transaction reads, and fixes its snapshot. Changes nothing if it is not open, or reads too much.
    static let record = PostgresStatement(
      "record reads",
      """
      WITH open AS (
        SELECT id FROM hearth_transactions
        WHERE id = $1 AND state = 0 AND expiry > $3 AND read_count + coalesce(array_length($5::bytea[], 1), 0) <= $8
          AND (
            SELECT coalesce(sum(read_count), 0) FROM hearth_transactions
            WHERE place = $10 AND expiry > $3 AND state = 0 AND \(era(of: "id")) = \(era(of: "$1"))
          ) + coalesce(array_length($5::bytea[], 1), 0) <= $9
        FOR UPDATE
      ), added AS (
        INSERT INTO hearth_reads (transaction, hash, kind, content, lock_key)
        SELECT open.id, r.hash, r.kind, r.content, r.lock_key
        FROM open CROSS JOIN unnest($5::bytea[], $6::smallint[], $7::bytea[], $11::bytea[])
          AS r (hash, kind, content, lock_key)
        ON CONFLICT (transaction, hash) DO NOTHING RETURNING hash
      )
      UPDATE hearth_transactions t SET
        read_version = CASE WHEN t.read_version <> 0 THEN t.read_version ELSE
          (SELECT version FROM hearth_commits WHERE database = $2 ORDER BY version DESC LIMIT 1) END,
        read_count = t.read_count + (SELECT count(*) FROM added), expiry = $4
      FROM open WHERE t.id = open.id
      """, [.bytea, .int8, .int8, .int8, .byteaArray, .int2Array, .byteaArray, .int8, .int8, .bytea, .byteaArray])

    static let rollBack = PostgresStatement(
      "roll transaction back", "UPDATE hearth_transactions SET state = 3 WHERE id = $1 AND state = 0", [.bytea])

    static let abort = PostgresStatement(
      "abort transactions", "UPDATE hearth_transactions SET state = 2 WHERE place = $1 AND state = 0 AND mode <> 1",
      [.bytea])
  }
#endif
