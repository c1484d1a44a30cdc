internal import HearthCache
internal import HearthModel

/// What a write stream that was closed in good order still owes: the answers to batches that were sent on it, in order.
struct PartingWrites {
  var batches: [MutationBatch]
  /// For whom the stream was opened; another user may be signed in when the answer comes.
  let owner: String?
}

extension SyncEngine {
  // A stream that is closed, because the network was switched off or has changed, or for another user, is given a moment for the
  // answers to what was sent. The backend may have committed those batches. Without their answers they would be sent again,
  // and a backend that does not know labels would commit them twice. The official client drops such answers (firebase-ios-sdk
  // stream.cc, Close: the observer is told of nothing more).
  //
  // Until the stream has ended, its batches are neither in the pipeline nor may they be sent again, so nothing more of their
  // owner's is sent: answers are matched to batches by their order alone. The transport ends such a stream within its patience,
  // and always says so.

  /// Remembers what the write stream owes, before it is closed.
  func partFromWriteStream() {
    guard let id = writeStream.readyID, !writePipeline.isEmpty else { return }
    partingWrites[id] = PartingWrites(batches: writePipeline, owner: localStore.user)
  }

  /// Whether batches of the user whose outbox the cache shows may be answered on a stream that was closed.
  var awaitsLateAnswers: Bool {
    partingWrites.values.contains { LocalStore.isSameUser($0.owner, localStore.user) }
  }

  /// The answer to the oldest batch that the closed stream owes. One without its results is that to the goodbye.
  func lateAnswerReceived(_ response: WriteResponse, on id: StreamID) {
    guard var parting = partingWrites[id], let batch = parting.batches.first,
      response.results.count == batch.mutations.count
    else { return }
    parting.batches.removeFirst()
    partingWrites[id] = parting.batches.isEmpty ? nil : parting
    attempt(
      .acknowledge(
        MutationBatchResult(batch: batch, commitVersion: response.commitVersion, results: response.results),
        owner: parting.owner))
    if parting.batches.isEmpty { fillWritePipeline() }
  }

  /// The closed stream has ended: what it still owes is sent again.
  func partingStreamEnded(_ id: StreamID) {
    if partingWrites.removeValue(forKey: id) != nil { fillWritePipeline() }
  }
}
