#if PostgreSQL
  internal import HearthPostgres

  /// The statements that read documents, entries of indexes, and collections. All of them read along an index, whatever the sizes of the
  /// tables; a test compares their plans.
  ///
  /// - `CROSS JOIN LATERAL (… LIMIT 1)` in place of a join: the planner looks up each row of the other side, and cannot decide to read a
  ///   table from front to back because it is small at the moment.
  /// - Comparisons of rows, `(a, b) > ($1, $2)`, in place of `a = $1 AND b > $2`: only the index in that order serves them.
  /// - A running sum of bytes ends a page with the document that exceeds its size. The sizes are in the heads of values, so that fields which
  ///   are not returned are not read either.
  enum ReadStatements {
    /// The direction in which ranges are read.
    enum Direction: String, Sendable, CaseIterable {
      case forward = ""
      case backward = " DESC"
    }

    /// The columns of ``documents`` and of ``entries``.
    enum Column {
      /// The number of the range, from 1 on.
      static let range = 0
      static let collection = 1
      static let id = 2
      static let version = 3
      static let createTime = 4
      static let fields = 5
      static let key = 6
      /// The column of the key in ``entryPlaces``.
      static let placeKey = 3
    }

    // MARK: - The state of a snapshot

    static let state = PostgresStatement(
      "read state",
      """
      SELECT (SELECT c.version FROM hearth_commits c WHERE c.database = $1 ORDER BY c.version DESC LIMIT 1),
        d.log_start, d.index_generation, d.index_state, \(ClusterBasis.incarnation(withVersion: "$2"))
      FROM hearth_databases d WHERE d.number = $1
      """, [.int8, .int8])

    // MARK: - Documents

    /// The number of a range's collection, which is looked up if it is not known.
    private static let collection =
      "coalesce(r.collection, (SELECT c.number FROM hearth_collections c WHERE c.database = $1 AND c.path_hash = r.hash))"

    /// Documents of ranges of ids: collections with their numbers or hashes, the ids from `lower` up to but not including `upper`.
    ///
    /// $6: at most so many of each range; $7: of all; $8: the bytes of a page.
    static func documents(_ direction: Direction) -> PostgresStatement {
      direction == .forward ? documentsForward : documentsBackward
    }

    private static let documentsForward = documentsStatement(.forward)
    private static let documentsBackward = documentsStatement(.backward)

    private static func documentsStatement(_ direction: Direction) -> PostgresStatement {
      let order = direction.rawValue
      return PostgresStatement(
        "documents \(direction)",
        """
        SELECT n, collection, id, version, create_time, fields FROM (
          SELECT r.n, d.collection, d.id, d.version, d.create_time, d.fields,
            sum(octet_length(d.fields)) OVER (ORDER BY r.n, d.id\(order) ROWS UNBOUNDED PRECEDING)
              - octet_length(d.fields) AS before
          FROM unnest($2, $3, $4, $5) WITH ORDINALITY AS r(collection, hash, lower, upper, n)
          CROSS JOIN LATERAL (
            SELECT d.collection, d.id, d.version, d.create_time, d.fields FROM hearth_documents d
            WHERE d.database = $1 AND d.collection = \(collection) AND d.id >= r.lower AND d.id < r.upper
            ORDER BY d.id\(order) LIMIT $6) d) page
        WHERE before < $8 ORDER BY n, id\(order) LIMIT $7
        """, rangeTypes + [.int8, .int8, .int8])
    }

    private static let rangeTypes: [PostgresType] = [.int8, .int8Array, .byteaArray, .byteaArray, .byteaArray]

    /// The ids of documents of ranges, without the documents; see ``documents(_:)``.
    static func ids(_ direction: Direction) -> PostgresStatement { direction == .forward ? idsForward : idsBackward }

    private static let idsForward = idsStatement(.forward)
    private static let idsBackward = idsStatement(.backward)

    private static func idsStatement(_ direction: Direction) -> PostgresStatement {
      let order = direction.rawValue
      return PostgresStatement(
        "ids \(direction)",
        """
        SELECT r.n, d.collection, d.id FROM unnest($2, $3, $4, $5) WITH ORDINALITY AS r(collection, hash, lower, upper, n)
        CROSS JOIN LATERAL (
          SELECT d.collection, d.id FROM hearth_documents d
          WHERE d.database = $1 AND d.collection = \(collection) AND d.id >= r.lower AND d.id < r.upper
          ORDER BY d.id\(order) LIMIT $6) d
        ORDER BY r.n, d.id\(order) LIMIT $7
        """, rangeTypes + [.int8, .int8])
    }

    /// Documents by the numbers of their collections and their ids, in the order of the parameters. Missing ones are left out. $4: the bytes
    /// of a page.
    static let places = PostgresStatement(
      "documents by place",
      """
      SELECT n, collection, id, version, create_time, fields FROM (
        SELECT r.n, r.collection, r.id, d.version, d.create_time, d.fields,
          sum(octet_length(d.fields)) OVER (ORDER BY r.n ROWS UNBOUNDED PRECEDING) - octet_length(d.fields) AS before
        FROM unnest($2, $3) WITH ORDINALITY AS r(collection, id, n)
        CROSS JOIN LATERAL (
          SELECT d.version, d.create_time, d.fields FROM hearth_documents d
          WHERE d.database = $1 AND d.collection = r.collection AND d.id = r.id LIMIT 1) d) page
      WHERE before < $4 ORDER BY n
      """, [.int8, .int8Array, .byteaArray, .int8])

    /// Present documents by key, with the state of the snapshot in each row. $5: the bytes of a page; documents beyond them have no row.
    static let present = PostgresStatement(
      "documents by key",
      """
      SELECT n, newest, incarnation, version, create_time, fields FROM (
        SELECT r.n, s.newest, s.incarnation, d.version, d.create_time, d.fields,
          sum(coalesce(octet_length(d.fields), 0) + 256) OVER (ORDER BY r.n ROWS UNBOUNDED PRECEDING)
            - coalesce(octet_length(d.fields), 0) - 256 AS before
        FROM (
          SELECT \(ClusterBasis.incarnation(withVersion: "$6")) AS incarnation,
            (SELECT c.version FROM hearth_commits c WHERE c.database = $1 ORDER BY c.version DESC LIMIT 1) AS newest
          FROM hearth_databases d WHERE d.number = $1) s
        CROSS JOIN unnest($2, $3, $4) WITH ORDINALITY AS r(collection, hash, id, n)
        LEFT JOIN LATERAL (
          SELECT d.version, d.create_time, d.fields FROM hearth_documents d
          WHERE d.database = $1 AND d.collection = \(collection) AND d.id = r.id LIMIT 1) d ON true) page
      WHERE before < $5 ORDER BY n
      """, [.int8, .int8Array, .byteaArray, .byteaArray, .int8, .int8])

    // MARK: - Entries of indexes

    /// Entries of ranges of keys of an index, with their documents; see ``documents(_:)``. $2: the number of the index.
    static func entries(_ direction: Direction) -> PostgresStatement {
      direction == .forward ? entriesForward : entriesBackward
    }

    private static let entriesForward = entriesStatement(.forward)
    private static let entriesBackward = entriesStatement(.backward)

    /// In an index of a collection group, the collection of all ranges is 0.
    private static let entryRangeTypes: [PostgresType] = [
      .int8, .int4, .int8Array, .byteaArray, .byteaArray, .byteaArray,
    ]

    private static func entriesStatement(_ direction: Direction) -> PostgresStatement {
      let order = direction.rawValue
      return PostgresStatement(
        "entries \(direction)",
        """
        SELECT n, target, id, version, create_time, fields, key FROM (
          SELECT r.n, e.target, e.id, e.version, e.create_time, e.fields, e.key,
            sum(octet_length(e.fields)) OVER (ORDER BY r.n, e.key\(order) ROWS UNBOUNDED PRECEDING)
              - octet_length(e.fields) AS before
          FROM unnest($3, $4, $5, $6) WITH ORDINALITY AS r(collection, hash, lower, upper, n)
          CROSS JOIN LATERAL (
            SELECT e.key, e.target, e.id, d.version, d.create_time, d.fields FROM hearth_entries e
            CROSS JOIN LATERAL (
              SELECT d.version, d.create_time, d.fields FROM hearth_documents d
              WHERE d.database = $1 AND d.collection = e.target AND d.id = e.id LIMIT 1) d
            WHERE e.database = $1 AND e.number = $2 AND e.collection = \(collection)
              AND e.key >= r.lower AND e.key < r.upper
            ORDER BY e.key\(order) LIMIT $7) e) page
        WHERE before < $9 ORDER BY n, key\(order) LIMIT $8
        """, entryRangeTypes + [.int8, .int8, .int8])
    }

    /// The documents' places and the keys of entries of ranges, without the documents.
    static let entryPlaces = PostgresStatement(
      "entries without documents",
      """
      SELECT r.n, e.target, e.id, e.key FROM unnest($3, $4, $5, $6) WITH ORDINALITY AS r(collection, hash, lower, upper, n)
      CROSS JOIN LATERAL (
        SELECT e.key, e.target, e.id FROM hearth_entries e
        WHERE e.database = $1 AND e.number = $2 AND e.collection = \(collection) AND e.key >= r.lower AND e.key < r.upper
        ORDER BY e.key LIMIT $7) e
      ORDER BY r.n, e.key LIMIT $8
      """, entryRangeTypes + [.int8, .int8])

    /// The number of entries of ranges.
    static let entryCount = PostgresStatement(
      "count entries",
      """
      SELECT coalesce(sum(e.count), 0)::bigint FROM unnest($3, $4, $5, $6) AS r(collection, hash, lower, upper)
      CROSS JOIN LATERAL (
        SELECT count(*) AS count FROM hearth_entries e
        WHERE e.database = $1 AND e.number = $2 AND e.collection = \(collection)
          AND e.key >= r.lower AND e.key < r.upper) e
      """, entryRangeTypes)

    // MARK: - Collections

    /// Collections by the hashes of their paths.
    static let collectionsByHash = PostgresStatement(
      "collections by hash",
      """
      SELECT c.number, c.path, c.documents FROM unnest($2) AS r(hash)
      CROSS JOIN LATERAL (
        SELECT c.number, c.path, c.documents FROM hearth_collections c
        WHERE c.database = $1 AND c.path_hash = r.hash LIMIT 1) c
      """, [.int8, .byteaArray])

    static let collectionsByNumber = PostgresStatement(
      "collections by number",
      """
      SELECT c.number, c.path, c.documents FROM unnest($2) AS r(number)
      CROSS JOIN LATERAL (
        SELECT c.number, c.path, c.documents FROM hearth_collections c
        WHERE c.database = $1 AND c.number = r.number LIMIT 1) c
      """, [.int8, .int8Array])

    /// The collections of a group whose documents there are, in the order of paths, behind ($3, $4) and before $5.
    static let groupForward = PostgresStatement(
      "collections of group",
      """
      SELECT number, path, documents FROM hearth_collections
      WHERE database = $1 AND group_id = $2 AND (path_order, number) > ($3, $4) AND path_order < $5 AND documents > 0
      ORDER BY path_order, number LIMIT $6
      """, [.int8, .bytea, .bytea, .int8, .bytea, .int8])

    /// The same backward: before ($3, $4), and not before $5.
    static let groupBackward = PostgresStatement(
      "collections of group backward",
      """
      SELECT number, path, documents FROM hearth_collections
      WHERE database = $1 AND group_id = $2 AND (path_order, number) < ($3, $4) AND path_order >= $5 AND documents > 0
      ORDER BY path_order DESC, number DESC LIMIT $6
      """, [.int8, .bytea, .bytea, .int8, .bytea, .int8])

    /// The collections of all groups, as ``groupForward``.
    static let allForward = PostgresStatement(
      "collections",
      """
      SELECT number, path, documents FROM hearth_collections
      WHERE database = $1 AND (path_order, number) > ($2, $3) AND path_order < $4 AND documents > 0
      ORDER BY path_order, number LIMIT $5
      """, [.int8, .bytea, .int8, .bytea, .int8])

    static let allBackward = PostgresStatement(
      "collections backward",
      """
      SELECT number, path, documents FROM hearth_collections
      WHERE database = $1 AND (path_order, number) < ($2, $3) AND path_order >= $4 AND documents > 0
      ORDER BY path_order DESC, number DESC LIMIT $5
      """, [.int8, .bytea, .int8, .bytea, .int8])

    /// Collections of all groups with at least $5 documents, behind ($2, $3) and before $4.
    static let below = PostgresStatement(
      "collections below",
      """
      SELECT number, path, documents FROM hearth_collections
      WHERE database = $1 AND (path_order, number) > ($2, $3) AND path_order < $4 AND documents >= $5
      ORDER BY path_order, number LIMIT $6
      """, [.int8, .bytea, .int8, .bytea, .int8, .int8])

    /// Ids of a collection from $3 on: of the next $6 ids those whose position, counted from 0, is $4 or a multiple of $5 more, and the last of
    /// them. With their positions, counted from 1.
    static let samples = PostgresStatement(
      "sample ids",
      """
      SELECT i.id, i.position FROM (
        SELECT i.id, row_number() OVER (ORDER BY i.id) AS position FROM (
          SELECT id FROM hearth_documents WHERE database = $1 AND collection = $2 AND id >= $3 ORDER BY id LIMIT $6) i) i
      WHERE i.position = $6 OR (i.position > $4 AND (i.position - 1 - $4) % $5 = 0)
      ORDER BY i.id
      """, [.int8, .int8, .bytea, .int8, .int8, .int8])

    /// The collections of a group, also those without documents.
    static let groupMembers = PostgresStatement(
      "members of group",
      """
      SELECT number, path, documents FROM hearth_collections
      WHERE database = $1 AND group_id = $2 AND path_order >= $3 AND path_order < $4
      ORDER BY path_order, number LIMIT $5
      """, [.int8, .bytea, .bytea, .bytea, .int8])

    /// The number of collections of a group with documents, and of these.
    static let groupTotals = PostgresStatement(
      "size of group",
      """
      SELECT count(*), coalesce(sum(documents), 0)::bigint FROM hearth_collections
      WHERE database = $1 AND group_id = $2 AND path_order >= $3 AND path_order < $4 AND documents > 0
      """, [.int8, .bytea, .bytea, .bytea])

    static let allTotals = PostgresStatement(
      "size of all collections",
      """
      SELECT count(*), coalesce(sum(documents), 0)::bigint FROM hearth_collections
      WHERE database = $1 AND path_order >= $2 AND path_order < $3 AND documents > 0
      """, [.int8, .bytea, .bytea])
  }
#endif
