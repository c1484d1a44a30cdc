internal import HearthCache
internal import HearthModel

/// The calls that wait for answers to writes.
struct WriteWaits {
  /// By the batches that they wait for.
  private var writes: [BatchID: [WriteID]]
  /// The calls that wait until everything up to a batch has been answered, in the order in which they came.
  private var requests: [(highestBatchID: BatchID, request: RequestID)] = []

  /// - Parameter writes: The calls that an earlier engine left.
  init(writes: [BatchID: [WriteID]] = [:]) {
    self.writes = writes
  }

  /// The calls that wait for the answer to one batch each: the write itself, and those that asked for it later.
  var pendingWrites: [BatchID: [WriteID]] { writes }

  mutating func add(_ write: WriteID, for batchID: BatchID) {
    writes[batchID, default: []].append(write)
  }

  mutating func add(_ request: RequestID, upTo batchID: BatchID) {
    requests.append((batchID, request))
  }

  /// Completes the write whose batch was answered or lost, and nothing else.
  mutating func complete(_ batchID: BatchID, _ error: StatusError?) -> [SyncAction] {
    (writes.removeValue(forKey: batchID) ?? []).map { .completeWrite($0, error) }
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
    defer { requests = [] }
    return requests.map { .requestFailed($0.request, .userChanged) }
  }
}
