internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthSync

extension Reopening {
  /// True if there is another file now that nothing was saved into.
  fileprivate var replacesFile: Bool {
    if case .filesAreLost = self { true } else { false }
  }
}

/// A client whose cache is damaged, and the client that goes on for it when the cache was reopened.
extension RunningClient {
  /// The parts of a client that its successor takes over when the cache is reopened.
  struct Remainder {
    var cause: Reopening
    /// The reason why the file could not be marked that must not be used any more; nil if there is none.
    fileprivate(set) var obstacle: (any Error)?
    /// Closed.
    fileprivate let cache: OpenCache
    let handover: SyncHandover
    fileprivate var writes: [WriteID: WriteCompletion]
    fileprivate var requests: [RequestID: ClientRequest]
    fileprivate var syncListeners: [ListenerID: Listener<Void>]
    fileprivate var outbox: OutboxObservation
    fileprivate var status: StatusObservation

    /// Marks a file that must not be used any more, before it is reopened.
    mutating func removeObstacle() throws {
      guard obstacle != nil else { return }
      try cache.markDamaged(cause.reason)
      obstacle = nil
    }

    /// Ends the parts when there is no successor.
    ///
    /// - Parameter lost: Gets the writes that were not saved.
    mutating func abandon(_ error: NSError, _ lost: LostWrites) {
      for (_, request) in requests { request.fail(error) }
      outbox.end(.failure(error))
      status.end(.failure(error))
      for (_, listener) in syncListeners { listener.remove() }
      AbandonedWrites(reason: error, place: .outOfReach, unsaved: Set(handover.heldWriteIDs)).end(writes, lost)
    }
  }

  /// The reason to reopen the cache; nil while it can be used.
  var reopening: Reopening? { cache.localStore.reopening }

  /// Closes the cache so that it can be reopened. Listeners and reads of documents end with `dataLoss`; writes keep waiting for their
  /// answers, and operations that outlive the damage are begun again.
  func endForReopening(_ cause: Reopening) -> Remainder {
    for id in engine.identifyHeldWrites() { writeNotSaved(id, Self.lostBatch(cause)) }
    var remainder = Remainder(
      cause: cause, cache: cache, handover: engine.handOver(), writes: writes, requests: takeLastingRequests(cause),
      syncListeners: syncListeners, outbox: outbox, status: status)
    outbox = OutboxObservation()
    status = StatusObservation()
    // A reading that began before the last write keeps the log from being moved into the file. After a failed sync that would cost the whole
    // cache: the file would be set aside. And once the file is marked, nobody should go on reading it as if it were whole.
    endBackgroundReadings()
    do {
      try cache.prepareReopening(cause)
    } catch {
      remainder.obstacle = error
    }
    close(failing: Self.error(for: cause))
    return remainder
  }

  /// Takes the operations that are begun again in the cache that is reopened, with the identities of the batches that they are about.
  private func takeLastingRequests(_ cause: Reopening) -> [RequestID: ClientRequest] {
    var lasting = requests.filter(\.value.outlivesDamage)
    requests = requests.filter { !$0.value.outlivesDamage }
    let namedBatches = engine.namedBatches
    for (id, operation) in lasting {
      guard let request = operation.engineRequest else { continue }
      if let identified = namedBatches.identified(request) {
        if identified != request { lasting[id] = operation.making(identified) }
      } else {
        lasting[id] = nil
        operation.fail(.firestore(Self.lostBatch(cause)))
      }
    }
    return lasting
  }

  private static func lostBatch(_ cause: Reopening) -> StatusError {
    StatusError(
      code: .dataLoss,
      message:
        "The write of this call was not found in the cache, which was reopened. Another write may have its number there. "
        + "List the writes again. (\(cause.reason))")
  }

  private static func error(for cause: Reopening) -> NSError {
    switch cause {
    case .fileIsDamaged(let reason), .targetsWereRepaired(let reason):
      .firestore(.dataLoss, "The cache was damaged and has been reopened. Listen or read again. (\(reason))")
    case .syncFailed(let reason):
      .firestore(.dataLoss, "The cache was not safe and has been reopened. Listen or read again. (\(reason))")
    case .filesAreLost(let reason):
      .firestore(
        .dataLoss, "The cache's files were lost, and it has been reopened. Listen or read again. (\(reason))")
    }
  }

  func takeOver(_ former: Remainder) {
    writes = former.writes
    syncListeners = former.syncListeners
    engine.takeOver(former.handover, reason: former.cause.reason, wallTime: .now())
    for id in syncListeners.keys.sorted(by: { $0.rawValue < $1.rawValue }) { run(.addSnapshotsInSyncListener(id)) }
    observeOutbox(continuing: former.outbox)
    observeStatus(continuing: former.status)
    if !former.cause.replacesFile {
      takenOverRequests = former.requests
    } else {
      // They were about the cache that is lost.
      for (_, request) in former.requests { request.fail(Self.error(for: former.cause)) }
    }
  }

  /// True if the request, which has just failed, stays for the client that reopens the cache.
  ///
  /// - Parameter error: The error that it has failed with.
  func isTakenOver(_ id: RequestID, _ error: any Error) -> Bool {
    // A user who has signed out ends a call for good, also in the event in which the damage is found: the next client would ask for another one.
    if let status = error as? StatusError, status == .userChanged { return false }
    guard reopening != nil, let request = requests[id], request.outlivesDamage,
      request.damageCount < ClientRequest.damageLimit
    else { return false }
    requests[id]?.damageCount += 1
    return true
  }
}
