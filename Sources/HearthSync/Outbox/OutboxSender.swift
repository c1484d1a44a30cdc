internal import HearthCache
internal import HearthModel

/// Sends the outbox of one user. It holds the batches in flight, in order, and the write stream, and sends them as soon as the stream is
/// ready.
///
/// It is offered the batches that were just stored, or reads the next ones (``lastBatchID``) from the cache that it is passed. It also
/// stores the marks that sending requires.
///
/// | event | no stream | awaiting the handshake | ready |
/// |---|---|---|---|
/// | a batch is offered or added | waits | waits | sent, if a mark covers it |
/// | another client has stored an answer | leaves | leaves | keeps its position, and is not sent again |
/// | the handshake is answered | - | all are sent | - |
/// | an answer | late: to the first batch of a closed stream | - | the first leaves |
/// | the stream ends | - | all wait | the first is refused if the error is permanent; the others wait |
/// | ``stop()`` | all leave | all leave | all leave; those that were sent may still be answered |
///
/// A stream may be closed because the network was disabled or has changed, or for another user. Then there is a moment for the answers to
/// sent batches. The backend may have committed those batches. Without their answers they would be sent again, and a backend that does not
/// know labels would commit them twice. The official client drops such answers (firebase-ios-sdk stream.cc, Close: the observer gets no
/// more calls).
///
/// Until the stream has ended, its batches are not in the pipeline, and must not be sent again. So no further batch of their owner is sent,
/// because answers are matched to batches by their order alone. The transport ends such a stream within a time limit, and always reports
/// the end.
struct OutboxSender {
  /// A batch that the backend has answered.
  struct Answered {
    let batch: MutationBatch
    /// The user for whom the batch was sent; another one may be signed in when the answer comes.
    let owner: String?
    /// True if further batches may be sent because of this answer.
    let makesRoom: Bool
    /// True if it was sent under its label: a backend that refuses it has not committed it at an earlier attempt either.
    var hadLabel = false
  }

  /// The end of a write stream.
  enum StreamEnd {
    /// Nothing is known of the stream.
    case ignored
    /// The backend refused the batch, or none.
    case ended(rejected: Answered?, unanswered: [MutationBatch])
    /// The stream was closed before, and its batches have to be sent again. The backend may have carried them out.
    case partingEnded(unanswered: [MutationBatch])
  }

  /// The answers that an orderly closed stream still owes.
  private struct Parting {
    /// Never empty.
    var batches: [MutationBatch]
    let owner: String?
  }

  /// The state of the write stream, as part of the connection to the backend.
  struct Reach {
    /// True if a batch is on its way, or the stream is open.
    var isNeeded: Bool
    /// True if nothing waits for the backend, or it has answered. A batch that it refuses for a while is such an answer.
    var isReached: Bool
    /// True if the last attempt has failed before the backend answered.
    var isOutOfReach: Bool
  }

  private let configuration: SyncConfiguration
  private let numbers: StreamNumbers
  /// Names the cache in the labels of batches.
  private let cacheID: String
  /// The user whose outbox is sent.
  private(set) var user: String?
  /// The error with which the last stream ended; nil once a batch was answered.
  private(set) var lastError: StatusError?
  /// True if the last stream that ended had come as far as the backend, which has answered the handshake. Credentials that it refuses later
  /// do not count: another process may have better ones.
  private var cameThrough = false
  private var stream: WriteStream
  private var batches: [MutationBatch] = []
  /// True if the outbox held no batch behind the last one here when it was read last, and everything stored since is here too.
  /// Then a batch that is written next can be sent as it is.
  private(set) var reachesEndOfOutbox = false
  /// Batches that were sent, and whose answers another client has stored: they must not be sent again.
  private var answeredElsewhere: Set<BatchID> = []
  /// By the streams that have not ended.
  private var parting: [StreamID: Parting] = [:]
  private var mark = SendingMark()
  private var uncertain = UncertainBatches()
  /// The batch that the backend refuses for its size, and how many times in a row.
  private var refusals: (batchID: BatchID, count: Int) = (unknownBatchID, 0)

