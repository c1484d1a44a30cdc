#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres
  internal import Synchronization

  extension ClusterStorage {
    /// One commit of any size, in steps of bounded memory. The commits of all nodes wait for it, or fail with UNAVAILABLE after some seconds.
    func clear(_ place: ResourcePath) async throws(StatusError) {
      try requireOpen()
      let clearing = Clearing(storage: self, place: place, mark: engine.mark())
      do {
        let version = try await engine.commits.withSession(deadline: .now + Clearing.maximumTime) { session in
          try clearing.run(in: self.knownNow(on: session).number, on: session)
        }
        guard let version else { return }
        engine.hints.announce(version, of: known.number)
        try await tail.advance(to: version, of: self)
      } catch {
        throw commitFailure(error)
      }
    }
  }

  /// Deletes everything below a place, on the thread of a session that holds the order row.
  private struct Clearing: Sendable {
    let storage: ClusterStorage
    let place: ResourcePath
    let mark: CommitMark

    static let maximumTime = Duration.seconds(120)
    /// Documents and bytes that are in memory at a time.
    private static let step = (documents: Int64(500), bytes: Int64(4 << 20))
    private static let collectionsAtOnce: Int64 = 200

    /// - Returns: The version of the commit; nil if there was nothing to delete.
    func run(in database: Int64, on session: PostgresSession) throws -> SnapshotVersion? {
      let basis = storage.basis(database)
      let order = try ClusterOrder.begin(database, on: session)
      try basis.check(order.latest, order.incarnation, on: session)
      let definitions = try storage.indexes.definitions(
        of: database, on: session, state: order.indexState, generation: order.indexGeneration)
      try definitions.requireKnown()
      let version = try GroupEvaluation.firstVersion(
        after: order.latest, seen: storage.engine.history.seen(of: database),
        time: storage.engine.clock.time(server: order.time))
      var historyBytes: Int64 = 0
      if let key = try? DocumentKey(place) {
        let rows = try session.run(GroupReads.documents([key], in: database, bytes: .max))
        let document = try rows.first.map { try GroupReads.head($0, of: [key], missingAt: order.latest).document }
        let number = try session.run(
          Self.collection.call(.int8(database), .bytea(ClusterNames.pathHash(key.collectionPath))))
        if let document, document.isFound, let number = try number.first?.int64(0) {
          historyBytes += try remove([document], at: version, in: number, of: database, definitions, on: session)
        }
      }
      var last: (order: [UInt8], number: Int64)? = ([], 0)
      while let position = last {
        let rows = try session.run(collections(of: database, after: position))
        for row in rows {
          let path = try ClusterNames.collection(of: row.bytes(1))
          if place.isPrefix(of: path) {
            historyBytes += try removeAll(
              of: path, try row.int64(0), at: version, in: database, definitions, on: session)
          }
        }
        last = try rows.last.map { (try $0.bytes(2), try $0.int64(0)) }
      }
      var calls = [Self.abort.call(.bytea(ClusterNames.placeHash(storage.databaseID)))]
      if place.isEmpty { calls.append(Self.forget.call(.int8(database))) }
      if historyBytes > 0 { calls.append(ClusterOrder.append(version, to: database, by: mark, bytes: historyBytes)) }
      _ = try session.run(calls + order.commit(on: storage.engine.location))
      guard historyBytes > 0 else { return nil }
      storage.engine.history.note(version, of: database, in: basis.incarnation)
      return version
    }

    private func collections(of database: Int64, after position: (order: [UInt8], number: Int64)) -> PostgresCall {
      let prefix = ClusterNames.pathOrder(place)
      let end = OrderedValueWriter.end(of: prefix) ?? [0xFF]
      return Self.collections.call(
        .int8(database), .bytea(position.order.isEmpty ? prefix : position.order),
        .int8(position.number), .bytea(end), .int8(Self.collectionsAtOnce))
    }

    /// - Returns: The bytes that the history grows by.
    private func removeAll(
      of path: ResourcePath, _ collection: Int64, at version: SnapshotVersion, in database: Int64,
      _ definitions: ClusterDefinitions, on session: PostgresSession
    ) throws -> Int64 {
      var historyBytes: Int64 = 0
      while true {
        let documents = try session.run(
          Self.documents.call(
            .int8(database), .int8(collection), .int8(Self.step.documents), .int8(Self.step.bytes))
        ).map { row in
          let id = try ClusterNames.id(of: row.bytes(0), in: "hearth_documents")
          return Document.found(
            try DocumentKey(path.appending(id)), version: try row.version(1),
            createTime: try row.version(2),
            fields: EncodedFields(uncheckedBytes: try row.bytes(3)))
        }
        guard !documents.isEmpty else { return historyBytes }
        historyBytes += try remove(documents, at: version, in: collection, of: database, definitions, on: session)
      }
    }

    private func remove(
      _ documents: [Document], at version: SnapshotVersion, in collection: Int64, of database: Int64,
      _ definitions: ClusterDefinitions, on session: PostgresSession
    ) throws -> Int64 {
      var writes = GroupWrites(database: database)
      for document in documents {
        let transition = DocumentTransition(before: document, after: .missing(document.key, version: version))
        writes.log(transition, at: version, in: collection, isFirst: true)
        writes.store(transition, in: collection, definitions.changes(of: transition, collection: collection))
      }
      _ = try session.run(writes.calls(by: storage.translator))
      return writes.historyBytes
    }

    private static let collection = PostgresStatement(
      "number of a collection", "SELECT number FROM hearth_collections WHERE database = $1 AND path_hash = $2",
      [.int8, .bytea])

    private static let collections = PostgresStatement(
      "collections to clear",
      """
      SELECT number, path, path_order FROM hearth_collections
      WHERE database = $1 AND (path_order, number) > ($2, $3) AND path_order < $4 AND documents > 0
      ORDER BY path_order, number LIMIT $5
      """, [.int8, .bytea, .int8, .bytea, .int8])

    /// The first ones that are left. The bytes end a page early, after one document at least.
    private static let documents = PostgresStatement(
      "documents to clear",
      """
      SELECT id, version, create_time, fields FROM (
        SELECT id, version, create_time, fields, sum(octet_length(fields)) OVER (ORDER BY id) - octet_length(fields) AS bytes
        FROM (
          SELECT id, version, create_time, fields FROM hearth_documents WHERE database = $1 AND collection = $2
          ORDER BY id LIMIT $3
        ) AS first
      ) AS summed WHERE bytes < $4 ORDER BY id
      """, [.int8, .int8, .int8, .int8])

    private static let abort = PostgresStatement(
      "abort transactions", "UPDATE hearth_transactions SET state = 2 WHERE place = $1 AND state = 0 AND mode <> 1",
      [.bytea])

    private static let forget = PostgresStatement(
      "forget responses", "DELETE FROM hearth_batch_responses WHERE database = $1", [.int8])
  }
#endif
