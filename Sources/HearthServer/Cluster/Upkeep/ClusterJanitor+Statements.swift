#if PostgreSQL
  internal import HearthPostgres

  extension ClusterJanitor {
    /// A table whose rows are removed by their version.
    struct VersionedTable: Sendable {
      /// Finds the version of a row behind so many others.
      let bound: PostgresStatement
      let delete: PostgresStatement

      init(_ table: String) {
        bound = PostgresStatement(
          "bound of \(table)",
          "SELECT version FROM \(table) WHERE database = $1 AND version <= $2 ORDER BY version LIMIT 1 OFFSET $3",
          [.int8, .int8, .int8])
        delete = PostgresStatement(
          "trim \(table)", "DELETE FROM \(table) WHERE database = $1 AND version <= $2", [.int8, .int8])
      }
    }

    /// Finds a row behind so many others.
    static let boundOfChanges = PostgresStatement(
      "bound of changes",
      """
      SELECT version, collection, id FROM hearth_changes WHERE database = $1 AND version <= $2
      ORDER BY version, collection, id LIMIT 1 OFFSET $3
      """, [.int8, .int8, .int8])

    static let trimChangesBefore = PostgresStatement(
      "trim changes before",
      """
      DELETE FROM hearth_changes WHERE database = $1 AND version <= $2 AND (version, collection, id) < ($2, $3, $4)
      """, [.int8, .int8, .int8, .bytea])

    static let changes = VersionedTable("hearth_changes")
    static let commits = VersionedTable("hearth_commits")
    static let responses = VersionedTable("hearth_batch_responses")

    static let present = PostgresStatement(
      "state for janitor",
      """
      SELECT log_start, (SELECT c.version FROM hearth_commits c WHERE c.database = $1 ORDER BY c.version DESC LIMIT 1),
        clock_timestamp()
      FROM hearth_databases WHERE number = $1
      """, [.int8])

    static let raise = PostgresStatement(
      "raise start of log", "UPDATE hearth_databases SET log_start = $2 WHERE number = $1 AND log_start < $2",
      [.int8, .int8])

    static let latestBefore = PostgresStatement(
      "latest version before",
      "SELECT version FROM hearth_commits WHERE database = $1 AND version <= $2 ORDER BY version DESC LIMIT 1",
      [.int8, .int8])

    static let bytes = PostgresStatement(
      "bytes of history",
      "SELECT coalesce(sum(bytes), 0)::bigint FROM hearth_commits WHERE database = $1 AND version > $2", [.int8, .int8])

    /// Finds the newest version whose changes, with the later ones, are more than so many bytes.
    static let cut = PostgresStatement(
      "cut of history",
      """
      SELECT version FROM (
        SELECT version, sum(bytes) OVER (ORDER BY version DESC) AS later FROM hearth_commits
        WHERE database = $1 AND version > $2
      ) AS sums WHERE later > $3 ORDER BY version DESC LIMIT 1
      """, [.int8, .int8, .int8])

    /// Removes the oldest answers of clients that have too many, or too large ones.
    static let trimClients = PostgresStatement(
      "trim responses of clients",
      """
      DELETE FROM hearth_batch_responses WHERE (database, identity, digest) IN (
        SELECT database, identity, digest FROM (
          SELECT database, identity, digest, of_many,
            row_number() OVER (PARTITION BY client ORDER BY version DESC) AS position,
            sum(octet_length(response) + \(ResponseRetention.bytesPerAnswer))
              OVER (PARTITION BY client ORDER BY version DESC) AS bytes
          FROM hearth_batch_responses WHERE database = $1
        ) AS numbered
        WHERE position > CASE WHEN of_many THEN $4 ELSE $2 END OR bytes > CASE WHEN of_many THEN $5 ELSE $3 END)
      """, [.int8, .int8, .int8, .int8, .int8])

    /// Removes the oldest answers that are too many, or too large, in all. The newest ones of each client go last: a client with many takes no
    /// room from others.
    static let trimResponses = PostgresStatement(
      "trim responses",
      """
      DELETE FROM hearth_batch_responses WHERE (database, identity, digest) IN (
        SELECT database, identity, digest FROM (
          SELECT database, identity, digest, row_number() OVER kept AS position, sum(size) OVER kept AS bytes
          FROM (
            SELECT database, identity, digest, version,
              octet_length(response) + \(ResponseRetention.bytesPerAnswer) AS size,
              row_number() OVER (PARTITION BY client ORDER BY version DESC) <= $4 AS is_fair
            FROM hearth_batch_responses WHERE database = $1
          ) AS own
          WINDOW kept AS (ORDER BY is_fair DESC, version DESC)
        ) AS numbered
        WHERE position > $2 OR bytes > $3)
      """, [.int8, .int8, .int8, .int8])

    static let removeReads = PostgresStatement(
      "remove reads",
      """
      DELETE FROM hearth_reads WHERE (transaction, hash) IN (
        SELECT r.transaction, r.hash FROM hearth_transactions t JOIN hearth_reads r ON r.transaction = t.id
        WHERE t.expiry < $1 LIMIT $2)
      """, [.int8, .int8])

    /// Removes ended transactions whose reads are gone.
    static let removeTransactions = PostgresStatement(
      "remove transactions",
      """
      DELETE FROM hearth_transactions WHERE id IN (
        SELECT t.id FROM hearth_transactions t
        WHERE t.expiry < $1 AND NOT EXISTS (SELECT 1 FROM hearth_reads r WHERE r.transaction = t.id) LIMIT $2)
      """, [.int8, .int8])
  }
#endif
