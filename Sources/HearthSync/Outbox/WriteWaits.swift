internal import HearthCache
internal import HearthModel

/// The calls that wait for answers to writes.
struct WriteWaits {
  /// The calls that wait for the answer to one batch: the write itself, and later requests for its outcome.
  struct Wait: Sendable {
    /// Tells the batch from another one with the same number, in a file that has taken the place of the one it was stored in.
    var identity: BatchIdentity?
    var writes: [WriteID] = []
    /// True if an earlier engine has sent the batch, or may have.
    var mayBeAtBackend = false
  }

  private(set) var pendingBatches: [BatchID: Wait]
  /// The calls that wait until everything up to a batch has been answered, in the order in which they came.
  private var requests: [(highestBatchID: BatchID, request: RequestID)] = []
  /// The calls that wait until the writes held in memory (``HeldCalls``) are stored, and then for their answers.
  private var heldRequests: [RequestID] = []

  /// - Parameter pendingBatches: The calls that an earlier engine left.
  init(pendingBatches: [BatchID: Wait] = [:]) {
    self.pendingBatches = pendingBatches
  }

  /// Lets a call wait for the answer to a batch.
  ///
  /// - Returns: The ends of the calls that wait for another batch under this number. It was in a file that has been replaced, and could not be
  ///   looked up since then.
  mutating func add(_ write: WriteID, for batchID: BatchID, _ identity: BatchIdentity?) -> [SyncAction] {
    var ends: [SyncAction] = []
    if let identity, let former = pendingBatches[batchID]?.identity, former != identity {
      ends = complete(batchID, nil, .outcomeUnknown)
    }
    pendingBatches[batchID, default: Wait(identity: identity)].writes.append(write)
    return ends
  }

  /// Lets a call wait for writes that are not stored yet.
  mutating func hold(_ request: RequestID) {
    heldRequests.append(request)
  }

  /// Lets a call wait until everything is answered that the user has written up to now.
  ///
  /// - Parameters:
  ///   - areHeld: True if some of it is not stored yet.
  ///   - canWrite: False while nothing is sent.
  mutating func wait(
    _ request: RequestID, of user: String?, in outbox: CacheOutbox, areHeld: Bool, _ canWrite: Bool
  ) -> [SyncAction] {
    if areHeld {
      hold(request)
      return []
    }
    do {
      guard let highest = try outbox.highestBatchID(of: .user(user)) else { return [.answer(request, .done)] }
      add(request, upTo: highest)
      if canWrite { return [] }
      return [.log(.debug, "The network is disabled: waiting for pending writes lasts until it is enabled again.")]
    } catch {
      return [.requestFailed(request, .storage("Pending writes could not be counted", error))]
    }
  }

  /// Takes the calls that have waited for writes to be stored.
  mutating func takeHeldRequests() -> [RequestID] {
    defer { heldRequests = [] }
    return heldRequests
  }

  mutating func add(_ request: RequestID, upTo batchID: BatchID) {
    requests.append((batchID, request))
  }

  /// Completes the write whose batch was answered or lost, and nothing else.
  ///
  /// - Parameter identity: The identity of the batch; nil if it is not known. A call that waits for another batch under this number, which was in a file that
  ///   has been replaced, goes on waiting until that is looked up.
  mutating func complete(_ batchID: BatchID, _ identity: BatchIdentity?, _ error: StatusError?) -> [SyncAction] {
    guard mayAwait(batchID, identity) else { return [] }
    return (pendingBatches.removeValue(forKey: batchID)?.writes ?? []).map { .completeWrite($0, error) }
  }

  /// True if a call waits for the batch. Where one of the identities is not known, the number decides.
  func mayAwait(_ batchID: BatchID, _ identity: BatchIdentity?) -> Bool {
    guard let wait = pendingBatches[batchID] else { return false }
    return wait.identity == nil || identity == nil || wait.identity == identity
  }

  /// Ends the waits for a batch that was answered, and for all earlier ones: batches are answered in order.
  mutating func batchAnswered(_ batchID: BatchID) -> [SyncAction] {
    defer { requests.removeAll { $0.highestBatchID <= batchID } }
    return requests.filter { $0.highestBatchID <= batchID }.map { .answer($0.request, .done) }
  }

  /// Ends the waits for batches that left the queue without an answer.
  ///
  /// - Parameter highest: Returns the last batch in the queue up to the given one, nil if there is none.
  mutating func lower(to highest: (BatchID) throws -> BatchID?) throws -> [SyncAction] {
    var remaining: [(highestBatchID: BatchID, request: RequestID)] = []
    var actions: [SyncAction] = []
    for wait in requests {
      if let batchID = try highest(wait.highestBatchID) {
        remaining.append((batchID, wait.request))
      } else {
        actions.append(.answer(wait.request, .done))
      }
    }
    requests = remaining
    return actions
  }

  /// Another user signs in, whose outbox says nothing of these waits.
  mutating func userChanges() -> [SyncAction] {
    defer { (requests, heldRequests) = ([], []) }
    return (requests.map(\.request) + heldRequests).map { .requestFailed($0, .userChanged) }
  }
}
