package import HearthModel
internal import HearthStore

/// The marks up to which each user's outbox may have reached the backend, and the attempts that failed.
///
/// A mark is stored before a batch is sent for the first time, and ahead of it by some batches, so that sending one write after the other
/// costs a durable commit only now and then. When the stream ends, it goes back to the last batch that was sent. So a batch after the mark
/// has certainly never been sent and can be cancelled. Other processes and later runs can rely on that too.
package struct SentMarks {
  typealias UserRow = MutationQueue.UserRow

  /// So many batches are reserved at a time.
  package static let reservation: BatchID = 100

  let database: Database

  /// The last batch that may have been sent; 0 if none was. A user without a mark has that of removed users.
  func mark(of user: UserRow) throws -> BatchID {
    try database.firstRow(
      "SELECT through FROM cache_sent_marks WHERE user_id IN (?1, ?2) ORDER BY user_id = ?2 LIMIT 1", .integer(user),
      .integer(MutationQueue.unknownUser)
    ) { row in
      try row.counter(at: 0) { .corruptRecord(table: "cache_sent_marks", row: "\(user)", reason: $0) }
    } ?? 0
  }

  func setMark(_ batchID: BatchID, of user: UserRow) throws {
    assert(database.isInWriteTransaction, "a sent mark changes outside of a write transaction")
    try database.update(
      "INSERT OR REPLACE INTO cache_sent_marks (user_id, through) VALUES (?, ?)", .integer(user), .integer(batchID))
  }

  /// Counts all pending batches as sent, also those that were set aside, where the marks may be older than they are.
  func countAllAsSent() throws {
    assert(database.isInWriteTransaction, "a sent mark changes outside of a write transaction")
    try database.update(
      """
      INSERT OR REPLACE INTO cache_sent_marks (user_id, through)
      SELECT user_id, max(batch_id) AS last FROM (
        SELECT user_id, batch_id FROM cache_mutation_batches UNION ALL
        SELECT user_id, batch_id FROM cache_unreadable_batches
      ) AS pending
      WHERE user_id > 0 AND \(CountedNumber.condition("batch_id"))
      GROUP BY user_id
      HAVING last > coalesce(
        (SELECT through FROM cache_sent_marks AS own WHERE own.user_id = pending.user_id),
        (SELECT through FROM cache_sent_marks AS own WHERE own.user_id = \(MutationQueue.unknownUser)), 0)
      """)
  }

  /// Part of a repair: puts one mark in the place of those whose users were removed.
  ///
  /// A process that has reserved batches of such a user sends what that user writes next without another look, and the user comes back
  /// under another number.
  func inheritMarksOfRemovedUsers() throws {
    assert(database.isInWriteTransaction, "a sent mark changes outside of a write transaction")
    let isRemoved = "user_id NOT IN (SELECT user_id FROM cache_users)"
    // The furthest that a reservation can reach, whatever the rows say.
    let furthest = """
      CAST(max(0, coalesce((SELECT highest_batch_id FROM cache_globals), 0)) + \(Self.reservation) AS INTEGER)
      """
    try database.update(
      """
      INSERT OR REPLACE INTO cache_sent_marks (user_id, through)
      SELECT \(MutationQueue.unknownUser), mark FROM (
        SELECT max(CASE WHEN \(CountedNumber.condition("through")) THEN min(through, \(furthest)) ELSE \(furthest) END) AS mark
        FROM cache_sent_marks WHERE \(isRemoved)
      ) WHERE mark IS NOT NULL
      """)
    try database.update(
      "DELETE FROM cache_sent_marks WHERE \(isRemoved) AND user_id <> ?", .integer(MutationQueue.unknownUser))
  }

  // MARK: Attempts

  struct Attempts {
    var count: Int64
    var error: StatusError
  }

  /// Counts a failed attempt at each of the batches that is still in the outbox, and forgets those of batches that have left it.
  func noteFailure(of batches: [BatchID], _ error: StatusError) throws {
    assert(database.isInWriteTransaction, "a sent mark changes outside of a write transaction")
    try database.update(
      "DELETE FROM cache_write_attempts WHERE batch_id NOT IN (SELECT batch_id FROM cache_mutation_batches)")
    for batchID in batches {
      try database.update(
        """
        INSERT INTO cache_write_attempts (batch_id, attempts, code, message)
        SELECT batch_id, 1, ?2, ?3 FROM cache_mutation_batches WHERE batch_id = ?1
        ON CONFLICT (batch_id) DO UPDATE SET attempts = attempts + 1, code = ?2, message = ?3
        """, .integer(batchID), .integer(Int64(error.code.rawValue)), .text(error.message))
    }
  }

  /// The failed attempts, by batch.
  func attempts() throws -> [BatchID: Attempts] {
    var attempts: [BatchID: Attempts] = [:]
    try database.forEachRow("SELECT batch_id, attempts, code, message FROM cache_write_attempts") { row in
      let batchID = try row.int64(at: 0)
      let error = try row.statusError(code: 2, message: 3) {
        CacheError.corruptRecord(table: "cache_write_attempts", row: "\(batchID)", reason: $0)
      }
      if let error { attempts[batchID] = Attempts(count: try row.int64(at: 1), error: error) }
      return true
    }
    return attempts
  }
}
