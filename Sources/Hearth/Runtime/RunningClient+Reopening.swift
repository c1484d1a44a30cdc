internal import Foundation
internal import HearthCache
internal import HearthSync

extension Reopening {
  /// True if there is another file now that nothing was saved into.
  fileprivate var replacesFile: Bool {
    if case .filesAreLost = self { true } else { false }
  }
}

/// A client whose cache is damaged, and the client that goes on for it when the cache was opened anew.
extension RunningClient {
  /// The parts of a client that its successor takes over when the cache is reopened.
  struct Remainder {
    var cause: Reopening
    /// The reason why the cache cannot be opened anew; nil if that can be tried.
    var obstacle: (any Error)?
    /// The name of the cache, which a file that was saved from it keeps. Another one gives the numbers of its batches anew.
    fileprivate var cacheID: String
    let handover: SyncHandover
    fileprivate var writes: [WriteID: WriteCompletion]
    fileprivate var requests: [RequestID: ClientRequest]
    fileprivate var syncListeners: [ListenerID: Listener<Void>]
    fileprivate var outbox: OutboxObservation
    fileprivate var status: StatusObservation

    /// Ends the parts when there is no successor.
    ///
    /// - Returns: an error if there are writes that were not saved.
    mutating func abandon(_ error: NSError) -> NSError? {
      for (_, request) in requests { request.fail(error) }
      outbox.end(.failure(error))
      status.end(.failure(error))
      for (_, listener) in syncListeners { listener.remove() }
      return AbandonedWrites(reason: error, place: .outOfReach, unsaved: Set(handover.heldWriteIDs)).end(writes)
    }
  }

  /// The reason to reopen the cache; nil while it can be used.
  var reopening: Reopening? { cache.localStore.reopening }

  /// Closes the cache so that it can be reopened. Listeners and reads of documents end with `dataLoss`; writes keep waiting for their
  /// answers, and operations that outlive the damage are begun again.
  func endForReopening(_ cause: Reopening) -> Remainder {
    var remainder = Remainder(
      cause: cause, cacheID: cache.localStore.cacheID, handover: engine.handOver(), writes: writes,
      requests: requests.filter(\.value.outlivesDamage), syncListeners: syncListeners, outbox: outbox, status: status)
    requests = requests.filter { !$0.value.outlivesDamage }
    outbox = OutboxObservation()
    status = StatusObservation()
    do {
      try cache.prepareReopening(cause)
    } catch {
      remainder.obstacle = error
    }
    close(failing: Self.error(for: cause))
    return remainder
  }

  private static func error(for cause: Reopening) -> NSError {
    switch cause {
    case .fileIsDamaged(let reason), .targetsWereRepaired(let reason):
      .firestore(.dataLoss, "The cache was damaged and has been opened anew. Listen or read again. (\(reason))")
    case .syncFailed(let reason):
      .firestore(.dataLoss, "The cache was not safe and has been opened anew. Listen or read again. (\(reason))")
    case .filesAreLost(let reason):
      .firestore(
        .dataLoss, "The cache's files are lost, and it has been opened anew. Listen or read again. (\(reason))")
    }
  }

  func takeOver(_ former: Remainder) {
    writes = former.writes
    syncListeners = former.syncListeners
    engine.takeOver(former.handover, reason: former.cause.reason, wallTime: .now())
    for id in syncListeners.keys.sorted(by: { $0.rawValue < $1.rawValue }) { run(.addSnapshotsInSyncListener(id)) }
    observeOutbox(continuing: former.outbox)
    observeStatus(continuing: former.status)
    if former.cacheID == cache.localStore.cacheID, !former.cause.replacesFile {
      takenOverRequests = former.requests
    } else {
      // The batches that they name may be others now, also in an older copy of the same cache.
      for (_, request) in former.requests { request.fail(Self.error(for: former.cause)) }
    }
  }

  /// True if the request, which the cache has just refused, stays for the client that opens the cache anew.
  func isTakenOver(_ id: RequestID) -> Bool {
    guard reopening != nil, let request = requests[id], request.outlivesDamage,
      request.damageCount < ClientRequest.damageLimit
    else { return false }
    requests[id]?.damageCount += 1
    return true
  }
}
