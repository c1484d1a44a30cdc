internal import HearthModel

/// The write stream: batches go out in order, one answer for each comes in.
///
/// To the table of ``StreamConnection`` it adds the handshake:
///
/// | state | opened | message | send | stop |
/// |---|---|---|---|---|
/// | not open | handshake sent | - | - | as the table says |
/// | awaiting the handshake's answer | - | ready | - | closed |
/// | ready | - | the answer to a batch | sent | an empty request, then closed |
///
/// Batches have labels only on a stream whose handshake answer announces that the backend supports them.
///
/// The stream token of each answer goes into the next request. A stream is never resumed with a token of another stream, so tokens are not
/// kept beyond the stream. Only the answer to a batch proves that the backend works; the answer to the handshake does not shorten the next
/// pause.
struct WriteStream {
  private enum Session {
    case awaitingHandshake
    case ready(streamToken: [UInt8], knowsBatchLabels: Bool)
  }

  /// The meaning of a message of the backend.
  enum Message {
    /// It came from a stream that was closed or is gone.
    case stale
    case handshakeComplete
    case batchAnswered
  }

  /// The end of a stream.
  struct Closure {
    var actions: [SyncAction]
    /// True if the error concerns the first batch on its way; before the handshake it concerns the stream.
    var handshakeWasComplete: Bool
    /// True if batches were sent under their labels.
    var knewBatchLabels: Bool
  }

  private var connection: StreamConnection<Session>

  init(configuration: SyncConfiguration) {
    connection = StreamConnection(configuration: configuration)
  }

  var isStarted: Bool { connection.isStarted }

  var isPausing: Bool { connection.isPausing }

  /// The stream whose handshake is not answered yet.
  var awaitingHandshakeID: StreamID? {
    guard case .awaitingHandshake = connection.session else { return nil }
    return connection.openStreamID
  }

  /// True if batches can be sent.
  var isReady: Bool { readyID != nil }

  /// The stream that batches can be sent on.
  var readyID: StreamID? {
    guard case .ready = connection.session else { return nil }
    return connection.openStreamID
  }

  mutating func start(now: Duration, jitter: () -> Double, nextID: () -> StreamID) -> [SyncAction] {
    connection.start(now: now, jitter: jitter, nextID: nextID).map(Self.action)
  }

  /// Ends the stream; in good order, if there was time for the handshake.
  mutating func stop() -> [SyncAction] {
    let goodbye = request([], batchLabel: nil)
    return goodbye + connection.stop().map(Self.action)
  }

  mutating func inhibitBackoff() {
    connection.inhibitBackoff()
  }

  mutating func backoffTimerFired(now: Duration, nextID: () -> StreamID) -> [SyncAction] {
    connection.backoffTimerFired(now: now, nextID: nextID).map(Self.action)
  }

  /// Returns the actions that end an idle stream; none if the stream is in use or not open.
  mutating func idleTimerFired() -> [SyncAction] {
    connection.idleTimerRuns ? stop() : []
  }

  /// The stream is open: the handshake goes out. Nothing happens if it is not the current stream.
  mutating func opened(_ id: StreamID, now: Duration) -> [SyncAction] {
    guard connection.opened(id, session: .awaitingHandshake, now: now) else { return [] }
    return [.sendWrite(id, .handshake)]
  }

  mutating func received(_ response: WriteResponse, on id: StreamID) -> Message {
    guard connection.openStreamID == id, let session = connection.session else { return .stale }
    switch session {
    case .awaitingHandshake:
      connection.session = .ready(
        streamToken: response.streamToken, knowsBatchLabels: response.knowsBatchLabels)
      return .handshakeComplete
    case .ready(_, let knowsBatchLabels):
      connection.session = .ready(streamToken: response.streamToken, knowsBatchLabels: knowsBatchLabels)
      connection.resetBackoff()
      return .batchAnswered
    }
  }

  /// Returns `nil` if it was not the current stream that ended.
  mutating func closed(_ id: StreamID, error: StatusError?, now: Duration) -> Closure? {
    let handshakeWasComplete = isReady
    var knewBatchLabels = false
    if case .ready(_, knowsBatchLabels: true) = connection.session { knewBatchLabels = true }
    guard let actions = connection.closed(id, error: error, now: now) else { return nil }
    return Closure(
      actions: actions.map(Self.action), handshakeWasComplete: handshakeWasComplete, knewBatchLabels: knewBatchLabels)
  }

  mutating func markIdle() -> [SyncAction] {
    connection.markIdle().map(Self.action)
  }

  /// Sends a batch, if the handshake is complete.
  ///
  /// - Parameter batchLabel: Names the batch for good, so that a backend that knows labels never commits it twice. Others
  ///   do not get to see it.
  mutating func send(_ mutations: [Mutation], batchLabel: String?) -> [SyncAction] {
    guard isReady else { return [] }
    return connection.markUsed().map(Self.action) + request(mutations, batchLabel: batchLabel)
  }

  private func request(_ mutations: [Mutation], batchLabel: String?) -> [SyncAction] {
    guard let id = connection.openStreamID,
      case .ready(let streamToken, let knowsBatchLabels) = connection.session
    else { return [] }
    let label = knowsBatchLabels ? batchLabel : nil
    return [.sendWrite(id, .writes(mutations, streamToken: streamToken, batchLabel: label))]
  }

  private static func action(_ action: StreamConnection<Session>.Action) -> SyncAction {
    switch action {
    case .open(let id): .openWriteStream(id)
    case .close(let id): .closeWriteStream(id)
    case .startIdleTimer(let delay): .startTimer(.writeStreamIdle, after: delay)
    case .cancelIdleTimer: .cancelTimer(.writeStreamIdle)
    case .startBackoffTimer(let delay): .startTimer(.writeStreamConnectionBackoff, after: delay)
    case .cancelBackoffTimer: .cancelTimer(.writeStreamConnectionBackoff)
    case .invalidateCredentials: .invalidateCredentials
    }
  }
}
