#if PostgreSQL
  internal import HearthModel
  internal import HearthPostgres

  /// The documents as they are before a group of commits, under the lock of its database.
  struct StoredDocuments {
    /// Nil for those that exist and were too much to be read at once.
    private var known: [DocumentKey: Document?]
    private let database: Int64
    private let latest: SnapshotVersion

    /// - Parameter keys: The documents that were looked for.
    init(_ found: GroupReads.Found, asked keys: Set<DocumentKey>, in database: Int64) {
      self.database = database
      latest = found.order.latest
      known = found.documents
      for key in keys where known[key] == nil { known[key] = .some(.missing(key, version: latest)) }
    }

    /// A document, which is read now unless it was before: rules may look up any.
    mutating func document(for key: DocumentKey, on session: PostgresSession) throws -> Document {
      if let document = known[key] ?? nil { return document }
      let rows = try session.run(GroupReads.documents([key], in: database, bytes: .max))
      let document = try rows.first.map { try GroupReads.document($0, of: [key]).1 } ?? nil
      let found = document ?? .missing(key, version: latest)
      known[key] = .some(found)
      return found
    }
  }
#endif
