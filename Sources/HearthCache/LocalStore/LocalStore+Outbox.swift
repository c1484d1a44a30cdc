package import HearthModel
internal import HearthStore

/// Writes and their answers.
extension LocalStore {
  // MARK: - Writing

  /// Queues a write and returns its batch id and the documents it changes, as its owner's local view now has them.
  package func write(
    _ mutations: [Mutation], localWriteTime: Timestamp, identity: BatchIdentity? = nil, of owner: Owner = .activeUser
  ) throws -> (batchID: BatchID, changes: DocumentMap) {
    let write = LocalWrite(mutations: mutations, localWriteTime: localWriteTime, identity: identity)
    let stored = try self.write(many: [write], of: owner)
    return (stored[0].batch.batchID, stored[0].changes)
  }

  /// Queues several writes in one commit, in order: all of them or none.
  ///
  /// - Parameters:
  ///   - keepsFormer: True to return the documents before each write as well.
  /// - Returns: The batches as they were stored, each with the documents that it changes.
  package func write(
    many writes: [LocalWrite], of owner: Owner = .activeUser, keepsFormer: Bool = false
  ) throws -> [StoredWrite] {
    try transactions.run("Locally write mutations", synchronous: .full) {
      let user = try transactions.user.rowForWriting(of: owner)
      let name = transactions.user.name(of: owner)
      return try writes.map {
        try outbox.enqueue($0, user: user, name: name, keepsFormer: keepsFormer)
      }
    }
  }

  // MARK: - Answers of the backend

  /// Takes a batch that the backend has committed out of the queue and applies it to the remote documents. The batch is
  /// the one that was sent; its row is not read again, so that damage done to it since then loses no answer.
  ///
  /// A document that the cache already holds at the version of the commit or a newer one is left as it is. The others
  /// keep showing the written data (`hasCommittedMutations`) until the watch stream delivers that version. The cost
  /// grows with the batch and with the pending batches of the same documents, not with the queue.
  ///
  /// - Parameters:
  ///   - isOwn: false if another client may wait for the answer: its outcome is kept for a day.
  ///   - needsLease: false for an answer that was received while this client held the lease.
  ///   - time: the device's time, from which a kept outcome ages.
  /// - Returns: the batch's documents, as the active user's local view now has them.
  /// - Throws: `CacheError.unknownBatch` when the owner's queue does not hold the batch.
  package func acknowledge(
    _ result: MutationBatchResult, of owner: Owner = .activeUser, isOwn: Bool = true, needsLease: Bool = true,
    at time: Timestamp = .epoch
  ) throws -> DocumentMap {
    try transactions.run("Acknowledge batch", synchronous: .full, needsLease: needsLease) {
      try outbox.acknowledge(result, of: owner, isOwn: isOwn, at: time)
    }
  }

  /// Takes a batch that the backend has refused permanently out of the queue, and keeps it in the list of those.
  ///
  /// - Parameter time: the device's time of the refusal.
  /// - Returns: its documents, as the active user's local view has them without it.
  /// - Throws: `CacheError.unknownBatch` when the owner's queue does not hold the batch.
  package func reject(
    _ batch: MutationBatch, _ error: StatusError = .rejected, of owner: Owner = .activeUser, needsLease: Bool = true,
    at time: Timestamp = .epoch
  ) throws -> DocumentMap {
    try transactions.run("Reject batch", synchronous: .full, needsLease: needsLease) {
      try outbox.keepRejected(batch, error, user: outbox.userHolding(batch, owner), at: time)
    }
  }

  /// Takes the batches that cannot be read out of the queues of all users and keeps their bytes. Reads all queues.
  ///
  /// - Returns: the batches, and the documents of those of the current user, as the local view has them without them.
  package func setAsideUnreadableBatches() throws -> (batches: [UnreadableBatch], changes: DocumentMap) {
    try transactions.run("Set unreadable batches aside", synchronous: .full) { try outbox.setAsideUnreadableBatches() }
  }

  /// Takes a batch out of the queue that the user does not want any more.
  ///
  /// Batches behind it start from what is left: base values of increments are recalculated. Not behind a batch that may have been
  /// committed, because the documents of the backend may then hold it and batches behind it.
  ///
  /// - Parameters:
  ///   - identity: the identity of the batch, which another batch with the same number does not have; nil to go by the number alone.
  ///   - evenIfSent: true for a batch that may have reached the backend. It is not sent again; whether it is committed stays open.
  /// - Returns: its documents, as the active user's local view has them without it.
  /// - Throws: `CacheError.unknownBatch` when the owner's queue does not hold the batch, `CacheError.batchMayBeSent`.
  package func withdraw(
    _ batchID: BatchID, _ identity: BatchIdentity? = nil, evenIfSent: Bool, _ error: StatusError,
    of owner: Owner = .activeUser, at time: Timestamp
  ) throws -> DocumentMap {
    // A refusal does not fail the transaction: what that has read of other clients' changes stays read.
    try transactions.run("Withdraw batch", synchronous: .full) {
      try outbox.withdraw(batchID, identity, evenIfSent: evenIfSent, error, of: owner, at: time)
    }.get()
  }

  // MARK: - Sending

  /// Makes durable that the active user's batches up to this one may be at the backend, before the first of them is sent.
  ///
  /// - Parameter count: so many batches more are reserved, so that the next ones need no transaction.
  /// - Returns: the last batch for which this held before, 0 if there was none, and the last one for which it holds now.
  package func noteSending(
    _ batchID: BatchID, reserving count: BatchID
  ) throws -> (before: BatchID, reserved: BatchID) {
    try transactions.run("Note sent batches", synchronous: .full, needsLease: isShared) {
      try outbox.noteSending(batchID, reserving: count)
    }
  }

