#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  /// The documents as they are before a group of commits, under the lock of its database.
  final class StoredDocuments {
    private var known: [DocumentKey: DocumentReads.Head]
    private let database: Int64
    private let latest: SnapshotVersion

    init(_ found: GroupReads.Found, in database: Int64) {
      self.database = database
      latest = found.order.latest
      known = found.documents
    }

    /// Reads the documents for a request.
    func reads(for request: CommitRequest, on session: PostgresSession) -> DocumentReads {
      // Rules ask for one after the other.
      let keys = request.commitGuard == nil ? [] : request.mutations.map(\.key)
      let places = Dictionary(zip(keys, keys.indices)) { first, _ in first }
      return DocumentReads(
        head: { key in try self.known[key] ?? .init(document: self.document(for: key, on: session), isComplete: true) },
        document: { key in
          let ahead = places[key].map { keys[($0 + 1)...].prefix(Self.keysAhead) } ?? []
          return try self.document(for: key, readingAhead: ahead, on: session)
        })
    }

    private static let keysAhead = 500

    /// A document, which is read now unless it was before: rules may look up any.
    ///
    /// - Parameter ahead: Documents that are likely to be asked for next. They are read as well, as far as all together have no more bytes than
    ///   one document may have.
    private func document(
      for key: DocumentKey, readingAhead ahead: ArraySlice<DocumentKey> = [], on session: PostgresSession
    ) throws -> Document {
      if let head = known[key], head.isComplete { return head.document }
      var seen: Set = [key]
      let next = ahead.filter { known[$0]?.isComplete == false && seen.insert($0).inserted }
      if !next.isEmpty { try read([key] + next, bytes: GroupReads.bytesForGuards, on: session) }
      if known[key]?.isComplete != true { try read([key], bytes: .max, on: session) }
      guard let head = known[key], head.isComplete else {
        throw PostgresError(.badResult, "A document was not read.")
      }
      return head.document
    }

    private func read(_ keys: [DocumentKey], bytes: Int64, on session: PostgresSession) throws {
      for row in try session.run(GroupReads.documents(keys, in: database, bytes: bytes)) {
        let head = try GroupReads.head(row, of: keys, missingAt: latest)
        known[head.document.key] = head
      }
    }
  }
#endif
