#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  /// Documents by key, in order: found ones, and missing ones.
  struct ClusterDocuments {
    var documents: [Document]
    /// The present of the snapshot that they were read in.
    var version: SnapshotVersion
  }

  extension ClusterReader {
    /// The first of some present documents, as many as a page has bytes for, with one statement.
    ///
    /// - Parameter bytes: The page ends with the document that exceeds them.
    func presentDocuments(
      _ keys: some Collection<DocumentKey>, bytes: Int, on session: PostgresSession
    ) throws -> ClusterDocuments {
      let (rows, version) = try presentRows(keys, bytes: bytes, on: session)
      return ClusterDocuments(documents: try documents(keys, rows, at: version), version: version)
    }

    /// The same for readers that have nothing to do with each other: a damaged document is an error of its own readers only.
    func presentDocumentsEach(
      _ keys: [DocumentKey], bytes: Int, on session: PostgresSession
    ) throws -> [Result<QueryAnswer, any Error>] {
      let (rows, version) = try presentRows(keys, bytes: bytes, on: session)
      return zip(keys, rows).map { key, row in
        Result {
          QueryAnswer(
            documents: [try document(key, row, at: version).read(at: version)], readVersion: version, execution: nil)
        }
      }
    }

    private func presentRows(
      _ keys: some Collection<DocumentKey>, bytes: Int, on session: PostgresSession
    ) throws -> (PostgresRows, SnapshotVersion) {
      let rows = try session.run(presentCall(keys, bytes: bytes))
      let newest = try rows.first?.optionalVersion(1)
      try basis.check(newest, rows.first?.optionalBytes(2), on: session)
      guard let version = newest else {
        throw ClusterSnapshot.damaged("hearth_databases or hearth_commits has no row of database \(database)")
      }
      try requireRows(rows, of: keys)
      return (rows, version)
    }

    fileprivate func presentCall(_ keys: some Collection<DocumentKey>, bytes: Int) -> PostgresCall {
      let places = places(of: keys)
      return ReadStatements.present.call(
        .int8(database), places.numbers, places.hashes, places.ids, .int8(Int64(bytes)), basis.seenParameter)
    }

    fileprivate func places(
      of keys: some Collection<DocumentKey>
    ) -> (numbers: PostgresValue, hashes: PostgresValue, ids: PostgresValue) {
      let numbers = keys.map { collections.number(of: $0.collectionPath) }
      let hashes = zip(keys, numbers).map { $1 == nil ? ClusterNames.pathHash($0.collectionPath) : [] }
      return (
        .nullableInt8Array(numbers), .byteaArray(hashes), .byteaArray(keys.map { ClusterNames.idBytes($0.id) })
      )
    }

    /// - Parameter version: That of documents that are missing.
    fileprivate func documents(
      _ keys: some Collection<DocumentKey>, _ rows: PostgresRows, at version: SnapshotVersion
    ) throws -> [Document] {
      try requireRows(rows, of: keys)
      return try zip(keys, rows).map { key, row in try document(key, row, at: version) }
    }

    private func requireRows(_ rows: PostgresRows, of keys: some Collection<DocumentKey>) throws(StatusError) {
      guard rows.count <= keys.count else {
        throw ClusterSnapshot.damaged("\(keys.count) keys have \(rows.count) rows")
      }
    }

    private func document(_ key: DocumentKey, _ row: PostgresRow, at version: SnapshotVersion) throws -> Document {
      guard let found = try row.optionalVersion(3) else { return .missing(key, version: version) }
      return .found(key, version: found, createTime: try row.version(4), fields: try fields(row.bytes(5), of: key))
    }

    private func fields(_ bytes: [UInt8], of key: DocumentKey) throws -> EncodedFields {
      do throws(WireFormatError) {
        return try EncodedFields(validating: bytes)
      } catch {
        throw ClusterSnapshot.damaged("table hearth_documents, \(key): fields are malformed: \(error)")
      }
    }
  }

  extension ClusterSnapshot {
    /// The keys of one statement.
    private static let keysAtOnce = 200

    /// Present documents, one for each key, in order.
    func presentDocuments(_ keys: [DocumentKey]) throws -> [Document] {
      var documents: [Document] = []
      while documents.count < keys.count {
        let part = keys[documents.count...].prefix(Self.keysAtOnce)
        let rows = try fetch(reader.presentCall(part, bytes: PieceSizes().bytes))
        guard !rows.isEmpty else { throw Self.damaged("hearth_databases has no row of database \(reader.database)") }
        documents += try reader.documents(part, rows, at: state.version)
      }
      return documents
    }

    /// A document at a version, and the change that made it so.
    struct FormerState {
      var document: Document
      /// The version of the write or the delete; 0 if the log knows of none.
      var madeAt: Int64
      /// True if it was changed later.
      var isFormer: Bool
    }

    /// Documents as they were at a version, which is not above that of the snapshot and to which the log reaches back.
    func states(of keys: some Collection<DocumentKey>, at past: SnapshotVersion) throws -> [FormerState] {
      guard !keys.isEmpty else { return [] }
      let places = reader.places(of: keys)
      let rows = try fetch(
        ChangeStatements.past.call(
          database, .int8(past.microseconds), places.numbers, places.hashes, places.ids))
      guard rows.count == keys.count else { throw Self.damaged("\(keys.count) keys have \(rows.count) rows") }
      return try zip(keys, rows).map { key, row in try formerState(of: key, row, at: past) }
    }

    private typealias Column = ChangeStatements.PastColumn

    private func formerState(of key: DocumentKey, _ row: PostgresRow, at past: SnapshotVersion) throws -> FormerState {
      let present = try row.optionalInt64(Column.version)
      if let present, present <= past.microseconds {
        let document = try found(
          key, row, version: Column.version, createTime: Column.createTime, fields: Column.fields)
        return FormerState(document: document, madeAt: present, isFormer: false)
      }
      let deleted = try row.optionalInt64(Column.deletedBefore) ?? 0
      let missing = FormerState(document: .missing(key, version: past), madeAt: deleted, isFormer: true)
      guard let latest = try present ?? row.optionalInt64(Column.deleted), latest > past.microseconds else {
        return FormerState(document: missing.document, madeAt: deleted, isFormer: false)
      }
      guard try !row.isNull(Column.change), try row.int64(Column.oldVersion) <= past.microseconds else {
        throw Self.damaged(
          "table hearth_changes, \(key): its first change after \(past.microseconds) is not there")
      }
      guard try row.int64(Column.oldVersion) > 0 else { return missing }
      let document = try found(
        key, row, version: Column.oldVersion, createTime: Column.oldCreateTime, fields: Column.oldFields)
      return FormerState(document: document, madeAt: document.version.microseconds, isFormer: true)
    }

    private func found(
      _ key: DocumentKey, _ row: PostgresRow, version: Int, createTime: Int, fields: Int
    ) throws -> Document {
      guard let bytes = try row.optionalBytes(fields) else {
        throw Self.damaged("table hearth_changes, \(key): a change has no former contents")
      }
      return .found(
        key, version: try row.version(version),
        createTime: try row.version(createTime),
        fields: EncodedFields(uncheckedBytes: bytes))
    }

    /// Documents at a version, one for each key, in order.
    func documents(_ keys: [DocumentKey], at past: SnapshotVersion) throws -> [Document] {
      guard try past < state.version else { return try presentDocuments(keys) }
      var documents: [Document] = []
      while documents.count < keys.count {
        let part = keys[documents.count...].prefix(Self.keysAtOnce)
        documents += try states(of: part, at: past).map(\.document)
      }
      return documents
    }

    /// See ``ServerStorage/documents(for:at:)``.
    func documents(for keys: [DocumentKey], at past: SnapshotVersion?) throws -> QueryAnswer {
      try requireLog(since: past)
      let readVersion = try past ?? state.version
      return QueryAnswer(
        documents: try documents(keys, at: readVersion).map { $0.read(at: readVersion) }, readVersion: readVersion,
        execution: nil)
    }

    /// See ``ServerStorage/firstDocuments(of:at:)``.
    func firstDocuments(of keys: ArraySlice<DocumentKey>, at past: SnapshotVersion?) throws -> QueryAnswer {
      try requireLog(since: past)
      let readVersion = try past ?? state.version
      var documents: [Document] = []
      var bytes = 0
      var count = Self.firstKeys
      while documents.count < keys.count, bytes < PieceSizes().bytes {
        let part = Array(keys.dropFirst(documents.count).prefix(count))
        for document in try self.documents(part, at: readVersion) where bytes < PieceSizes().bytes {
          documents.append(document.read(at: readVersion))
          bytes += document.fields.bytes.count + Self.bytesPerName
        }
        count = min(count * 4, Self.keysAtOnce)
      }
      return QueryAnswer(documents: documents, readVersion: readVersion, execution: nil)
    }

    /// Any document may have 1 MiB.
    private static let firstKeys = 8
    /// The approximate size of a document without its fields; ``ReadStatements/present`` counts as much.
    private static let bytesPerName = 256
  }

  extension Document {
    /// A document of an answer: missing ones say when they were read.
    func read(at version: SnapshotVersion) -> Document {
      isFound ? self : .missing(key, version: version, readTime: version)
    }
  }
#endif