  /// Gives the rest of a reservation back after the stream has ended. Only the holder of the lease does: another one may have sent under
  /// the same mark.
  ///
  /// - Parameter last: the last batch of the owner that was sent, or that may have been sent before the reservation.
  package func noteSendingEnded(at last: BatchID, reserved: BatchID, of owner: Owner) throws {
    assert(last <= reserved, "batch \(last) was sent, but batches are reserved up to \(reserved) only")
    try transactions.run("Note end of sending", needsLease: isShared) {
      try outbox.noteSendingEnded(at: last, reserved: reserved, of: owner)
    }
  }

  /// Counts a failed attempt at batches that were sent.
  package func noteFailedAttempt(at batches: [BatchID], _ error: StatusError) throws {
    try transactions.run("Note failed attempt") {
      try tables.sentMarks.noteFailure(of: batches, error)
      try transactions.tell(.outbox)
    }
  }

  /// Forgets refused batches of a user; nil for all of them.
  ///
  /// - Parameter identities: The identities of the batches; a batch without one goes by its number alone.
  /// - Throws: `CacheError.unknownRejectedBatch` if one of them is not kept. Then all others are kept.
  package func discardRejected(
    _ batches: [BatchID]?, identities: [BatchID: BatchIdentity] = [:], of user: String?
  ) throws {
    try transactions.run("Discard rejected batches", synchronous: .full) {
      try outbox.discardRejected(batches, identities: identities, of: user)
    }
  }

  /// Forgets resolved conflicts of a user; nil for all of them. One that is not kept is none to forget.
  package func discardResolvedConflicts(_ ids: [KeptConflict.ID]?, of user: String?) throws {
    try transactions.run("Discard resolved conflicts", synchronous: .full) {
      try tables.resolved.remove(ids, of: MutationQueue.userKey(user))
      try transactions.tell(.outbox)
    }
  }

  // MARK: - The queue

  /// The first batch of the current user behind `batchID` (-1 for the first of all).
  package func nextMutationBatch(after batchID: BatchID) throws -> MutationBatch? {
    try outbox.nextBatch(after: batchID)
  }

  /// The owner's outbox in order: at most `limit` batches behind `batchID`.
  package func pendingBatches(
    after batchID: BatchID = -1, limit: Int = .max, of owner: Owner = .activeUser
  ) throws -> [MutationBatch] {
    try outbox.batches(after: batchID, limit: limit, of: owner)
  }

  // MARK: - Conflicts

  /// Makes the conditions durable under which the active user's batch is sent, before it is sent for the first time.
  ///
  /// A batch that another process has taken out of the queue or changed is left as it is: it must be read again anyway.
  package func keepGuards(of batch: MutationBatch) throws {
    try transactions.run("Keep guards", synchronous: .full, needsLease: isShared) { try outbox.keepGuards(of: batch) }
  }

  /// Replaces the mutations of a pending batch whose base documents differ from the backend's.
  ///
  /// The batch keeps its number, its position and its identity; it was not committed. The bases of later batches are kept, and the compared
  /// documents come into the cache.
  ///
  /// - Returns: the documents that have changed, as the active user's local view now has them.
  /// - Throws: `CacheError.unknownBatch` when the owner's queue does not hold the batch, or holds another one under its number.
  package func resolveConflict(
    _ conflicting: MutationBatch, _ outcome: ConflictOutcome, of owner: Owner, at time: Timestamp
  ) throws -> DocumentMap {
    try transactions.run("Resolve conflict", synchronous: .full, needsLease: isShared) {
      try outbox.resolveConflict(conflicting, outcome, of: owner, at: time)
    }
  }

  /// Ends a batch in conflict with an error, and keeps it in the list of rejected ones.
  ///
  /// - Returns: its documents, as the active user's local view has them without it.
  /// - Throws: as ``resolveConflict(_:_:of:at:)``.
  package func rejectConflict(
    _ conflicting: MutationBatch, _ error: StatusError, of owner: Owner, at time: Timestamp
  ) throws -> DocumentMap {
    try transactions.run("Reject conflict", synchronous: .full, needsLease: isShared) {
      let (batch, user) = try outbox.pending(conflicting, owner)
      return try outbox.keepRejected(batch, error, user: user, at: time)
    }
  }

  // MARK: - Users

  /// Makes another user's queue the active one.
  ///
  /// - Parameter queries: the queries whose results are shown, so that other documents cost nothing, however long the queues are; nil for
  ///   all documents.
  /// - Returns: the documents with pending writes of either user, as the new one sees them.
  package func changeUser(_ user: String?, showing queries: [Query]? = nil) throws -> DocumentMap {
    try transactions.run("Handle user change") {
      guard !isUser(user) else { return [:] }
      let former = try transactions.user.row()
      transactions.user.become(user)
      try sharing.userChanged(key: transactions.user.key)
      let row = try transactions.user.row()
      let keys = try outbox.pendingKeys(of: [former, row], shownBy: queries)
      return try tables.localDocuments.localView(of: keys, user: row)
    }
  }

  /// Returns whether the active queue is that of `user`. By bytes: Swift's `==` also unites composed and decomposed characters.
  package func isUser(_ user: String?) -> Bool { transactions.user.isActive(user) }

  package static func isSameUser(_ a: String?, _ b: String?) -> Bool { ActiveUser.isSame(a, b) }
}
