#if PostgreSQL
  internal import HearthPostgres

  /// The statements that change definitions of indexes and fill them, under the order row.
  enum IndexStatements {
    static let insert = PostgresStatement(
      "add index",
      """
      INSERT INTO hearth_indexes
        (database, number, state, origin, group_id, fields, filled_collection, filled_id, latest_use)
      VALUES ($1, $2, 1, $3, $4, $5, 0, '', $6)
      """, [.int8, .int4, .int2, .bytea, .bytea, .int8])

    static let setState = PostgresStatement(
      "change state of index", "UPDATE hearth_indexes SET state = $3 WHERE database = $1 AND number = $2",
      [.int8, .int4, .int2])

    static let setOrigin = PostgresStatement(
      "change origin of index", "UPDATE hearth_indexes SET origin = $3 WHERE database = $1 AND number = $2",
      [.int8, .int4, .int2])

    /// Null: the index holds all documents.
    static let setMark = PostgresStatement(
      "set mark of index",
      "UPDATE hearth_indexes SET filled_collection = $3, filled_id = $4 WHERE database = $1 AND number = $2",
      [.int8, .int4, .int8, .bytea])

    static let setUse = PostgresStatement(
      "note use of index",
      "UPDATE hearth_indexes SET latest_use = $3 WHERE database = $1 AND number = $2 AND latest_use < $3",
      [.int8, .int4, .int8])

    static let declaredFile = PostgresStatement(
      "declared index file", "SELECT read_time, node, node_name FROM hearth_index_files WHERE database = $1", [.int8])

    static let setDeclaredFile = PostgresStatement(
      "set declared index file",
      """
      INSERT INTO hearth_index_files (database, read_time, node, node_name) VALUES ($1, $2, $3, $4)
      ON CONFLICT (database) DO UPDATE
        SET read_time = excluded.read_time, node = excluded.node, node_name = excluded.node_name
      """, [.int8, .int8, .int8, .bytea])

    /// $2: by how much the generation rises.
    static let nextState = PostgresStatement(
      "next state of indexes",
      """
      UPDATE hearth_databases SET index_state = index_state + 1, index_generation = index_generation + $2
      WHERE number = $1
      """, [.int8, .int8])

    /// Entries that commits have written already stay.
    static let addEntries = PostgresStatement(
      "fill entries",
      """
      INSERT INTO hearth_entries (database, number, collection, key, target, id)
      SELECT $1, e.number, e.collection, e.key, e.target, e.id
      FROM unnest($2, $3, $4, $5, $6) AS e(number, collection, key, target, id)
      ON CONFLICT DO NOTHING
      """, [.int8, .int4Array, .int8Array, .byteaArray, .int8Array, .byteaArray])

    /// The last one of the first $3 entries of an index and one more; none if there are not so many.
    static let entryBound = PostgresStatement(
      "bound of entries",
      """
      SELECT collection, key FROM hearth_entries WHERE database = $1 AND number = $2
      ORDER BY collection, key LIMIT 1 OFFSET $3
      """, [.int8, .int4, .int8])

    /// Removes the entries of an index up to one.
    static let removeEntries = PostgresStatement(
      "remove entries",
      "DELETE FROM hearth_entries WHERE database = $1 AND number = $2 AND (collection, key) <= ($3, $4)",
      [.int8, .int4, .int8, .bytea])

    static let remove = PostgresStatement(
      "remove index",
      """
      DELETE FROM hearth_indexes WHERE database = $1 AND number = $2 AND state = 2 AND NOT EXISTS (
        SELECT 1 FROM hearth_entries e WHERE e.database = $1 AND e.number = $2)
      """, [.int8, .int4])
  }
#endif
