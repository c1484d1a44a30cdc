internal import HearthCache
internal import HearthModel

extension SyncEngine {
  /// Carries out what follows from a step of a conflict, in order.
  func follow(_ actions: [Conflicts.Action]) {
    for action in actions {
      switch action {
      case .emit(let action): emit(action)
      case .outboxChanges: statusWatch.outboxChanges()
      case .store(let conflict): store(conflict)
      case .sendOn: fillWritePipeline()
      case .forgetFutileTurns: emit(membership.forgetFutileTurns(in: localStore))
      }
    }
  }

  /// Gives a batch the preconditions that it is sent with.
  ///
  /// Those that are stored with it stay: it may have been sent, and is sent again with what it was sent with, whatever the rules are now and
  /// whatever is left of the documents that it was made for.
  ///
  /// - Returns: Nil if it cannot be sent yet: batches on their way write the same documents, or they have to be compared first.
  func guarded(_ batch: MutationBatch) throws -> MutationBatch? {
    guard batch.keepsBases else { return batch }
    let isRefused = conflicts.isRefused(batch.batchID)
    if let guards = batch.guards, !isRefused { return sender.isWriting(any: Set(guards.keys)) ? nil : batch }
    let bases = try localStore.outbox.bases(of: batch)
    // Only their answers bring the versions that this batch is made for.
    if sender.isWriting(any: Set(bases.bases.keys)) { return nil }
    if bases.mustBeCompared || isRefused {
      // A former process may have sent it, so that the backend's documents may be those that it makes.
      let mayBeCommitted = try sender.mayBeCommitted(
        batch.batchID, lastSent: localStore.outbox.lastBatchThatMayBeSent)
      let conflict = OpenConflict(
        batch, owner: sender.user, bases: bases, mayBeCommitted: mayBeCommitted, stage: .pausing)
      follow(conflicts.compare(conflict, now: now))
      return nil
    }
    var guarded = batch
    guarded.guards = MutationBatch.guards(of: batch.mutations, madeFor: bases.bases)
    return guarded
  }

  /// Stores how a conflict ends, and lets the outbox go on.
  private func store(_ conflict: SettledConflict) {
    let batchID = conflict.batch.batchID
    do {
      let changes =
        switch conflict.end {
        case .resolved(let outcome):
          try localStore.resolveConflict(conflict.batch, outcome, of: .user(conflict.owner), at: wallTime)
        case .rejected(let error):
          try localStore.rejectConflict(conflict.batch, error, of: .user(conflict.owner), at: wallTime)
        }
      conflicts.stored(batchID)
      sender.settle(batchID)
      if conflict.leavesOutbox { completeOutOfTurn(batchID, conflict.error) }
      statusWatch.outboxChanges()
      refreshViews(changes)
    } catch CacheError.unknownBatch {
      log(.debug, "Write \(batchID) has left the outbox or changed while it was compared.")
    } catch {
      return goOffline(after: error, retrying: .probe(.outboxFailure))
    }
    fillWritePipeline()
  }

  /// The conflict that the outbox waits for, as it is shown.
  package var outboxConflict: OutboxConflict? { conflicts.state }
}
