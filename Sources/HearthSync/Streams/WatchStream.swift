internal import HearthModel

/// The watch stream: requests about targets go out, changes come in.
///
/// The table of ``StreamConnection`` is its table. Only a snapshot of all targets shortens the next pause. Otherwise a backend with an
/// unreadable answer, which ends the stream each time, would be asked again without a pause.
struct WatchStream {
  private struct Session {
    /// True if the last snapshot was older than what the cache has seen.
    var isBehind = false
    /// True if this was said.
    var isReported = false
  }

  private var connection: StreamConnection<Session>

  init(configuration: SyncConfiguration) {
    connection = StreamConnection(configuration: configuration)
  }

  var isStarted: Bool { connection.isStarted }
  var isOpen: Bool { connection.openStreamID != nil }
  var isPausing: Bool { connection.isPausing }
  var openedAt: Duration? { connection.openedAt }
  /// True if the last snapshot on the open stream was older than what the cache has seen.
  var isBehind: Bool { connection.session?.isBehind ?? false }

  mutating func start(now: Duration, jitter: () -> Double, nextID: () -> StreamID) -> [SyncAction] {
    connection.start(now: now, jitter: jitter, nextID: nextID).map(Self.action)
  }

  mutating func stop() -> [SyncAction] {
    connection.stop().map(Self.action)
  }

  mutating func inhibitBackoff() {
    connection.inhibitBackoff()
  }

  mutating func backoffTimerFired(now: Duration, nextID: () -> StreamID) -> [SyncAction] {
    connection.backoffTimerFired(now: now, nextID: nextID).map(Self.action)
  }

  /// Returns the actions that end an idle stream, `nil` if the stream is in use or not open.
  mutating func idleTimerFired() -> [SyncAction]? {
    connection.idleTimerRuns ? stop() : nil
  }

  func isOpening(_ id: StreamID) -> Bool { connection.isOpening(id) }

  /// Returns whether it was the current stream that opened.
  mutating func opened(_ id: StreamID, now: Duration) -> Bool {
    connection.opened(id, session: Session(), now: now)
  }

  /// Returns whether the message is from the current stream and counts.
  func messageReceived(_ id: StreamID) -> Bool {
    connection.openStreamID == id
  }

  /// A snapshot of all targets was complete.
  mutating func snapshotReceived() {
    connection.resetBackoff()
  }

  /// Notes that the last snapshot was taken, or was older than what the cache has seen.
  ///
  /// - Returns: True for the first one on this stream that is older.
  mutating func noteSnapshot(isBehind: Bool) -> Bool {
    guard var session = connection.session, session.isBehind || isBehind else { return false }
    let isFirst = isBehind && !session.isReported
    session.isBehind = isBehind
    session.isReported = session.isReported || isBehind
    connection.session = session
    return isFirst
  }

  /// Returns `nil` if it was not the current stream that ended.
  mutating func closed(_ id: StreamID, error: StatusError?, now: Duration) -> [SyncAction]? {
    connection.closed(id, error: error, now: now)?.map(Self.action)
  }

  mutating func markIdle() -> [SyncAction] {
    connection.markIdle().map(Self.action)
  }

  /// Sends a request, if the stream is open.
  mutating func send(_ request: WatchRequest) -> [SyncAction] {
    guard let id = connection.openStreamID else { return [] }
    return connection.markUsed().map(Self.action) + [.sendWatch(id, request)]
  }

  private static func action(_ action: StreamConnection<Session>.Action) -> SyncAction {
    switch action {
    case .open(let id): .openWatchStream(id)
    case .close(let id): .closeWatchStream(id)
    case .startIdleTimer(let delay): .startTimer(.listenStreamIdle, after: delay)
    case .cancelIdleTimer: .cancelTimer(.listenStreamIdle)
    case .startBackoffTimer(let delay): .startTimer(.listenStreamConnectionBackoff, after: delay)
    case .cancelBackoffTimer: .cancelTimer(.listenStreamConnectionBackoff)
    case .invalidateCredentials: .invalidateCredentials
    }
  }
}
