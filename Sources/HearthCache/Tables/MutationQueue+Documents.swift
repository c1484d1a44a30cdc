internal import HearthModel
internal import HearthStore
internal import HearthWire

extension MutationQueue {
  /// A document with pending batches of a user.
  struct PendingDocument: Equatable, Sendable {
    var user: UserRow
    var key: DocumentKey
  }

  /// The parts of a new batch that come from the documents that it is based on.
  struct KeptBases {
    /// The preconditions to send it with; nil if they depend on earlier batches or on documents that must be requested from the backend.
    var guards: [DocumentKey: Precondition]?
    /// See ``HearthModel/MutationBatch/views``.
    var views: [DocumentKey: AuthorView] = [:]
  }

  /// The documents with pending batches of all users, in the order of the users, behind a position. A document that several users write
  /// is listed for each of them.
  func pendingDocuments(after position: PendingDocument?, limit: Int) throws -> [PendingDocument] {
    var found: [PendingDocument] = []
    try database.forEachRow(
      """
      SELECT DISTINCT user_id, path FROM cache_batch_documents
      WHERE (user_id, path) > (?, ?) ORDER BY user_id, path LIMIT ?
      """,
      .integer(position?.user ?? .min), .text(position?.key.canonicalString ?? ""), .integer(Int64(limit))
    ) {
      found.append(
        PendingDocument(
          user: try $0.int64(at: 0), key: try $0.documentKey(at: 1, table: "cache_batch_documents")))
      return true
    }
    return found
  }

  /// The size of a batch, without what is never sent of it.
  func byteCount(of batchID: BatchID) throws -> Int? {
    try database.firstRow(
      "SELECT batch_id, batch FROM cache_mutation_batches WHERE batch_id = ?", .integer(batchID)
    ) { row in
      let bytes = try row.bytes(at: 1)
      guard var batch = try? decode(row), !batch.views.isEmpty else { return bytes.count }
      batch.views = [:]
      return CacheCodec.encode(batch: batch, database: databaseID).count
    }
  }
}
