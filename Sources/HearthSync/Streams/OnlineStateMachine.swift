internal import HearthModel

/// Decides from the events of the watch stream whether the client is online.
///
/// | state | stream starts | request | answer arrives | stream fails | 10 s pass | last target removed | set |
/// |---|---|---|---|---|---|---|---|
/// | undecided, timer off | timer on | timer on | online | offline | - | - | as told |
/// | undecided, timer on | - | - | online, heard | offline | offline | timer off | as told |
/// | online, timer off | timer on, unknown | timer on | - | undecided | - | - | as told |
/// | online, timer on | timer on, unknown | timer restarted | heard | undecided | see below | - | as told |
/// | offline after a failure | - | - | online, timer on, heard | - | - | - | as told |
///
/// One failure is enough for offline. After it no further timer is started until an answer arrives or the state is set
/// from outside (firebase-ios-sdk online_state_tracker.cc, HandleWatchStreamStart).
///
/// A connection may be dead without a sign, and a backend may say something and then never send a result. So the first message does not end
/// the timer. A request on an open stream starts it as well, and so does a snapshot that leaves some target without its result. 10 s
/// without any message mean offline; otherwise the timer restarts as long as some target waits for its result. Snapshots that are older
/// than those that the cache has seen bring no result: then 10 s mean offline in spite of all messages.
struct OnlineStateMachine {
  enum Action: Equatable {
    case startTimer
    case cancelTimer
    case changed(OnlineState)
    /// To be logged; at most once until the backend has been reached.
    case warn(String)
  }

  private enum State {
    /// `state` was reached without a failed attempt since the last answer.
    case settled(OnlineState)
    /// A stream is being opened, or has said nothing yet, and the timer runs.
    case awaitingAnswer
    /// Online; some target may wait for its result, and the timer runs. `heard`: a message has started it, or has come since.
    case listening(heard: Bool)
    /// An attempt failed or took too long.
    case failed
  }

  private let timeout: Duration
  private var machine: State = .settled(.unknown)
  private var shouldWarn = true

  init(timeout: Duration) {
    self.timeout = timeout
  }

  var state: OnlineState {
    switch machine {
    case .settled(let state): state
    case .awaitingAnswer: .unknown
    case .listening: .online
    case .failed: .offline
    }
  }

  /// The watch stream is being opened.
  mutating func streamStarted() -> [Action] {
    switch machine {
    case .failed, .awaitingAnswer: return []
    case .settled, .listening: return transition(to: .awaitingAnswer)
    }
  }

  /// A target is asked for on a stream that was started before.
  mutating func requestSent() -> [Action] {
    switch machine {
    case .settled(.unknown): return transition(to: .awaitingAnswer)
    case .settled(.online), .listening: return transition(to: .listening(heard: false))
    case .settled(.offline), .awaitingAnswer, .failed: return []
    }
  }

  /// A snapshot was complete, and some target still waits for its result.
  mutating func resultsMissing() -> [Action] {
    guard case .settled(.online) = machine else { return [] }
    return transition(to: .listening(heard: true))
  }

  /// No target needs the attempt that is under way. The outcome of an earlier attempt that failed stays known.
  mutating func lastTargetRemoved() -> [Action] {
    guard case .awaitingAnswer = machine else { return [] }
    return transition(to: .settled(.unknown))
  }

  /// The backend sent a message.
  mutating func messageReceived() -> [Action] {
    shouldWarn = false
    switch machine {
    case .settled(.online):
      return []
    case .listening:
      machine = .listening(heard: true)
      return []
    case .awaitingAnswer:
      // The timer goes on: the results of the targets may still not come.
      machine = .listening(heard: true)
      return [.changed(.online)]
    case .failed:
      return transition(to: .listening(heard: true))
    case .settled:
      return transition(to: .settled(.online))
    }
  }

  /// The watch stream broke although it was wanted.
  mutating func streamFailed(_ error: StatusError?) -> [Action] {
    switch machine {
    case .failed:
      return []
    case .settled(.online), .listening:
      return transition(to: .settled(.unknown))
    case .settled, .awaitingAnswer:
      let reason = error.map { "\($0.message) (code \($0.code.rawValue))" } ?? "the stream ended"
      return transition(to: .failed, warning: "Connection failed 1 times. Most recent error: \(reason)")
    }
  }

  /// The timer started by ``Action/startTimer`` fired; ignored when it does not run.
  ///
  /// - Parameters:
  ///   - isWaiting: True if some target still waits for its result.
  ///   - isBehind: True if the backend's snapshots are older than what the cache has seen, so that they bring no result.
  mutating func timerFired(isWaiting: Bool, isBehind: Bool = false) -> [Action] {
    let warning = "Backend didn't respond within \(timeout.components.seconds) seconds."
    switch machine {
    case .settled, .failed:
      return []
    case .awaitingAnswer:
      machine = .settled(.unknown)
      return transition(to: .failed, warning: warning)
    case .listening(let heard):
      machine = .settled(.online)
      if !heard || isWaiting && isBehind { return transition(to: .failed, warning: warning) }
      return isWaiting ? transition(to: .listening(heard: false)) : []
    }
  }

  /// The state is known otherwise: the network was switched, or no attempt is under way.
  mutating func set(_ state: OnlineState) -> [Action] {
    transition(to: .settled(state))
  }

  private var timerRuns: Bool {
    switch machine {
    case .awaitingAnswer, .listening: true
    case .settled, .failed: false
    }
  }

  private mutating func transition(to next: State, warning: String? = nil) -> [Action] {
    var actions: [Action] = []
    let oldState = state
    if timerRuns { actions.append(.cancelTimer) }
    machine = next
    if timerRuns { actions.append(.startTimer) }
    if let warning, shouldWarn {
      shouldWarn = false
      actions.append(
        .warn(
          "Could not reach Cloud Firestore backend. \(warning) This typically indicates that your device does not "
            + "have a healthy Internet connection at the moment. The client will operate in offline mode until it is "
            + "able to successfully connect to the backend."))
    }
    if state != oldState { actions.append(.changed(state)) }
    return actions
  }
}

extension OnlineStateMachine.Action {
  func syncAction(timeout: Duration) -> SyncAction {
    switch self {
    case .startTimer: .startTimer(.onlineStateTimeout, after: timeout)
    case .cancelTimer: .cancelTimer(.onlineStateTimeout)
    case .warn(let message): .log(.warning, message)
    case .changed(let state): .onlineStateChanged(state)
    }
  }
}
