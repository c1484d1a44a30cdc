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
      if conflict.leavesOutbox {
        follow(
          waits.leftOutOfTurn(batchID, conflict.batch.identity, conflict.error, of: signedInUser, in: localStore.outbox)
        )
      }
      statusWatch.outboxChanges()
      if !conflict.reports.isEmpty { emit(.conflictsResolved(conflict.reports)) }
      refreshViews(changes, isReversal: conflict.leavesOutbox)
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
