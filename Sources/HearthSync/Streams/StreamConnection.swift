internal import HearthModel

/// The life of one stream to the backend, across all its attempts: opening, use, idling, failing, pausing.
///
/// | state | start | opened | closed by backend | stop | idle timer | back-off timer |
/// |---|---|---|---|---|---|---|
/// | idle | opening | - | - | - | - | - |
/// | failed | waiting | - | - | - | - | - |
/// | waiting | illegal | - | - | idle | - | opening |
/// | opening | illegal | open | failed | idle | - | - |
/// | open | illegal | - | failed | idle | idle | - |
///
/// "-": ignored. The transport and the timers post their events from other threads. An event may come late, after the engine has given up
/// the stream or cancelled the timer. Such events are ignored in every state, and so are events of another stream than the current one.
/// "illegal": an error of the owner; an assertion in debug builds, ignored in others. A request, a session and proof that the backend works
/// belong to an open stream, and are illegal in all other states.
///
/// `Session` is the state of the stream's protocol while the stream is open.
struct StreamConnection<Session> {
  enum Action: Equatable {
    case open(StreamID)
    case close(StreamID)
    case startIdleTimer(Duration)
    case cancelIdleTimer
    case startBackoffTimer(Duration)
    case cancelBackoffTimer
    case invalidateCredentials
  }

  private struct OpenStream {
    var id: StreamID
    var openedAt: Duration
    var idleTimerRuns = false
    var session: Session
  }

  private enum State {
    /// Not wanted, or closed in good order: the next start opens at once.
    case idle
    /// The last attempt failed: the next start pauses first.
    case failed
    /// Wanted; the pause is not over.
    case waiting
    case opening(StreamID)
    case open(OpenStream)
  }

  private let idleTimeout: Duration
  private let healthyAfter: Duration
  private var backoff: ExponentialBackoff
  private var state = State.idle

  init(configuration: SyncConfiguration, now: Duration = .zero) {
    idleTimeout = configuration.streamIdleTimeout
    healthyAfter = configuration.streamHealthyAfter
    backoff = ExponentialBackoff(parameters: configuration.backoff, now: now)
  }

  /// True if the stream is open, being opened or pausing before the next attempt.
  var isStarted: Bool {
    switch state {
    case .idle, .failed: false
    case .waiting, .opening, .open: true
    }
  }

  func isOpening(_ id: StreamID) -> Bool { if case .opening(id) = state { true } else { false } }

  /// The stream on which requests can be sent.
  var openStreamID: StreamID? {
    guard case .open(let stream) = state else { return nil }
    return stream.id
  }

  /// The monotonic time at which the open stream was opened.
  var openedAt: Duration? {
    guard case .open(let stream) = state else { return nil }
    return stream.openedAt
  }

  /// The protocol's state of the open stream, `nil` while none is open. Setting it is illegal then.
  var session: Session? {
    get {
      guard case .open(let stream) = state else { return nil }
      return stream.session
    }
    set {
      guard case .open(var stream) = state, let newValue else {
        return assertionFailure("A stream gets the session \(newValue as Any) in state \(state).")
      }
      stream.session = newValue
      state = .open(stream)
    }
  }

  /// The stream is wanted, and was not before.
  mutating func start(now: Duration, jitter: () -> Double, nextID: () -> StreamID) -> [Action] {
    switch state {
    case .idle:
      return open(nextID())
    case .failed:
      state = .waiting
      return [.startBackoffTimer(backoff.nextDelay(now: now, jitter: jitter()))]
    case .waiting, .opening, .open:
      assertionFailure("A stream is started in state \(state).")
      return []
    }
  }

  /// The pause is over.
  mutating func backoffTimerFired(now: Duration, nextID: () -> StreamID) -> [Action] {
    guard case .waiting = state else { return [] }
    backoff.attemptBegins(now: now)
    return open(nextID())
  }

  /// Returns whether it was the current stream that opened.
  mutating func opened(_ id: StreamID, session: Session, now: Duration) -> Bool {
    guard case .opening(id) = state else { return false }
    state = .open(OpenStream(id: id, openedAt: now, session: session))
    return true
  }

  /// The stream ended without having been asked to. Returns `nil` if it was not the current one.
  ///
  /// An end without an error is treated like a failure: nothing may be retried without a pause.
  mutating func closed(_ id: StreamID, error: StatusError?, now: Duration) -> [Action]? {
    var actions: [Action] = []
    var isHealthy = false
    switch state {
    case .opening(id):
      break
    case .open(let stream) where stream.id == id:
      if stream.idleTimerRuns { actions.append(.cancelIdleTimer) }
      isHealthy = now - stream.openedAt >= healthyAfter
    case .idle, .failed, .waiting, .opening, .open:
      return nil
    }
    switch error?.code {
    case .resourceExhausted: backoff.resetToMaximum()
    // Credentials that have carried a stream for a while are good; the refusal has another reason.
    case .unauthenticated where !isHealthy: actions.append(.invalidateCredentials)
    default: break
    }
    state = .failed
    return actions
  }

  /// The stream is no longer wanted, or will be replaced.
  mutating func stop() -> [Action] {
    var actions: [Action] = []
    switch state {
    case .idle, .failed:
      // A pause that is still due stays due.
      return []
    case .waiting:
      actions.append(.cancelBackoffTimer)
    case .opening(let id):
      actions.append(.close(id))
    case .open(let stream):
      if stream.idleTimerRuns { actions.append(.cancelIdleTimer) }
      actions.append(.close(stream.id))
    }
    state = .idle
    backoff.reset()
    return actions
  }

  /// True during the pause before another attempt.
  var isPausing: Bool { if case .waiting = state { true } else { false } }

  /// The next start, if the stream is not started, opens without a pause.
  mutating func inhibitBackoff() {
    if case .failed = state { state = .idle }
    backoff.reset()
  }

  /// The backend works: after a failure the pauses start again with the shortest.
  mutating func resetBackoff() {
    assert(openStreamID != nil, "The backend has proven that it works on a stream in state \(state).")
    backoff.reset()
  }

  /// Nothing is left to do on the stream.
  mutating func markIdle() -> [Action] {
    guard case .open(var stream) = state, !stream.idleTimerRuns else { return [] }
    stream.idleTimerRuns = true
    state = .open(stream)
    return [.startIdleTimer(idleTimeout)]
  }

  /// Something is about to be sent on the stream.
  mutating func markUsed() -> [Action] {
    guard case .open(var stream) = state else {
      assertionFailure("A request is sent on a stream in state \(state).")
      return []
    }
    guard stream.idleTimerRuns else { return [] }
    stream.idleTimerRuns = false
    state = .open(stream)
    return [.cancelIdleTimer]
  }

  /// True if the open stream is waiting to be stopped for want of use.
  var idleTimerRuns: Bool {
    guard case .open(let stream) = state else { return false }
    return stream.idleTimerRuns
  }

  private mutating func open(_ id: StreamID) -> [Action] {
    state = .opening(id)
    return [.open(id)]
  }
}
