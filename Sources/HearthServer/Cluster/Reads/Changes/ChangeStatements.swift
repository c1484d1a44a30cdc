#if PostgreSQL
  internal import HearthPostgres

  /// The statements that read the log of changes, see ``ReadStatements``.
  enum ChangeStatements {
    /// The columns of ``changes`` and ``allChanges``.
    enum Column {
      /// The number of the collection among the parameters, from 1 on.
      static let range = 0
      static let collection = 1
      static let version = 2
      static let id = 3
      static let isDelete = 4
      static let oldVersion = 5
      static let oldCreateTime = 6
      static let oldFields = 7
      /// Only of ``allChanges``.
      static let path = 8
    }

    private static let columns =
      "c.collection, c.version, c.id, c.is_delete, c.old_version, c.old_create_time, "
      + "CASE WHEN c.old_version <= $2 THEN c.old_fields END AS old_fields"

    /// Changes of collections behind (versions, ids) and up to a version, collection by collection.
    ///
    /// $2: former contents are returned if they are of this version or older; $3: the last version; $7: at most so many rows; $8: the bytes of a
    /// page.
    static let changes = PostgresStatement(
      "changes of collections",
      """
      SELECT n, collection, version, id, is_delete, old_version, old_create_time, old_fields FROM (
        SELECT r.n, c.*, sum(coalesce(octet_length(c.old_fields), 0))
            OVER (ORDER BY r.n, c.version, c.id ROWS UNBOUNDED PRECEDING)
          - coalesce(octet_length(c.old_fields), 0) AS before
        FROM unnest($4, $5, $6) WITH ORDINALITY AS r(collection, version, id, n)
        CROSS JOIN LATERAL (
          SELECT \(columns) FROM hearth_changes c
          WHERE c.database = $1 AND (c.collection, c.version, c.id) > (r.collection, r.version, r.id)
            AND (c.collection, c.version) <= (r.collection, $3)
          ORDER BY c.collection, c.version, c.id LIMIT $7) c) page
      WHERE before < $8 ORDER BY n, version, id LIMIT $7
      """, [.int8, .int8, .int8, .int8Array, .int8Array, .byteaArray, .int8, .int8])

    /// Changes of all collections behind ($4, $5, $6) and up to version $3, by version.
    static let allChanges = PostgresStatement(
      "changes of all collections",
      """
      SELECT 1::bigint, collection, version, id, is_delete, old_version, old_create_time, old_fields, path FROM (
        SELECT c.*, p.path, sum(coalesce(octet_length(c.old_fields), 0))
            OVER (ORDER BY c.version, c.collection, c.id ROWS UNBOUNDED PRECEDING)
          - coalesce(octet_length(c.old_fields), 0) AS before
        FROM (
          SELECT \(columns) FROM hearth_changes c
          WHERE c.database = $1 AND (c.version, c.collection, c.id) > ($4, $5, $6) AND c.version <= $3
          ORDER BY c.version, c.collection, c.id LIMIT $7) c
        CROSS JOIN LATERAL (
          SELECT p.path FROM hearth_collections p WHERE p.database = $1 AND p.number = c.collection LIMIT 1) p) page
      WHERE before < $8 ORDER BY version, collection, id
      """, [.int8, .int8, .int8, .int8, .int8, .bytea, .int8, .int8])

    /// A row if there is a version. What was given out before the database existed was given out by the empty one, with number 0.
    static let version = PostgresStatement(
      "version",
      """
      SELECT 1 WHERE coalesce(
        (SELECT c.version FROM hearth_commits c WHERE c.database = $1 AND c.version = $2 LIMIT 1),
        (SELECT c.version FROM hearth_changes c WHERE c.database = $1 AND c.version = $2 LIMIT 1),
        (SELECT c.version FROM hearth_commits c WHERE c.database = 0 AND c.version = $2 LIMIT 1)) IS NOT NULL
      """, [.int8, .int8])

    /// The number of changes of collections after $2 and through $3, each counted up to $5.
    static let count = PostgresStatement(
      "count changes",
      """
      SELECT coalesce(sum(n.count), 0)::bigint FROM unnest($4) AS r(collection)
      CROSS JOIN LATERAL (
        SELECT count(*) AS count FROM (
          SELECT 1 FROM hearth_changes c
          WHERE c.database = $1 AND (c.collection, c.version) > (r.collection, $2)
            AND (c.collection, c.version) <= (r.collection, $3)
          ORDER BY c.collection, c.version, c.id LIMIT $5) c) n
      """, [.int8, .int8, .int8, .int8Array, .int8])

    static let countAll = PostgresStatement(
      "count all changes",
      """
      SELECT count(*) FROM (
        SELECT 1 FROM hearth_changes c WHERE c.database = $1 AND c.version > $2 AND c.version <= $3
        ORDER BY c.version, c.collection, c.id LIMIT $4) c
      """, [.int8, .int8, .int8, .int8])

    /// By how much the numbers of documents of collections have grown after version $2, in the order of the parameters.
    static let growth = PostgresStatement(
      "growth of collections",
      """
      SELECT r.n, g.growth FROM unnest($3) WITH ORDINALITY AS r(collection, n)
      CROSS JOIN LATERAL (
        SELECT coalesce(sum(CASE WHEN c.is_delete THEN -1 WHEN c.old_version = 0 THEN 1 ELSE 0 END), 0)::bigint AS growth
        FROM hearth_changes c
        WHERE c.database = $1 AND (c.collection, c.version) > (r.collection, $2)
          AND (c.collection, c.version) <= (r.collection, 9223372036854775807)) g
      ORDER BY r.n
      """, [.int8, .int8, .int8Array])

    /// The latest deletes of documents before versions.
    static let deletesBefore = PostgresStatement(
      "deletes before",
      """
      SELECT r.n, x.version FROM unnest($2, $3, $4) WITH ORDINALITY AS r(collection, id, version, n)
      LEFT JOIN LATERAL (
        SELECT x.version FROM hearth_changes x
        WHERE x.database = $1 AND x.collection = r.collection AND x.id = r.id AND x.is_delete AND x.version < r.version
        ORDER BY x.version DESC LIMIT 1) x ON true
      ORDER BY r.n
      """, [.int8, .int8Array, .byteaArray, .int8Array])

    // MARK: - Documents of the past

    /// The columns of ``past``.
    enum PastColumn {
      static let number = 0
      /// The version of the present document.
      static let version = 1
      static let createTime = 2
      static let fields = 3
      /// The present version of a missing document: that of its latest delete.
      static let deleted = 4
      /// The first change after the version.
      static let change = 5
      static let oldVersion = 6
      static let oldCreateTime = 7
      static let oldFields = 8
      /// The latest delete up to the version.
      static let deletedBefore = 9
    }

    private static let latestDelete = """
      SELECT x.version FROM hearth_changes x
      WHERE x.database = $1 AND x.collection = k.collection AND x.id = r.id AND x.is_delete
      """

    private static let link = "c.version, c.old_version, c.old_create_time, c.old_fields"

    /// Documents as they were at version $2, by the numbers or the hashes of their collections and their ids.
    ///
    /// The changes of a document are a chain: its present version names the latest one, and each the one before. The first change after the
    /// version holds the document as it was.
    static let past = PostgresStatement(
      "past documents",
      """
      SELECT r.n, d.version, d.create_time, CASE WHEN d.version <= $2 THEN d.fields END, x.version, f.version,
        f.old_version, f.old_create_time, f.old_fields, b.version
      FROM unnest($3, $4, $5) WITH ORDINALITY AS r(collection, hash, id, n)
      CROSS JOIN LATERAL (
        SELECT coalesce(
          r.collection, (SELECT c.number FROM hearth_collections c WHERE c.database = $1 AND c.path_hash = r.hash)
        ) AS collection LIMIT 1) k
      LEFT JOIN LATERAL (
        SELECT d.version, d.create_time, d.fields FROM hearth_documents d
        WHERE d.database = $1 AND d.collection = k.collection AND d.id = r.id LIMIT 1) d ON true
      LEFT JOIN LATERAL (
        \(latestDelete) AND d.version IS NULL ORDER BY x.version DESC LIMIT 1) x ON true
      LEFT JOIN LATERAL (
        \(latestDelete) AND x.version <= $2 AND (d.version IS NULL OR d.version > $2)
        ORDER BY x.version DESC LIMIT 1) b ON true
      LEFT JOIN LATERAL (
        WITH RECURSIVE chain AS (
          SELECT \(link) FROM hearth_changes c
          WHERE c.database = $1 AND c.version = coalesce(d.version, x.version) AND c.collection = k.collection
            AND c.id = r.id AND c.version > $2
          UNION ALL
          SELECT \(link) FROM chain p CROSS JOIN LATERAL (
            SELECT \(link) FROM hearth_changes c
            WHERE c.database = $1 AND c.collection = k.collection AND c.id = r.id AND c.version > $2
              AND c.version = CASE WHEN p.old_version > 0 THEN p.old_version ELSE (
                \(latestDelete) AND x.version < p.version ORDER BY x.version DESC LIMIT 1) END LIMIT 1) c
        )
        SELECT \(link) FROM chain c ORDER BY c.version LIMIT 1) f ON true
      ORDER BY r.n
      """, [.int8, .int8, .int8Array, .byteaArray, .byteaArray])

    /// The changes of a document after version $5, from the one at version $4 back, at most $6.
    static let chain = PostgresStatement(
      "changes of a document",
      """
      WITH RECURSIVE chain AS (
        SELECT \(link), 1::bigint AS n FROM hearth_changes c
        WHERE c.database = $1 AND c.collection = $2 AND c.id = $3 AND c.version = $4 AND c.version > $5
        UNION ALL
        SELECT \(link), p.n + 1 FROM chain p CROSS JOIN LATERAL (
          SELECT \(link) FROM hearth_changes c
          WHERE c.database = $1 AND c.collection = $2 AND c.id = $3 AND c.version > $5
            AND c.version = CASE WHEN p.old_version > 0 THEN p.old_version ELSE (
              SELECT x.version FROM hearth_changes x
              WHERE x.database = $1 AND x.collection = $2 AND x.id = $3 AND x.is_delete AND x.version < p.version
              ORDER BY x.version DESC LIMIT 1) END LIMIT 1) c
        WHERE p.n < $6
      )
      SELECT \(link) FROM chain c ORDER BY c.n
      """, [.int8, .int8, .bytea, .int8, .int8, .int8])
  }
#endif
