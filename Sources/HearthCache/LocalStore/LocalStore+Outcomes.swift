package import HearthModel
internal import HearthStore

/// What is known of writes beyond their contents: how far they were sent, what failed, and what became of them.
extension LocalStore {
  // MARK: - Sending

  /// Makes durable that the active user's batches up to this one may be at the backend, before the first of them is sent.
  ///
  /// - Parameter count: so many batches more are reserved, so that the next ones need no transaction.
  /// - Returns: the last batch for which this held before, 0 if there was none, and the last one for which it holds now.
  package func noteSending(
    _ batchID: BatchID, reserving count: BatchID
  ) throws -> (before: BatchID, reserved: BatchID) {
    try transaction("Note sent batches", synchronous: .full, needsLease: state.membership != nil) {
      let user = try userRowForWriting()
      let mark = try sentMarks.mark(of: user)
      guard batchID > mark else { return (mark, mark) }
      let (reserved, overflow) = batchID.addingReportingOverflow(count)
      guard !overflow, reserved < CountedNumber.limit else {
        throw CacheError.exhausted(counter: "highest_batch_id", highest: batchID)
      }
      try sentMarks.setMark(reserved, of: user)
      return (mark, reserved)
    }
  }

  /// The last pending batch of the active user that may be at the backend; 0 if there is none.
  package func lastPendingBatchThatMayBeSent() throws -> BatchID {
    try read("Read sent mark") {
      guard let user = try userRow() else { return 0 }
      return try queue.highestBatchID(user: user, notAfter: sentMarks.mark(of: user)) ?? 0
    }
  }

  /// Gives the rest of a reservation back after the stream has ended. Only the holder of the lease does: another one may have sent under
  /// the same mark.
  ///
  /// - Parameter last: the last batch of the owner that was sent, or that may have been sent before the reservation.
  package func noteSendingEnded(at last: BatchID, reserved: BatchID, of owner: Owner) throws {
    assert(last <= reserved, "batch \(last) was sent, but batches are reserved up to \(reserved) only")
    try transaction("Note end of sending", needsLease: state.membership != nil) {
      guard let user = try row(of: owner), try sentMarks.mark(of: user) == reserved else { return }
      try sentMarks.setMark(last, of: user)
    }
  }

  /// Counts a failed attempt at batches that were sent.
  package func noteFailedAttempt(at batches: [BatchID], _ error: StatusError) throws {
    try transaction("Note failed attempt") {
      try sentMarks.noteFailure(of: batches, error)
      try tell(.outbox)
    }
  }

  /// What is known of the outbox of a user beside its batches.
  package struct OutboxState: Equatable, Sendable {
    /// The failed attempts at a batch.
    package struct Attempts: Equatable, Sendable {
      package var count: Int
      package var error: StatusError
    }

    /// Batches up to this one may have reached the backend.
    package var sentThrough: BatchID
    package var attempts: [BatchID: Attempts]
  }

  package func outboxState(of user: String?) throws -> OutboxState {
    try read("Read state of outbox") {
      guard let row = try queue.row(of: user) else { return OutboxState(sentThrough: 0, attempts: [:]) }
      return OutboxState(
        sentThrough: try sentMarks.mark(of: row),
        attempts: try sentMarks.attempts().mapValues {
          OutboxState.Attempts(count: Int(clamping: $0.count), error: $0.error)
        })
    }
  }

  /// The number of batches in the outbox of a user.
  package func pendingBatchCount(of user: String?) throws -> Int {
    try read("Count pending batches") { try queue.row(of: user).map(queue.batchCount(user:)) ?? 0 }
  }

  /// The size of a batch in the outbox; nil if it has left it.
  package func byteCount(of batchID: BatchID) throws -> Int? {
    try read("Look for batch") { try queue.byteCount(of: batchID) }
  }

  /// Asks the holder of the lease to try at once to send what waits.
  package func askForRetry() throws {
    try transaction("Ask for retry") { try tell(.retryNow) }
  }

  // MARK: - Outcomes

  /// What is known of a write by its identity.
  package enum WriteFate: Equatable, Sendable {
    case pending(BatchID)
    case ended(WriteOutcome)
    /// It was never made here, or too long ago.
    case unknown
  }

  package func fate(of identity: BatchIdentity) throws -> WriteFate {
    try read("Look for outcome") {
      if let outcome = try outcomes.outcome(of: identity) { return .ended(outcome) }
      return try queue.batchID(of: identity).map { .pending($0) } ?? .unknown
    }
  }

  /// The same of several writes, with a receipt or without, as of one state of the file. Reads the outboxes of all users once.
  ///
  /// - Returns: Nothing for a write of which nothing is known.
  package func fates(of identities: Set<BatchIdentity>) throws -> [BatchIdentity: WriteFate] {
    try read("Look for outcomes") {
      var fates = try queue.batchIDs(of: identities).mapValues { WriteFate.pending($0) }
      for identity in identities where fates[identity] == nil {
        if let outcome = try outcomes.outcome(of: identity) { fates[identity] = .ended(outcome) }
      }
      return fates
    }
  }

  func noteOutcome(_ outcome: WriteOutcome, of batch: MutationBatch, at time: Timestamp) throws {
    guard batch.keepsOutcome, let identity = batch.identity else { return }
    try outcomes.insert(outcome, for: identity, at: time, globals)
  }

  // MARK: - Rejected batches

  /// The owner's refused batches, in order: at most `limit` behind `batchID`.
  package func rejectedBatches(
    after batchID: BatchID = -1, limit: Int = .max, of user: String?
  ) throws -> [RejectedBatch] {
    try read("List rejected batches") {
      guard let row = try queue.row(of: user) else { return [] }
      return try rejected.batches(after: batchID, limit: Int64(limit), user: row)
    }
  }

  /// A refused batch of a user; nil if it is not kept.
  package func rejectedBatch(_ batchID: BatchID, of user: String?) throws -> RejectedBatch? {
    try read("Look for rejected batch") { try queue.row(of: user).flatMap { try rejected.batch(batchID, user: $0) } }
  }

  /// Forgets refused batches of a user; nil for all of them.
  ///
  /// - Parameter identities: Those of the batches that are meant; one without goes by its number alone.
  /// - Throws: `CacheError.unknownRejectedBatch` if one of them is not kept. Then all others are kept.
  package func discardRejected(
    _ batches: [BatchID]?, identities: [BatchID: BatchIdentity] = [:], of user: String?
  ) throws {
    try transaction("Discard rejected batches", synchronous: .full) {
      let row = try queue.row(of: user)
      guard let batches else {
        if let row { try rejected.removeAll(of: row) }
        return try tell(.outbox)
      }
      for batchID in batches {
        guard let row, try rejected.remove(batchID, identities[batchID], user: row) else {
          throw CacheError.unknownRejectedBatch(batchID, user: user)
        }
      }
      try tell(.outbox)
    }
  }

  /// Takes a refused batch out of the list, in the transaction that queues its mutations again.
  func takeRejected(
    _ batchID: BatchID, _ identity: BatchIdentity?, user: MutationQueue.UserRow, name: String?
  ) throws -> [Mutation] {
    guard let kept = try rejected.batch(batchID, user: user), try rejected.remove(batchID, identity, user: user) else {
      throw CacheError.unknownRejectedBatch(batchID, user: name)
    }
    try tell(.outbox)
    return kept.batch.mutations
  }
}
