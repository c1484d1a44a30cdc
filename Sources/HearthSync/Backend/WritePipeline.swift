internal import HearthCache
internal import HearthModel

/// The batches on their way to the backend, in order, and the write stream: they are sent as soon as it is ready.
///
/// A stream that is closed, because the network was switched off or has changed, or for another user, is given a moment for
/// the answers to what was sent. The backend may have committed those batches. Without their answers they would be sent again,
/// and a backend that does not know labels would commit them twice. The official client drops such answers (firebase-ios-sdk
/// stream.cc, Close: the observer gets no more calls).
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
    /// True if further batches may be sent because of this answer.
    let makesRoom: Bool
  }

  /// The end of a write stream.
  enum StreamEnd {
    /// Nothing is known of the stream.
    case ignored
    /// The backend refused the batch, or none.
    case ended(rejected: Answered?, unanswered: [MutationBatch])
    /// The stream was closed before, and its batches have to be sent again.
    case partingEnded
  }

  /// The answers that a stream that was closed in good order still owes.
  private struct Parting {
    /// Never empty.
    var batches: [MutationBatch]
    let owner: String?
  }

  private let capacity: Int
  /// Names the cache in the labels of batches.
  private let cacheID: String
  /// The user whose outbox is sent.
  private(set) var user: String?
  /// The error with which the last stream ended; nil once a batch was answered.
  private(set) var lastError: StatusError?
  /// True if the last stream that ended had come as far as the backend, which has answered the handshake. Credentials that it refuses later
  /// do not count: another process may have better ones.
  private(set) var cameThrough = false
  private(set) var stream: WriteStream
  private(set) var batches: [MutationBatch] = []
  /// True if the outbox held no batch behind the last one here when it was read last, and everything stored since is here too.
  /// Then a batch that is written next can be sent as it is.
  private(set) var reachesEndOfOutbox = false
  /// Batches that were sent, and whose answers another client has stored: they must not be sent again.
  private var answeredElsewhere: Set<BatchID> = []
  /// By the streams that have not ended.
  private var parting: [StreamID: Parting] = [:]

  init(configuration: SyncConfiguration, cacheID: String, user: String?) {
    capacity = configuration.maxPendingWriteBatches
    self.cacheID = cacheID
    self.user = user
    stream = WriteStream(configuration: configuration)
  }

  var hasRoom: Bool { batches.count < capacity }

  /// True if batches of the user may still be answered on a stream that was closed.
  var awaitsLateAnswers: Bool {
    parting.values.contains { LocalStore.isSameUser($0.owner, user) }
  }

  /// True if batches were sent that the backend may have committed and has not answered.
  var awaitsAnswers: Bool { awaitsLateAnswers || stream.readyID != nil && !batches.isEmpty }

  /// True if the last attempt to send batches has failed and the next one has not come through.
  var failsToWrite: Bool {
    if stream.isPausing { return true }
    guard let lastError, stream.isStarted, !stream.isReady, !batches.isEmpty else { return false }
    // One that refuses a batch shows that the backend works.
    return !lastError.code.isPermanentForWrites
  }

  /// True if the backend can be reached and wants nothing of what is sent before a pause is over, because of a quota for instance.
  var isRefusedForNow: Bool { cameThrough && stream.isPausing }

  // MARK: - The outbox

  mutating func serve(_ user: String?) {
    self.user = user
  }

  /// Adds a batch, and sends it if the stream is ready.
  mutating func append(_ batch: MutationBatch) -> [SyncAction] {
    batches.append(batch)
    return send(batch)
  }

  mutating func endOfOutboxReached() {
    reachesEndOfOutbox = true
  }

  /// A batch was stored that is not in the pipeline.
  mutating func outboxHasGrown() {
    reachesEndOfOutbox = false
  }

  /// Another client has stored the answer to a batch. It must not be sent any more, nor once more.
  mutating func answeredElsewhere(_ batchID: BatchID) {
    if stream.readyID == nil {
      batches.removeAll { $0.batchID == batchID }
    } else if batches.contains(where: { $0.batchID == batchID }) {
      // Its place in the order of answers is needed until the stream ends.
      answeredElsewhere.insert(batchID)
    }
  }

  /// Empties the pipeline between two streams: the outbox is read again from its beginning.
  mutating func takeBackBatches() {
    assert(stream.readyID == nil, "Batches are taken back that may be answered.")
    batches = []
    answeredElsewhere = []
    reachesEndOfOutbox = false
  }

  // MARK: - The stream

  mutating func start(now: Duration, jitter: () -> Double, nextID: () -> StreamID) -> [SyncAction] {
    stream.start(now: now, jitter: jitter, nextID: nextID)
  }

  /// Closes the stream. The batches leave the pipeline; those that were sent may be answered until the stream has ended.
  mutating func stop() -> [SyncAction] {
    if let id = stream.readyID, !batches.isEmpty { parting[id] = Parting(batches: batches, owner: user) }
    batches = []
    answeredElsewhere = []
    reachesEndOfOutbox = false
    return stream.stop()
  }

  mutating func inhibitBackoff() {
    stream.inhibitBackoff()
  }

  /// Ends the pause before the next attempt; the batches stay.
  mutating func endPause() -> [SyncAction] {
    guard stream.isPausing else { return [] }
    defer { stream.inhibitBackoff() }
    return stream.stop()
  }

  /// The batches that were sent and not answered.
  var batchesAtBackend: Set<BatchID> {
    let sent = stream.isReady ? batches.map(\.batchID) : []
    return Set(sent + parting.values.flatMap { $0.batches.map(\.batchID) })
  }

  mutating func backoffTimerFired(now: Duration, nextID: () -> StreamID) -> [SyncAction] {
    stream.backoffTimerFired(now: now, nextID: nextID)
  }

  mutating func idleTimerFired() -> [SyncAction] {
    stream.idleTimerFired()
  }

  mutating func markIdle() -> [SyncAction] {
    stream.markIdle()
  }

  mutating func opened(_ id: StreamID, now: Duration) -> [SyncAction] {
    stream.opened(id, now: now)
  }

  mutating func received(_ response: WriteResponse, on id: StreamID) -> (actions: [SyncAction], answered: Answered?) {
    switch stream.received(response, on: id) {
    case .stale:
      return ([], lateAnswer(response, on: id))
    case .handshakeComplete:
      // Batches that were added before have not been sent.
      var actions: [SyncAction] = []
      for batch in batches { actions += send(batch) }
      return (actions, nil)
    case .batchAnswered:
      lastError = nil
      return ([], takeFirst())
    }
  }

  mutating func closed(_ id: StreamID, _ error: StatusError?, now: Duration) -> (actions: [SyncAction], end: StreamEnd)
  {
    guard let closure = stream.closed(id, error: error, now: now) else {
      return ([], parting.removeValue(forKey: id) == nil ? .ignored : .partingEnded)
    }
    let log = SyncAction.log(.debug, "Write stream closed: \(error?.description ?? "without an error")")
    lastError = error
    cameThrough = closure.handshakeWasComplete && error?.code != .unauthenticated
    var unanswered = closure.handshakeWasComplete ? batches.filter { !answeredElsewhere.contains($0.batchID) } : []
    var rejected: Answered?
    // Answers come in order, so the error is about the first batch that has none. Before the handshake it is about the
    // stream, which is opened again after a pause whatever the code says.
    if let error, closure.handshakeWasComplete, error.code.isPermanentForWrites {
      rejected = takeFirst()
      unanswered = []
      // The backend works; it is this batch that it does not want.
      if rejected != nil { stream.inhibitBackoff() }
    }
    batches.removeAll { answeredElsewhere.contains($0.batchID) }
    answeredElsewhere = []
    return (closure.actions + [log], .ended(rejected: rejected, unanswered: unanswered))
  }

  /// Takes the answer to the oldest batch that a closed stream owes. One without its results is that to the goodbye.
  private mutating func lateAnswer(_ response: WriteResponse, on id: StreamID) -> Answered? {
    guard var closed = parting[id], let batch = closed.batches.first,
      response.results.count == batch.mutations.count
    else { return nil }
    closed.batches.removeFirst()
    parting[id] = closed.batches.isEmpty ? nil : closed
    return Answered(batch: batch, owner: closed.owner, makesRoom: closed.batches.isEmpty)
  }

  private mutating func takeFirst() -> Answered? {
    guard !batches.isEmpty else { return nil }
    return Answered(batch: batches.removeFirst(), owner: user, makesRoom: true)
  }

  private mutating func send(_ batch: MutationBatch) -> [SyncAction] {
    let label = batch.identity.map { BatchLabel(cacheID: cacheID, identity: $0).text }
    return stream.send(batch.guardedMutations, batchLabel: label)
  }

  func assertInvariants() {
    assert(batches.count <= capacity, "\(batches.count) batches are on their way, of at most \(capacity).")
    assert(
      zip(batches, batches.dropFirst()).allSatisfy { $0.batchID < $1.batchID },
      "Batches are out of order: \(batches.map(\.batchID)).")
    assert(parting.values.allSatisfy { !$0.batches.isEmpty }, "A closed stream owes no batch.")
    assert(
      batches.isEmpty || !awaitsLateAnswers,
      "Batches \(batches.map(\.batchID)) are sent although earlier ones may be answered on a closed stream.")
  }
}
