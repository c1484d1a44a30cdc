#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  /// The documents as they are before a group of commits, under the lock of its database.
  struct StoredDocuments {
    /// Nil for those that exist and were too much to be read at once.
    private var known: [DocumentKey: Document?]
    private let database: Int64
    private let latest: SnapshotVersion

    init(_ found: GroupReads.Found, in database: Int64) {
      self.database = database
      latest = found.order.latest
      known = found.documents
    }

    /// A document, which is read now unless it was before: rules may look up any.
    mutating func document(for key: DocumentKey, on session: PostgresSession) throws -> Document {
      if let document = known[key] ?? nil { return document }
      let rows = try session.run(GroupReads.documents([key], in: database, bytes: .max))
      let document = try rows.first.flatMap { try GroupReads.document($0, of: [key], missingAt: latest) }
      guard let document else { throw PostgresError(.badResult, "A document was not read.") }
      known[key] = document
      return document
    }
  }
#endif
