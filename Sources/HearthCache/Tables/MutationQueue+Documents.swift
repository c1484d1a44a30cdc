internal import HearthModel
internal import HearthStore

extension MutationQueue {
  /// A document with pending batches of a user.
  struct PendingDocument: Equatable, Sendable {
    var user: UserRow
    var key: DocumentKey
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
}
