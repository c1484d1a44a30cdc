internal import HearthModel
internal import HearthStore

/// The last use of each document, and the documents without references.
///
/// A mark is set when a reference is added or removed, so remove the reference before setting the mark:
///
/// | event of a document | mark |
/// |---|---|
/// | a target gains it | in the target's entry for it (`cache_target_documents.sequence_number`), not here |
/// | a target loses it | `markUse` |
/// | a batch is queued for it | `markUseByBatch` |
/// | a batch for it is answered | `markUse` if nothing else needs the document; otherwise the mark of the batch is enough |
/// | a target is collected | the later of the mark here and the mark of the target |
///
/// So the last use is the highest number in both tables, and a document of a target needs no row here.
struct DocumentUses {
  /// A document is unneeded when no target holds it and no user has a pending batch for it.
  static let isUnneeded = """
    (NOT EXISTS (SELECT 1 FROM cache_target_documents AS t WHERE t.path = cache_document_uses.path)
    AND NOT \(MutationQueue.isPending("cache_document_uses.path")))
    """

  let database: Database

  /// Marks a use of a document, and whether something still refers to it.
  func markUse(of key: DocumentKey, sequenceNumber: Int64) throws {
    assert(database.isInWriteTransaction, "a mark of use changes outside of a write transaction")
    try database.update(
      """
      INSERT OR REPLACE INTO cache_document_uses (path, sequence_number, is_unneeded)
      VALUES (?1, ?2,
        NOT EXISTS (SELECT 1 FROM cache_target_documents WHERE path = ?1) AND NOT \(MutationQueue.isPending("?1")))
      """,
      .text(key.canonicalString), .integer(sequenceNumber))
  }

  /// Marks a use of a document that has a pending batch.
  func markUseByBatch(of key: DocumentKey, sequenceNumber: Int64) throws {
    assert(database.isInWriteTransaction, "a mark of use changes outside of a write transaction")
    try database.update(
      "INSERT OR REPLACE INTO cache_document_uses (path, sequence_number, is_unneeded) VALUES (?, ?, 0)",
      .text(key.canonicalString), .integer(sequenceNumber))
  }

  /// Notes that something refers to the document. Its last use stays as it is.
  func markNeeded(_ key: DocumentKey) throws {
    assert(database.isInWriteTransaction, "a mark of use changes outside of a write transaction")
    try database.update(
      "UPDATE cache_document_uses SET is_unneeded = 0 WHERE path = ? AND is_unneeded = 1", .text(key.canonicalString))
  }

  func lastUse(of key: DocumentKey) throws -> Int64? {
    try database.firstRow(
      """
      SELECT sequence_number FROM (
        SELECT sequence_number FROM cache_document_uses WHERE path = ?1
        UNION ALL SELECT sequence_number FROM cache_target_documents WHERE path = ?1)
      ORDER BY sequence_number DESC LIMIT 1
      """, .text(key.canonicalString)
    ) { try $0.int64(at: 0) }
  }

  func remove(_ key: DocumentKey) throws {
    assert(database.isInWriteTransaction, "a mark of use changes outside of a write transaction")
    try database.update("DELETE FROM cache_document_uses WHERE path = ?", .text(key.canonicalString))
  }

  // MARK: Documents that nothing refers to

  /// A place in the order of last use.
  struct Position: Equatable {
    var sequenceNumber: Int64
    var path: String

    static let start = Position(sequenceNumber: .min, path: "")
  }

  func hasUnneeded() throws -> Bool { try unneededCount(limit: 1) > 0 }

  /// The number of unneeded documents, counted no further than to `limit`.
  func unneededCount(limit: Int64) throws -> Int64 {
    try database.firstRow(
      """
      SELECT count(*) FROM (
        SELECT 1 FROM cache_document_uses INDEXED BY cache_unneeded_documents WHERE is_unneeded = 1 LIMIT ?)
      """, .integer(limit)
    ) { try $0.int64(at: 0) } ?? 0
  }

  /// At most `limit` unneeded documents behind a position, the one longest without use first.
  func unneeded(
    after position: Position, upTo bound: Int64, limit: Int
  ) throws -> [(key: DocumentKey, position: Position)] {
    var found: [(DocumentKey, Position)] = []
    try database.forEachRow(
      """
      SELECT path, sequence_number FROM cache_document_uses INDEXED BY cache_unneeded_documents
      WHERE is_unneeded = 1 AND (sequence_number, path) > (?, ?) AND sequence_number <= ?
      ORDER BY sequence_number, path LIMIT ?
      """,
      .integer(position.sequenceNumber), .text(position.path), .integer(bound), .integer(Int64(limit))
    ) {
      let key = try $0.documentKey(at: 0, table: "cache_document_uses")
      found.append((key, Position(sequenceNumber: try $0.int64(at: 1), path: key.canonicalString)))
      return true
    }
    return found
  }
}
