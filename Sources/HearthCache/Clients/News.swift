package import HearthModel

/// The changes of other clients of the cache, as of one state of the file.
package struct News {
  /// An answer of the backend to a batch, or its loss.
  package struct Answer: Equatable {
    package var batchID: BatchID
    /// Nil if it could not be read.
    package var identity: BatchIdentity?
    /// True if the batch was in the outbox of the active user.
    package var isActiveUsers: Bool
    /// Nil for a batch that the backend has committed.
    package var error: StatusError?
  }

  /// The documents that changed, as the active user's local view has them now. Only those that a target in use may hold.
  package var changes: DocumentMap = [:]
  /// The batches that left the outboxes, in order.
  package var answers: [Answer] = []
  /// True if the outbox of the active user has got batches.
  package var hasNewBatches = false
  /// The targets in use for which this is news, and how far they agree with the backend.
  package var targetStates: [TargetID: TargetAgreement] = [:]
  /// The documents that the backend has confirmed for those of them that are not open, if they have a limit or
  /// clients have different users.
  package var confirmedKeys: [TargetID: Set<DocumentKey>] = [:]
  /// The targets that the backend has refused, in order.
  package var rejectedTargets: [(target: TargetID, error: StatusError)] = []
  /// The targets whose rows something else than a snapshot of the backend has written.
  package var resetTargets: Set<TargetID> = []
  /// True if clients came or went, or want other targets.
  package var concernsClients = false
  /// True if the lease has another holder, or its holder another online state.
  package var concernsLease = false
  package var concernsIndexes = false
  /// True if notices are missing: everything that is shown must be read again.
  package var isIncomplete = false
  /// True if the holder of the lease has written something.
  package var isFromPrimary = false
  /// True if a client asks whether the holder of the lease runs.
  package var isQuestion = false
  /// True if more is known of writes in the outbox, or of refused ones.
  package var concernsOutbox = false
  /// True if the pending writes should be retried without a pause.
  package var asksForRetry = false
  /// True if the cache is about to be deleted.
  package var mustEnd = false

  package init() {}

  /// Notices were removed before this client read them: everything that they may have said is looked up.
  mutating func noteGap() {
    isIncomplete = true
    hasNewBatches = true
    concernsClients = true
    concernsLease = true
    concernsIndexes = true
    concernsOutbox = true
  }

  /// True if there is nothing to be done.
  package var isEmpty: Bool {
    changes.isEmpty && answers.isEmpty && !hasNewBatches
      && targetStates.isEmpty && rejectedTargets.isEmpty && resetTargets.isEmpty
      && !concernsClients && !concernsLease && !concernsIndexes
      && !concernsOutbox && !asksForRetry && !isIncomplete && !isFromPrimary && !isQuestion && !mustEnd
  }
}
