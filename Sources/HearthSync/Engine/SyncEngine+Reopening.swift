internal import HearthCache
package import HearthModel

/// The state that an engine leaves to its successor when the cache of a running client is opened anew.
package struct SyncHandover {
  /// The user whose outbox the new cache is to show, even if the change to this user could not be carried out in the old one.
  package let user: String?
  /// The calls that wait for the answers to batches.
  var pendingBatches: [BatchID: WriteWaits.Wait]
  /// Answers of the backend that could not be stored.
  var answers: [RetryableOperation]
  /// Writes that are not stored yet.
  var heldWrites: [HeldWrite]
  /// The writes that are not stored yet, oldest first.
  package var heldWriteIDs: [WriteID] { heldWrites.map(\.write.id) }
  var isNetworkDisabled: Bool
  var createsIndexes: Bool
  /// True if another client may have had the answer to a batch that the new cache does not have.
  var hasOthers: Bool
}

extension SyncEngine {
  /// Ends this engine in favour of another one. Listeners and requests are not handed over: what they rely on is gone.
  package func handOver() -> SyncHandover {
    SyncHandover(
      user: signedInUser, pendingBatches: waits.pendingBatches, answers: retries.answers,
      heldWrites: heldWrites,
      isNetworkDisabled: link.isForbidden(for: .disabledByUser), createsIndexes: localStore.createsIndexes,
      hasOthers: (try? localStore.otherClientNames().isEmpty) != true)
  }

  /// Goes on for another engine, before the start.
  ///
  /// Batches and writes are the same ones by their identities: the cache may be another one in place of the former, with the same numbers.
  ///
  /// - Parameters:
  ///   - reason: Stands in the error of calls whose batch could not be saved.
  ///   - wallTime: The device's time, as in ``handle(_:now:wallTime:)``.
  package func takeOver(_ handover: SyncHandover, reason: String, wallTime: Timestamp = .epoch) {
    self.wallTime = wallTime
    assert(link.isForbidden(for: .notStarted), "An engine goes on for another after its start.")
    waits = WriteWaits(pendingBatches: handover.pendingBatches)
    localStore.createsIndexes = handover.createsIndexes
    if handover.isNetworkDisabled { link.forbid(.disabledByUser) }
    // Before anything is sent: without its answer a batch would go out again. One that fails here stays in line.
    for answer in handover.answers { attempt(answer) }
    for (batchID, wait) in waits.pendingBatches.sorted(by: { $0.key < $1.key })
    where (try? localStore.isPending(batchID, wait.identity)) == false {
      emit(waits.complete(batchID, handover.hasOthers ? .outcomeUnknown : .notSaved(batchID, reason)))
    }
    heldWrites = findStored(among: handover.heldWrites)
    if !heldWrites.isEmpty { retry(.storeWrites) }
  }

  /// Takes writes whose commit has failed, and that were stored all the same because only the sync after it failed, off the held ones. Their
  /// callers wait for the answers then.
  private func findStored(among writes: [HeldWrite]) -> [HeldWrite] {
    let identities = writes.compactMap(\.write.identity)
    guard !identities.isEmpty, let stored = try? localStore.pendingBatchIDs(of: Set(identities)) else { return writes }
    return writes.filter { held in
      guard let identity = held.write.identity, let batchID = stored[identity] else { return true }
      waits.add(held.write.id, for: batchID, identity)
      return false
    }
  }
}

extension StatusError {
  fileprivate static func notSaved(_ batchID: BatchID, _ reason: String) -> StatusError {
    StatusError(code: .dataLoss, message: "Pending write \(batchID) could not be saved: \(reason)")
  }
}
