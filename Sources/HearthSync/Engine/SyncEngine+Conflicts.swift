internal import HearthCache
internal import HearthModel

extension SyncEngine {
  /// Carries out what follows from a step of a conflict, in order.
  func follow(_ actions: [Conflicts.Action]) {
    for action in actions {
      switch action {
      case .emit(let action): emit(action)
      case .outboxChanges: statusWatch.outboxChanges()
      case .store(let conflict): follow(conflicts.store(conflict, at: wallTime, in: localStore))
      case .settle(let batchID): sender.settle(batchID)
      case .complete(let conflict):
        let batch = conflict.batch
        follow(
          waits.leftOutOfTurn(batch.batchID, batch.identity, conflict.error, of: signedInUser, in: localStore.outbox))
      case .show(let changes, let isReversal): refreshViews(changes, isReversal: isReversal)
      case .rest(let error): goOffline(after: error, retrying: .probe(.outboxFailure))
      case .sendOn: fillWritePipeline()
      case .forgetFutileTurns: emit(membership.forgetFutileTurns(in: localStore))
      }
    }
  }

  /// The conflict that the outbox waits for, as it is shown.
  package var outboxConflict: OutboxConflict? { conflicts.state }
}
