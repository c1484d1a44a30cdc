package import HearthModel
internal import HearthStore
internal import HearthWire

/// A batch that the backend has refused, kept for the application.
package struct RejectedBatch: Equatable, Sendable {
  package var batch: MutationBatch
  package var error: StatusError
  /// The device's time of the refusal.
  package var rejectedAt: Timestamp

  package init(batch: MutationBatch, error: StatusError, rejectedAt: Timestamp) {
    self.batch = batch
    self.error = error
    self.rejectedAt = rejectedAt
  }
}

/// The number of refused batches that are kept for each user, and the time for which they are kept.
package struct RejectedBatchLimits: Equatable, Sendable {
  /// At most this many of a user; the oldest go first. 0 keeps none.
  package var count: Int64
  /// By the cache's own scale (`KeepingTime`).
  package var ageSeconds: Int64

  package init(count: Int64 = 1000, ageSeconds: Int64 = 30 * 24 * 3600) {
    self.count = count
    self.ageSeconds = ageSeconds
  }
}

/// The batches that the backend has refused, per user, until the application discards or resubmits them.
struct RejectedBatchTable {
  typealias UserRow = MutationQueue.UserRow

  /// The reason why a refused batch that cannot be read is set aside.
  static let damagedReason = "refused by the backend, and damaged"

  let database: Database
  let databaseID: DatabaseID

  /// Keeps a refused batch under its number, or under another one if that is a kept one's.
  ///
  /// Those that are too old or too many go.
  func insert(
    _ rejected: RejectedBatch, user: UserRow, within limits: RejectedBatchLimits, _ globals: CacheGlobals
  ) throws {
    assert(database.isInWriteTransaction, "a refused batch changes outside of a write transaction")
    var batch = rejected.batch
    while try isTaken(batch.batchID) { batch.batchID = try globals.takeBatchID() }
    let now = try globals.keepingTime(at: rejected.rejectedAt)
    try database.update(
      """
      INSERT INTO cache_rejected_batches
        (batch_id, user_id, batch, code, message, rejected_seconds, rejected_nanos, kept_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
      """,
      .integer(batch.batchID), .integer(user), .blob(CacheCodec.encode(batch: batch, database: databaseID)),
      .integer(Int64(rejected.error.code.rawValue)), .text(rejected.error.message),
      .integer(rejected.rejectedAt.seconds), .integer(Int64(rejected.rejectedAt.nanoseconds)),
      .integer(now))
    try database.update(
      """
      DELETE FROM cache_rejected_batches WHERE user_id = ?1 AND (kept_at < ?2 OR batch_id <= (
        SELECT batch_id FROM cache_rejected_batches WHERE user_id = ?1 ORDER BY batch_id DESC LIMIT 1 OFFSET ?3))
      """, .integer(user), .integer(now &- limits.ageSeconds), .integer(max(0, limits.count)))
  }

  private func isTaken(_ batchID: BatchID) throws -> Bool {
    try database.firstRow("SELECT 1 FROM cache_rejected_batches WHERE batch_id = ?", .integer(batchID)) { _ in true }
      ?? false
  }

  /// The user's refused batches behind `batchID`, in order.
  func batches(after batchID: BatchID, limit: Int64, user: UserRow) throws -> [RejectedBatch] {
    var batches: [RejectedBatch] = []
    try database.forEachRow(
      "\(Self.select) WHERE user_id = ? AND batch_id > ? ORDER BY batch_id LIMIT ?",
      .integer(user), .integer(batchID), .integer(limit)
    ) {
      batches.append(try decode($0))
      return true
    }
    return batches
  }

  func batch(_ batchID: BatchID, user: UserRow) throws -> RejectedBatch? {
    try database.firstRow(
      "\(Self.select) WHERE batch_id = ? AND user_id = ?", .integer(batchID), .integer(user), body: decode)
  }

  /// - Parameter identity: Nil to go by the number alone.
  /// - Returns: False if there was none, or another one under its number.
  func remove(_ batchID: BatchID, _ identity: BatchIdentity?, user: UserRow) throws -> Bool {
    assert(database.isInWriteTransaction, "a refused batch changes outside of a write transaction")
    if let identity, try batch(batchID, user: user)?.batch.identity != identity { return false }
    let isKept =
      try database.firstRow(
        "SELECT 1 FROM cache_rejected_batches WHERE batch_id = ? AND user_id = ?", .integer(batchID), .integer(user)
      ) { _ in true } ?? false
    if isKept {
      try database.update("DELETE FROM cache_rejected_batches WHERE batch_id = ?", .integer(batchID))
    }
    return isKept
  }

  func removeAll(of user: UserRow) throws {
    assert(database.isInWriteTransaction, "a refused batch changes outside of a write transaction")
    try database.update("DELETE FROM cache_rejected_batches WHERE user_id = ?", .integer(user))
  }

  /// The rows of all users that cannot be read.
  func unreadable() throws -> [BatchID] {
    var unreadable: [BatchID] = []
    try database.forEachRow(Self.select) { row in
      if (try? decode(row)) == nil { unreadable.append(try row.int64(at: 0)) }
      return true
    }
    return unreadable
  }

  private static let select = """
    SELECT batch_id, batch, code, message, rejected_seconds, rejected_nanos FROM cache_rejected_batches
    """

  private func decode(_ row: Statement) throws -> RejectedBatch {
    let batchID = try row.int64(at: 0)
    func damage(_ reason: String) -> CacheError {
      .corruptRecord(table: "cache_rejected_batches", row: "\(batchID)", reason: reason)
    }
    let batch: MutationBatch
    do {
      batch = try CacheCodec.decodeBatch(row.bytes(at: 1), database: databaseID)
    } catch let error as WireError {
      throw damage(error.description)
    }
    guard let error = try row.statusError(code: 2, message: 3, damage) else { throw damage("it has no error") }
    guard let nanoseconds = Int32(exactly: try row.int64(at: 5)) else { throw damage("its time is none") }
    return RejectedBatch(
      batch: batch, error: error, rejectedAt: Timestamp(seconds: try row.int64(at: 4), nanoseconds: nanoseconds))
  }
}
