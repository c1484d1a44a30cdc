#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import HearthWire

  /// Finds the open pessimistic transactions that may have read what a group of commits changes.
  ///
  /// A row of `hearth_reads` of a pessimistic transaction has a `lock_key`: the hash of a document's name, or of the id of the collections
  /// that a query reads. It counts as long as the transaction is open, and its era lasts (``TransactionEra``). Rows are added and looked for
  /// under the lock of the database: so none is added between the look of a group and its end.
  enum TransactionReaders {
    /// The key of a read. Keys of different databases differ.
    static func lockKey(of key: DocumentKey, in place: [UInt8]) -> [UInt8] {
      lockKey(.document, key.canonicalString, place)
    }

    static func lockKey(of query: Query, in place: [UInt8]) -> [UInt8] {
      lockKey(.query, query.changingCollectionID, place)
    }

    private static func lockKey(_ kind: TransactionRead.Kind, _ name: String, _ place: [UInt8]) -> [UInt8] {
      ClusterNames.hash(place + [UInt8(kind.rawValue)] + Array(name.utf8))
    }

    // MARK: - Reading

    /// Reads the transactions and their reads: one row for each read that concerns one of the documents, or may do so.
    static func call(for keys: [DocumentKey], in database: DatabaseID) -> PostgresCall {
      let place = ClusterNames.placeHash(database)
      let collections = Set(keys.flatMap(\.queriedCollectionIDs)).sorted()
      let locks =
        keys.map { lockKey(of: $0, in: place) } + collections.map { lockKey(.query, $0, place) }
      return find.call(.byteaArray(locks))
    }

    /// - Parameters:
    ///   - rows: The result of ``call(for:in:)`` with the same keys.
    ///   - time: By which leases are judged.
    /// - Throws: DATA_LOSS for a row that is not readable.
    static func rule(
      _ rows: PostgresRows, keys: [DocumentKey], in database: DatabaseID, at time: Int64
    ) throws -> WoundWait {
      var rule = WoundWait()
      // Many transactions may have read the same query.
      var queries: [[UInt8]: Query] = [:]
      for row in rows {
        let (id, index) = (try row.bytes(1), Int(try row.int64(0)) - 1)
        let isLost = TransactionID.era(of: id) != (try row.optionalInt64(6))
        rule.add(
          id, Seniority(time: try row.int64(3), number: try row.int64(4)),
          isExpired: try isLost || row.int64(5) <= time)
        if let content = try row.optionalBytes(2) {
          let query = try queries[content] ?? TransactionRead.query(in: content, database)
          queries[content] = query
          rule.add(query, readBy: id)
        } else if keys.indices.contains(index) {
          rule.add(keys[index], readBy: id)
        }
      }
      return rule
    }

    private static let find = PostgresStatement(
      "readers of a group",
      """
      SELECT k.position, r.transaction, r.content, t.seniority_time, t.seniority_number, t.expiry,
        (\(TransactionEra.query))
      FROM unnest($1::bytea[]) WITH ORDINALITY AS k (key, position)
      CROSS JOIN LATERAL (
        SELECT transaction, CASE WHEN kind = \(TransactionRead.Kind.query.rawValue) THEN content END AS content
        FROM hearth_reads WHERE lock_key = k.key OFFSET 0) r
      CROSS JOIN LATERAL (
        SELECT seniority_time, seniority_number, expiry FROM hearth_transactions
        WHERE id = r.transaction AND state = 0 LIMIT 1) t
      """, [.byteaArray])

    // MARK: - Ending

    /// The calls that end transactions in the way of commits, under the lock of the database.
    static func stop(_ ended: WoundWait.Ended) -> [PostgresCall] {
      calls(stopping: ended.wounded, .wounded) + calls(stopping: ended.expired, .expired)
    }

    private static func calls(stopping ids: Set<WoundWait.ID>, _ state: TransactionRow.State) -> [PostgresCall] {
      ids.sorted { $0.lexicographicallyPrecedes($1) }.flatMap { id in
        [stop.call(.bytea(id), .int2(state.rawValue)), TransactionRead.remove.call(.bytea(id))]
      }
    }

    private static let stop = PostgresStatement(
      "stop transaction", "UPDATE hearth_transactions SET state = $2 WHERE id = $1 AND state = 0", [.bytea, .int2])
  }
#endif
