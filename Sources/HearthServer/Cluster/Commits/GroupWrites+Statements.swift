#if PostgreSQL
  internal import HearthPostgres

  /// Statements over arrays of rows. PostgreSQL keeps the plan of a small table when the table has grown, so no statement leaves it a choice:
  /// `LATERAL (… LIMIT 1)` looks up each element of the array by its whole key, where a join may read the table. A DELETE can look up its
  /// rows in this way only by their `ctid`. A `ctid` is stable, because every session that changes rows of the database holds its order row.
  extension GroupWrites {
    /// Adds new collections, and the growth of the number of documents to all.
    static let growCollections = PostgresStatement(
      "grow collections",
      """
      INSERT INTO hearth_collections (database, number, path, path_hash, path_order, group_id, documents)
      SELECT $1, c.number, c.path, c.path_hash, c.path_order, c.group_id, c.growth
      FROM unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bigint[])
        AS c (number, path, path_hash, path_order, group_id, growth)
      ON CONFLICT (database, number) DO UPDATE SET documents = hearth_collections.documents + excluded.documents
      """, [.int8, .int8Array, .byteaArray, .byteaArray, .byteaArray, .byteaArray, .int8Array])

    static let logFirstChanges = PostgresStatement(
      "log first changes",
      """
      INSERT INTO hearth_changes
        (database, version, collection, id, is_delete, old_version, old_create_time, old_fields)
      SELECT $1, c.version, c.collection, c.id, c.is_delete, coalesce(d.version, 0), coalesce(d.create_time, 0), d.fields
      FROM unnest($2::bigint[], $3::bytea[], $4::bigint[], $5::boolean[]) AS c (collection, id, version, is_delete)
      LEFT JOIN LATERAL (
        SELECT version, create_time, fields FROM hearth_documents
        WHERE database = $1 AND collection = c.collection AND id = c.id LIMIT 1) d ON true
      """, [.int8, .int8Array, .byteaArray, .int8Array, .boolArray])

    static let logLaterChanges = PostgresStatement(
      "log later changes",
      """
      INSERT INTO hearth_changes
        (database, version, collection, id, is_delete, old_version, old_create_time, old_fields)
      SELECT $1, c.version, c.collection, c.id, c.is_delete, c.old_version, c.old_create_time, c.old_fields
      FROM unnest($2::bigint[], $3::bytea[], $4::bigint[], $5::boolean[], $6::bigint[], $7::bigint[], $8::bytea[])
        AS c (collection, id, version, is_delete, old_version, old_create_time, old_fields)
      """, [.int8, .int8Array, .byteaArray, .int8Array, .boolArray, .int8Array, .int8Array, .byteaArray])

    static let deleteDocuments = PostgresStatement(
      "delete documents",
      """
      DELETE FROM hearth_documents WHERE ctid = ANY (ARRAY(
        SELECT d.ctid FROM unnest($2::bigint[], $3::bytea[]) AS k (collection, id)
        CROSS JOIN LATERAL (
          SELECT ctid FROM hearth_documents
          WHERE database = $1 AND collection = k.collection AND id = k.id LIMIT 1) d))
      """, [.int8, .int8Array, .byteaArray])

    static let storeDocuments = PostgresStatement(
      "store documents",
      """
      INSERT INTO hearth_documents (database, collection, id, version, create_time, fields)
      SELECT $1, d.collection, d.id, d.version, d.create_time, d.fields
      FROM unnest($2::bigint[], $3::bytea[], $4::bigint[], $5::bigint[], $6::bytea[])
        AS d (collection, id, version, create_time, fields)
      ON CONFLICT (database, collection, id) DO UPDATE
      SET version = excluded.version, create_time = excluded.create_time, fields = excluded.fields
      """, [.int8, .int8Array, .byteaArray, .int8Array, .int8Array, .byteaArray])

    static let removeEntries = PostgresStatement(
      "remove entries",
      """
      DELETE FROM hearth_entries WHERE ctid = ANY (ARRAY(
        SELECT e.ctid FROM unnest($2::int[], $3::bigint[], $4::bytea[]) AS k (number, collection, key)
        CROSS JOIN LATERAL (
          SELECT ctid FROM hearth_entries
          WHERE database = $1 AND number = k.number AND collection = k.collection AND key = k.key LIMIT 1) e))
      """, [.int8, .int4Array, .int8Array, .byteaArray])

    static let addEntries = PostgresStatement(
      "add entries",
      """
      INSERT INTO hearth_entries (database, number, collection, key, target, id)
      SELECT $1, e.number, e.collection, e.key, e.target, e.id
      FROM unnest($2::int[], $3::bigint[], $4::bytea[], $5::bigint[], $6::bytea[])
        AS e (number, collection, key, target, id)
      ON CONFLICT (database, number, collection, key) DO NOTHING
      """, [.int8, .int4Array, .int8Array, .byteaArray, .int8Array, .byteaArray])

    static let saveResponses = PostgresStatement(
      "save responses",
      """
      INSERT INTO hearth_batch_responses (database, identity, digest, client, of_many, version, response)
      SELECT $1, r.identity, r.digest, r.client, r.of_many, r.version, r.response
      FROM unnest($2::bytea[], $3::bytea[], $4::bigint[], $5::boolean[], $6::bigint[], $7::bytea[])
        AS r (identity, digest, client, of_many, version, response)
      """, [.int8, .byteaArray, .byteaArray, .int8Array, .boolArray, .int8Array, .byteaArray])
  }
#endif