  init(configuration: SyncConfiguration, numbers: StreamNumbers, cacheID: String, user: String?) {
    self.configuration = configuration
    self.numbers = numbers
    self.cacheID = cacheID
    self.user = user
    stream = WriteStream(configuration: configuration)
  }

  // MARK: - State

  /// The number of batches that are sent, or about to be, and not answered.
  var batchCount: Int { batches.count }
  var hasRoom: Bool { batches.count < configuration.maxPendingWriteBatches }
  /// The last batch on its way; `unknownBatchID` if there is none.
  var lastBatchID: BatchID { batches.last?.batchID ?? unknownBatchID }
  /// True if a batch that is put on its way is sent at once.
  var sendsAtOnce: Bool { stream.isReady }
  /// True during the pause before the next attempt to open the stream.
  var isPausing: Bool { stream.isPausing }
  /// True if every batch of the outbox was sent and answered, as far as that was looked for.
  var hasNothingToSend: Bool { batches.isEmpty && reachesEndOfOutbox && !awaitsLateAnswers }

  /// True if batches of the user may still be answered on a stream that was closed.
  var awaitsLateAnswers: Bool {
    parting.values.contains { LocalStore.isSameUser($0.owner, user) }
  }

  /// True if batches of any user were sent that the backend may have committed and has not answered.
  var awaitsAnswers: Bool { !parting.isEmpty || stream.readyID != nil && !batches.isEmpty }

  /// True if the last attempt to send batches has failed and the next one has not come through.
  var failsToWrite: Bool {
    if stream.isPausing { return true }
    guard let lastError, stream.isStarted, !stream.isReady, !batches.isEmpty else { return false }
    // One that refuses a batch shows that the backend works.
    return !lastError.code.isPermanentForWrites
  }

  var reach: Reach {
    // The backend may want nothing of what is sent before a pause is over, because of a quota for instance.
    let isRefusedForNow = cameThrough && stream.isPausing
    return Reach(
      isNeeded: !batches.isEmpty || stream.isReady,
      isReached: stream.isReady || batches.isEmpty || isRefusedForNow, isOutOfReach: failsToWrite && !cameThrough)
  }

  /// The batches that were sent and not answered.
  var batchesAtBackend: Set<BatchID> {
    let sent = stream.isReady ? batches.map(\.batchID) : []
    return Set(sent + parting.values.flatMap { $0.batches.map(\.batchID) })
  }

  /// True if the batch is at the backend, or may be, as far as it is known without the file.
  func mayBeAtBackend(_ batchID: BatchID) -> Bool {
    batchesAtBackend.contains(batchID) || uncertain.contains(batchID)
  }

  /// True if a batch on its way writes one of the documents.
  func isWriting(any keys: Set<DocumentKey>) -> Bool {
    batches.contains { $0.mutations.contains { keys.contains($0.key) } }
  }

  // MARK: - The outbox

  /// The cache shows this user's outbox from now on. Comes while no stream is open.
  mutating func serve(_ user: String?) {
    assert(!stream.isStarted, "The user changes under a stream.")
    self.user = user
  }

  /// Puts a batch on its way that was just stored at the end of the outbox, without its being read back, if all before it are on theirs. One
  /// that no mark covers, or that needs preconditions, is read like others.
  ///
  /// - Parameter canWrite: True if there may be new batches to send.
  mutating func offer(_ batch: MutationBatch, canWrite: Bool) -> [SyncAction] {
    guard !batch.keepsBases, !stream.isReady || mark.covers(batch.batchID) else {
      reachesEndOfOutbox = false
      return []
    }
    // It is on its way already if news of other clients' batches had the outbox read before.
    guard batch.batchID > lastBatchID else { return [] }
    guard canWrite, !awaitsLateAnswers, hasRoom, reachesEndOfOutbox else {
      reachesEndOfOutbox = false
      return []
    }
    return add(batch)
  }

  /// Puts a batch on its way behind the others, and sends it if the stream is ready.
  mutating func add(_ batch: MutationBatch) -> [SyncAction] {
    assert(hasRoom && !awaitsLateAnswers, "Batch \(batch.batchID) is added while there is no room for it.")
    batches.append(batch)
    return send(batch)
  }

