#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  /// The reads of a group of commits under the lock of its database: the calls of one pipeline, and their results.
  struct GroupReads {
    /// The number of the database under whose lock the group is committed.
    let database: Int64
    let databaseID: DatabaseID
    let keys: [DocumentKey]
    /// The part of them that only requests with a guard name. Fewer bytes of it are read at once: the guard may have no need of them.
    let guardedKeys: Set<DocumentKey>
    let labels: [RequestLabel]
    let ends: [TransactionEnd]
    let clock: ClusterClock

    /// The results.
    struct Found {
      var order: ClusterOrder.State
      /// When the calls were sent, in microseconds that have elapsed: before ``ClusterOrder/State/time``.
      var sent: Int64
      /// The number of a database that was created since it was looked for, and the highest number of all. Only read under the lock of the
      /// empty database.
      var creation: (number: Int64?, highest: Int64)?
      /// The documents of ``keys``, found or missing. Those that were too much to be read at once are not complete.
      var documents: [DocumentKey: DocumentReads.Head] = [:]
      /// The numbers of the collections of ``keys``.
      var collections: [ResourcePath: Int64] = [:]
      var highestCollection: Int64 = 0
      var responses: [RequestLabel: [UInt8]] = [:]
      /// The transactions that have a row, and the answers to the checks of what they have read.
      var transactions: TransactionFindings = .init()
      /// The open pessimistic transactions that may have read documents of ``keys``.
      var readers = WoundWait()
    }

    /// Documents beyond so many bytes are read one by one when they are needed.
    private static let bytesAtOnce: Int64 = 8 << 20
    /// The same for documents of requests with a guard: as many as one document may have.
    static let bytesForGuards = Int64(DocumentLimits.maximumDocumentBytes)

    private var paths: [ResourcePath] { Array(Set(keys.map(\.collectionPath))) }

    /// Begins the transaction, takes the lock and reads.
    ///
    /// - Throws: As ``ClusterBasis/check(_:_:on:)``.
    func run(on session: PostgresSession, since basis: ClusterBasis) throws -> Found {
      let (keys, paths) = (keys, paths)
      var calls = [.begin] + ClusterOrder.calls(database)
      var next = calls.count
      func add(_ call: PostgresCall) -> Int {
        calls.append(call)
        defer { next += 1 }
        return next
      }
      let creation =
        database == ClusterSchema.emptyDatabase
        ? (add(Self.find(databaseID)), add(Self.highestDatabase.call())) : nil
      let collections = add(
        Self.collections.call(.int8(database), .byteaArray(paths.map(ClusterNames.pathHash))))
      let highest = add(Self.highestCollection.call(.int8(database)))
      let documents = [
        (keys: keys.filter { !guardedKeys.contains($0) }, bytes: Self.bytesAtOnce),
        (keys: keys.filter { guardedKeys.contains($0) }, bytes: Self.bytesForGuards),
      ].filter { !$0.keys.isEmpty }.map { part in
        (keys: part.keys, call: add(Self.documents(part.keys, in: database, bytes: part.bytes)))
      }
      let readers = add(TransactionReaders.call(for: keys, in: databaseID))
      let responses = labels.isEmpty ? nil : add(Self.responses(labels, in: database))
      let checks = ends.map { end in end.calls(in: database).map { add($0) } }

      let sent = clock.node.elapsedMicroseconds
      let results = try session.run(calls)
      if results[1].isEmpty || results[2].isEmpty { try basis.check(nil, nil, on: session) }
      var found = Found(order: try ClusterOrder.state(results[1...]), sent: sent)
      try basis.check(found.order.latest, found.order.incarnation, on: session)
      if let creation {
        found.creation = (try results[creation.0].first?.int64(0), try results[creation.1].only().int64(0))
      }
      for row in results[collections] {
        if let number = try row.optionalInt64(1) { found.collections[paths[try Self.index(row, of: paths)]] = number }
      }
      found.highestCollection = try results[highest].first?.int64(0) ?? 0
      for part in documents {
        for row in results[part.call] {
          let head = try Self.head(row, of: part.keys, missingAt: found.order.latest)
          found.documents[head.document.key] = head
        }
      }
      if let responses {
        for row in results[responses] {
          if let response = try row.optionalBytes(1) {
            found.responses[labels[try Self.index(row, of: labels)]] = response
          }
        }
      }
      found.readers = try TransactionReaders.rule(
        results[readers], keys: keys, in: databaseID, at: clock.leaseTime(server: found.order.time))
      for (end, indices) in zip(ends, checks) {
        try found.transactions.note(end, indices.map { results[$0] }, logStart: found.order.logStart)
      }
      return found
    }

    // MARK: - Statements

    /// Looks for the number of a database.
    static func find(_ id: DatabaseID) -> PostgresCall {
      findDatabase.call(.bytea(Array(id.projectID.utf8)), .bytea(Array(id.database.utf8)))
    }

    /// Reads the present documents of some keys.
    ///
    /// - Parameter bytes: The sizes of documents are added up in the order of the keys; those beyond the limit are without fields.
    static func documents(_ keys: [DocumentKey], in database: Int64, bytes: Int64) -> PostgresCall {
      documents.call(
        .int8(database), .byteaArray(keys.map { ClusterNames.pathHash($0.collectionPath) }),
        .byteaArray(keys.map { ClusterNames.idBytes($0.id) }), .int8(bytes))
    }

    /// The document of a row of ``documents(_:in:bytes:)``, found or missing.
    static func head(
      _ row: PostgresRow, of keys: [DocumentKey], missingAt latest: SnapshotVersion
    ) throws -> DocumentReads.Head {
      let key = keys[try index(row, of: keys)]
      guard let version = try row.optionalVersion(1) else {
        return DocumentReads.Head(document: .missing(key, version: latest), isComplete: true)
      }
      let fields = try row.optionalBytes(3)
      let document = Document.found(
        key, version: version, createTime: try row.version(2), fields: EncodedFields(uncheckedBytes: fields ?? []))
      return DocumentReads.Head(document: document, isComplete: fields != nil)
    }

    /// The index of the element that a row is for: its first column counts from 1.
    private static func index(_ row: PostgresRow, of elements: [some Any]) throws -> Int {
      let index = Int(try row.int64(0)) - 1
      guard elements.indices.contains(index) else {
        throw PostgresError(.badResult, "A row is for element \(index) of \(elements.count).")
      }
      return index
    }

    private static func responses(_ labels: [RequestLabel], in database: Int64) -> PostgresCall {
      responses.call(
        .int8(database), .byteaArray(labels.map { $0.label.identity.bytes }), .byteaArray(labels.map(\.digest)))
    }

    private static let findDatabase = PostgresStatement(
      "find database", "SELECT number, incarnation FROM hearth_databases WHERE project = $1 AND name = $2",
      [.bytea, .bytea])

    static let highestDatabase = PostgresStatement(
      "highest database", "SELECT number FROM hearth_databases ORDER BY number DESC LIMIT 1")

    private static let collections = PostgresStatement(
      "collections of a group",
      """
      SELECT k.position, c.number FROM unnest($2::bytea[]) WITH ORDINALITY AS k (hash, position)
      LEFT JOIN LATERAL (
        SELECT number FROM hearth_collections WHERE database = $1 AND path_hash = k.hash LIMIT 1) c ON true
      """, [.int8, .byteaArray])

    private static let highestCollection = PostgresStatement(
      "highest collection",
      "SELECT number FROM hearth_collections WHERE database = $1 ORDER BY number DESC LIMIT 1", [.int8])

    private static let documents = PostgresStatement(
      "documents of a group",
      """
      SELECT k.position, d.version, d.create_time,
        CASE WHEN sum(octet_length(d.fields)) OVER (ORDER BY k.position) <= $4 THEN d.fields END
      FROM unnest($2::bytea[], $3::bytea[]) WITH ORDINALITY AS k (hash, id, position)
      LEFT JOIN LATERAL (
        SELECT number FROM hearth_collections WHERE database = $1 AND path_hash = k.hash LIMIT 1) c ON true
      LEFT JOIN LATERAL (
        SELECT version, create_time, fields FROM hearth_documents
        WHERE database = $1 AND collection = c.number AND id = k.id LIMIT 1) d ON true
      """, [.int8, .byteaArray, .byteaArray, .int8])

    private static let responses = PostgresStatement(
      "responses of a group",
      """
      SELECT k.position, r.response FROM unnest($2::bytea[], $3::bytea[]) WITH ORDINALITY AS k (identity, digest, position)
      LEFT JOIN LATERAL (
        SELECT response FROM hearth_batch_responses
        WHERE database = $1 AND identity = k.identity AND digest = k.digest LIMIT 1) r ON true
      """, [.int8, .byteaArray, .byteaArray])
  }
#endif
