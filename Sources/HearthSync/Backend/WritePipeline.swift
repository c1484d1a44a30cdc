internal import HearthCache
internal import HearthModel

/// The batches on their way to the backend, in order: sent as soon as the write stream is ready.
///
/// A stream that is closed, because the network was switched off or has changed, or for another user, is given a moment for
/// the answers to what was sent. The backend may have committed those batches. Without their answers they would be sent again,
/// and a backend that does not know labels would commit them twice. The official client drops such answers (firebase-ios-sdk
/// stream.cc, Close: the observer is told of nothing more).
///
/// Until the stream has ended, its batches are neither in the pipeline nor may they be sent again, so nothing more of their
/// owner's is sent: answers are matched to batches by their order alone. The transport ends such a stream within its patience,
/// and always says so.
struct WritePipeline {
  /// A batch that the backend has answered.
  struct Answered {
    let batch: MutationBatch
    /// The user for whom the batch was sent; another one may be signed in when the answer comes.
    let owner: String?
    /// Whether further batches may be sent because of this answer.
    let makesRoom: Bool
  }

  /// The answers that a stream that was closed in good order still owes.
  private struct Parting {
    /// Never empty.
    var batches: [MutationBatch]
    let owner: String?
  }

  private let capacity: Int
  private(set) var batches: [MutationBatch] = []
  /// Whether the outbox held no batch behind the last one here when it was read last, and everything stored since is here too.
  /// Then a batch that is written next can be sent as it is.
  private(set) var reachesEndOfOutbox = false
  /// By the streams that have not ended.
  private var parting: [StreamID: Parting] = [:]

  init(capacity: Int) {
    self.capacity = capacity
  }

  var hasRoom: Bool { batches.count < capacity }

  /// Whether batches of the user may still be answered on a stream that was closed.
  func awaitsLateAnswers(for user: String?) -> Bool {
    parting.values.contains { LocalStore.isSameUser($0.owner, user) }
  }

  mutating func append(_ batch: MutationBatch) {
    batches.append(batch)
  }

  /// Removes the batch that an answer is about. Answers come in order.
  mutating func removeFirst() -> MutationBatch? {
    batches.isEmpty ? nil : batches.removeFirst()
  }

  /// The stream is about to be closed: the batches leave the pipeline.
  ///
  /// - Parameter id: The stream that they were sent on, nil if they were not sent.
  mutating func part(from id: StreamID?, owner: String?) {
    if let id, !batches.isEmpty { parting[id] = Parting(batches: batches, owner: owner) }
    batches = []
    reachesEndOfOutbox = false
  }

  mutating func endOfOutboxReached() {
    reachesEndOfOutbox = true
  }

  /// A batch was stored that is not in the pipeline.
  mutating func outboxHasGrown() {
    reachesEndOfOutbox = false
  }

  /// Takes the answer to the oldest batch that a closed stream owes. One without its results is that to the goodbye.
  mutating func lateAnswer(_ response: WriteResponse, on id: StreamID) -> Answered? {
    guard var stream = parting[id], let batch = stream.batches.first,
      response.results.count == batch.mutations.count
    else { return nil }
    stream.batches.removeFirst()
    parting[id] = stream.batches.isEmpty ? nil : stream
    return Answered(batch: batch, owner: stream.owner, makesRoom: stream.batches.isEmpty)
  }

  /// A stream has ended that was closed before.
  ///
  /// - Returns: Whether it owed answers, so that its batches are to be sent again.
  mutating func partingStreamEnded(_ id: StreamID) -> Bool {
    parting.removeValue(forKey: id) != nil
  }

  func assertInvariants() {
    assert(batches.count <= capacity, "\(batches.count) batches are on their way, of at most \(capacity).")
    assert(
      zip(batches, batches.dropFirst()).allSatisfy { $0.batchID < $1.batchID },
      "Batches are out of order: \(batches.map(\.batchID)).")
    assert(parting.values.allSatisfy { !$0.batches.isEmpty }, "A closed stream owes no batch.")
  }
}