  /// The outbox holds no batch behind the last one on its way.
  mutating func endOfOutboxReached() {
    reachesEndOfOutbox = true
  }

  /// A batch was stored, and is not in the pipeline.
  mutating func outboxHasGrown() {
    reachesEndOfOutbox = false
  }

  /// Another client has stored the answer to a batch. It must not be sent, nor resent.
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

  // MARK: - Marks

  /// True if it is stored that the batch may be at the backend.
  func isReserved(_ batchID: BatchID) -> Bool { mark.covers(batchID) }

  /// True if the next mark needs the last of the waiting batches that others may have sent before.
  var needsInheritedBatch: Bool { !mark.isSet || uncertain.isNew(to: user) }

  /// It is stored that batches up to this one may be at the backend.
  ///
  /// - Parameter inherited: The last of the waiting batches that others may have sent before, if it was needed.
  mutating func reserve(through batchID: BatchID, inherited: BatchID?) {
    if let inherited, uncertain.isNew(to: user) { uncertain.begin(through: inherited, of: user) }
    mark.reserve(through: batchID, inherited: inherited)
  }

  /// Ends the mark if nothing more can be sent on a stream.
  ///
  /// - Returns: The batches that were reserved and not sent: those behind the first number, up to the second one. Nil if there are none.
  mutating func endMarkIfStopped() -> (last: BatchID, reserved: BatchID)? {
    stream.isReady ? nil : mark.end()
  }

  // MARK: - Batches that may have been committed

  /// True if the backend may have committed the batch, because it was sent and not answered.
  ///
  /// - Parameter lastSent: Reads the last batch of the user that may have been sent before, which is looked for once.
  mutating func mayBeCommitted(_ batchID: BatchID, lastSent: () throws -> BatchID) rethrows -> Bool {
    if uncertain.isNew(to: user) { uncertain.begin(through: try lastSent(), of: user) }
    return uncertain.contains(batchID)
  }

  /// The batches were sent and not answered before their stream ended.
  mutating func noteFailedAttempt(at batches: [BatchID]) {
    uncertain.insert(batches)
  }

  /// The batch was compared with the backend's documents, or the backend has not committed it: what is sent from now on is another attempt.
  mutating func settle(_ batchID: BatchID) {
    uncertain.settle(batchID)
  }

  /// Counts refusals of the first batch for its size, and decides whether the policy moves it out of the way.
  ///
  /// - Parameter byteCount: Returns the size of the stored batch; nil if it cannot be read.
  mutating func isUndeliverable(
    _ batch: MutationBatch, _ error: StatusError, byteCount: (BatchID) -> Int?
  ) -> Bool {
    guard let policy = configuration.undeliverableWrites, error.code == .resourceExhausted,
      let bytes = byteCount(batch.batchID), bytes >= policy.largerThanBytes
    else { return false }
    if refusals.batchID != batch.batchID { refusals = (batch.batchID, 0) }
    refusals.count += 1
    return refusals.count >= policy.afterRefusals
  }

  // MARK: - The stream

  /// Opens the stream for the batches on their way; an unused one is closed after a while.
  mutating func batchesAdded(canWrite: Bool, now: Duration) -> [SyncAction] {
    batches.isEmpty ? stream.markIdle() : startIfNeeded(canWrite: canWrite, now: now)
  }

  mutating func startIfNeeded(canWrite: Bool, now: Duration) -> [SyncAction] {
    guard canWrite, !stream.isStarted, !batches.isEmpty else { return [] }
    return stream.start(now: now, jitter: configuration.jitter, nextID: numbers.next)
  }

  /// Closes the stream. The batches leave; those that were sent may be answered until the stream has ended.
  mutating func stop() -> [SyncAction] {
    if let id = stream.readyID, !batches.isEmpty { parting[id] = Parting(batches: batches, owner: user) }
    batches = []
    answeredElsewhere = []
    reachesEndOfOutbox = false
    return stream.stop()
  }

