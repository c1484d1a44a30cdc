package import HearthModel
internal import HearthStore

/// The progress of sending batches, and their failures.
extension CacheOutbox {
  // MARK: - Sending

  /// Part of ``LocalStore/noteSending(_:reserving:)``.
  func noteSending(
    _ batchID: BatchID, reserving count: BatchID
  ) throws -> (before: BatchID, reserved: BatchID) {
    let user = try transactions.user.rowForWriting()
    let mark = try sentMarks.mark(of: user)
    guard batchID > mark else { return (mark, mark) }
    let (reserved, overflow) = batchID.addingReportingOverflow(count)
    guard !overflow, reserved < CountedNumber.limit else {
      throw CacheError.exhausted(counter: "highest_batch_id", highest: batchID)
    }
    try sentMarks.setMark(reserved, of: user)
    return (mark, reserved)
  }

  /// Gives the rest of a reservation back, unless another client has sent under another one since.
  func noteSendingEnded(at last: BatchID, reserved: BatchID, of owner: LocalStore.Owner) throws {
    guard let user = try transactions.user.row(of: owner), try sentMarks.mark(of: user) == reserved else { return }
    try sentMarks.setMark(last, of: user)
  }

  /// The last pending batch of the active user that may be at the backend; 0 if there is none.
  package func lastBatchThatMayBeSent() throws -> BatchID {
    try transactions.read("Read sent mark") {
      guard let user = try transactions.user.row() else { return 0 }
      return try queue.highestBatchID(user: user, notAfter: sentMarks.mark(of: user)) ?? 0
    }
  }

  package func state(of user: String?) throws -> LocalStore.OutboxState {
    try transactions.read("Read state of outbox") {
      guard let row = try queue.row(of: user) else { return LocalStore.OutboxState(sentThrough: 0, attempts: [:]) }
      return LocalStore.OutboxState(
        sentThrough: try sentMarks.mark(of: row),
        attempts: try sentMarks.attempts().mapValues {
          LocalStore.OutboxState.Attempts(count: Int(clamping: $0.count), error: $0.error)
        })
    }
  }

  /// The bases of the oldest batch of the active user that is not on its way. The batches before it must not write its documents.
  package func bases(of batch: MutationBatch) throws -> LocalStore.BatchBases {
    try transactions.read("Read bases") {
      guard let user = try transactions.user.row() else { return LocalStore.BatchBases(bases: [:]) }
      return try bases.bases(of: batch, user: user)
    }
  }

  // MARK: - Outcomes

  package func fate(of identity: BatchIdentity) throws -> LocalStore.WriteFate {
    try transactions.read("Look for outcome") {
      if let outcome = try outcome(of: identity) { return .ended(outcome) }
      return try queue.batchID(of: identity).map { .pending($0) } ?? .unknown
    }
  }

  /// Returns the same for several writes, with a receipt or without, from one state of the file. Reads the outboxes of all users once.
  ///
  /// - Returns: No entry for an unknown write.
  package func fates(of identities: Set<BatchIdentity>) throws -> [BatchIdentity: LocalStore.WriteFate] {
    try transactions.read("Look for outcomes") {
      var fates = try queue.batchIDs(of: identities).mapValues { LocalStore.WriteFate.pending($0) }
      for identity in identities where fates[identity] == nil {
        if let outcome = try outcome(of: identity) { fates[identity] = .ended(outcome) }
      }
      return fates
    }
  }

  /// With the conflicts that were resolved before a commit.
  private func outcome(of identity: BatchIdentity) throws -> WriteOutcome? {
    guard let outcome = try outcomes.outcome(of: identity) else { return nil }
    guard case .committed(let version, let results, _) = outcome else { return outcome }
    return .committed(version, results, conflicts: try resolved.conflicts(of: identity))
  }

  // MARK: - Rejected batches

  /// The owner's refused batches, in order: at most `limit` behind `batchID`.
  package func rejectedBatches(
    after batchID: BatchID = -1, limit: Int = .max, of user: String?
  ) throws -> [RejectedBatch] {
    try transactions.read("List rejected batches") {
      guard let row = try queue.row(of: user) else { return [] }
      return try rejected.batches(after: batchID, limit: Int64(limit), user: row)
    }
  }

  /// A refused batch of a user; nil if it is not kept.
  package func rejectedBatch(_ batchID: BatchID, of user: String?) throws -> RejectedBatch? {
    try transactions.read("Look for rejected batch") {
      try queue.row(of: user).flatMap { try rejected.batch(batchID, user: $0) }
    }
  }

  /// Part of ``LocalStore/discardRejected(_:identities:of:)``.
  func discardRejected(_ batches: [BatchID]?, identities: [BatchID: BatchIdentity], of user: String?) throws {
    let row = try queue.row(of: user)
    guard let batches else {
      if let row { try rejected.removeAll(of: row) }
      return try transactions.tell(.outbox)
    }
    for batchID in batches {
      guard let row, try rejected.remove(batchID, identities[batchID], user: row) else {
        throw CacheError.unknownRejectedBatch(batchID, user: user)
      }
    }
    try transactions.tell(.outbox)
  }
}
