internal import HearthCache
package import HearthModel

/// The state that an engine leaves to its successor when the cache of a running client is opened anew.
package struct SyncHandover {
  /// The user whose outbox the new cache is to show, even if the change to this user could not be carried out in the old one.
  package let user: String?
  /// The calls that wait for the answer to a batch.
  var waitingWrites: [BatchID: [WriteID]]
  /// Answers of the backend that could not be stored.
  var answers: [RetryableOperation]
  /// Writes that are not stored yet.
  var heldWrites: [HeldWrite]
  /// The writes that are not stored yet, oldest first.
  package var heldWriteIDs: [WriteID] { heldWrites.map(\.write.id) }
  var isNetworkDisabled: Bool
  var createsIndexes: Bool
}

extension SyncEngine {
  /// Ends this engine in favour of another one. Listeners and requests are not handed over: what they rely on is gone.
  package func handOver() -> SyncHandover {
    SyncHandover(
      user: signedInUser, waitingWrites: waits.pendingWrites, answers: retries.answers,
      heldWrites: heldWrites,
      isNetworkDisabled: link.isForbidden(for: .disabledByUser), createsIndexes: localStore.createsIndexes)
  }

  /// Goes on for another engine, before the start.
  ///
  /// - Parameters:
  ///   - reason: Stands in the error of calls whose batch could not be saved.
  ///   - isOtherCache: True if nothing of the former cache was saved into this one, so that the same numbers are other batches.
  ///   - wallTime: The device's time, as in ``handle(_:now:wallTime:)``.
  package func takeOver(
    _ handover: SyncHandover, reason: String, isOtherCache: Bool = false, wallTime: Timestamp = .epoch
  ) {
    self.wallTime = wallTime
    assert(link.isForbidden(for: .notStarted), "An engine goes on for another after its start.")
    waits = WriteWaits(writes: handover.waitingWrites)
    localStore.createsIndexes = handover.createsIndexes
    if handover.isNetworkDisabled { link.forbid(.disabledByUser) }
    if isOtherCache {
      for answer in handover.answers { completeWaits(for: answer) }
      loseWaits(waits.pendingWrites.keys.sorted(), reason)
    } else {
      // Before anything is sent: without its answer a batch would go out again. One that fails here stays in line.
      for answer in handover.answers { attempt(answer) }
    }
    heldWrites = handover.heldWrites
    if !heldWrites.isEmpty { retry(.storeWrites) }
    loseWaits(waits.pendingWrites.keys.sorted().filter { (try? localStore.isPending($0)) == false }, reason)
  }

  /// Completes the calls that wait for batches that are not in the cache any more.
  private func loseWaits(_ batches: [BatchID], _ reason: String) {
    for batchID in batches {
      let message = "Pending write \(batchID) could not be saved: \(reason)"
      emit(waits.complete(batchID, StatusError(code: .dataLoss, message: message)))
    }
  }

  /// Completes the calls that wait for the batch that was answered.
  private func completeWaits(for answer: RetryableOperation) {
    switch answer {
    case .acknowledge(let result, _): emit(waits.complete(result.batch.batchID, nil))
    case .reject(let batch, let error, _): emit(waits.complete(batch.batchID, error))
    case .start, .probe, .setAsideUnreadableBatches, .changeUser, .refreshViews, .storeWrites, .beginListens, .catchUp,
      .storeTargetUses, .rejoin, .becomePrimary, .synchronizeViews, .followOthers, .publish:
      break
    }
  }
}