  /// Another client sends the outbox from now on. Comes after ``stop()``.
  mutating func leave() {
    assert(batches.isEmpty, "The outbox is left to another client while batches are on their way.")
    mark = SendingMark()
    uncertain = UncertainBatches()
  }

  /// Lets the next start of the stream be without a pause.
  mutating func inhibitBackoff() {
    stream.inhibitBackoff()
  }

  /// Ends the pause before the next attempt; the batches stay.
  mutating func retryNow(canWrite: Bool, now: Duration) -> [SyncAction] {
    guard stream.isPausing else { return startIfNeeded(canWrite: canWrite, now: now) }
    let actions = stream.stop()
    stream.inhibitBackoff()
    return actions + startIfNeeded(canWrite: canWrite, now: now)
  }

  mutating func backoffTimerFired(now: Duration) -> [SyncAction] {
    stream.backoffTimerFired(now: now, nextID: numbers.next)
  }

  mutating func idleTimerFired() -> [SyncAction] {
    stream.idleTimerFired()
  }

  mutating func opened(_ id: StreamID, now: Duration) -> [SyncAction] {
    stream.opened(id, now: now)
  }

  /// The last batch that the answer to a handshake lets go out; nil if the stream does not wait for one.
  func batchWaitingForHandshake(on id: StreamID) -> BatchID? {
    stream.awaitingHandshakeID == id ? batches.last?.batchID : nil
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
      let answered = takeFirst()
      if let answered { uncertain.answered(through: answered.batch.batchID) }
      return ([], answered)
    }
  }

  mutating func closed(_ id: StreamID, _ error: StatusError?, now: Duration) -> (actions: [SyncAction], end: StreamEnd)
  {
    guard let closure = stream.closed(id, error: error, now: now) else {
      return ([], parting.removeValue(forKey: id).map { .partingEnded(unanswered: $0.batches) } ?? .ignored)
    }
    let log = SyncAction.log(.debug, "Write stream closed: \(error?.description ?? "without an error")")
    lastError = error
    cameThrough = closure.handshakeWasComplete && error?.code != .unauthenticated
    var unanswered = closure.handshakeWasComplete ? batches.filter { !answeredElsewhere.contains($0.batchID) } : []
    var rejected: Answered?
    // Answers come in order, so the error is about the first batch that has none. Before the handshake it is about the
    // stream, which is opened again after a pause whatever the code says.
    if let error, closure.handshakeWasComplete, error.code.isPermanentForWrites {
      rejected = takeFirst(underLabel: closure.knewBatchLabels)
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

  /// - Parameter underLabel: True if batches that have an identity were sent under its label.
  private mutating func takeFirst(underLabel: Bool = false) -> Answered? {
    guard !batches.isEmpty else { return nil }
    let batch = batches.removeFirst()
    return Answered(batch: batch, owner: user, makesRoom: true, hadLabel: underLabel && batch.identity != nil)
  }

  private mutating func send(_ batch: MutationBatch) -> [SyncAction] {
    guard stream.isReady else { return [] }
    mark.sent(batch.batchID)
    let label = batch.identity.map { BatchLabel(cacheID: cacheID, identity: $0).text }
    return stream.send(batch.guardedMutations, batchLabel: label)
  }

  func assertInvariants() {
    let capacity = configuration.maxPendingWriteBatches
    assert(batches.count <= capacity, "\(batches.count) batches are on their way, of at most \(capacity).")
    assert(
      !stream.isReady || batches.allSatisfy { mark.covers($0.batchID) },
      "Batches \(batches.map(\.batchID)) are sent without a mark.")
    assert(
      zip(batches, batches.dropFirst()).allSatisfy { $0.batchID < $1.batchID },
      "Batches are out of order: \(batches.map(\.batchID)).")
    assert(parting.values.allSatisfy { !$0.batches.isEmpty }, "A closed stream owes no batch.")
    assert(
      batches.isEmpty || !awaitsLateAnswers,
      "Batches \(batches.map(\.batchID)) are sent although earlier ones may be answered on a closed stream.")
  }
}
