internal import HearthModel

/// Whether the backend can be reached, as far as the client knows.
package enum OnlineState: Hashable, Sendable {
  /// Nothing is known yet: treat as online, a connection may be under way.
  case unknown
  /// The backend has answered, and the stream has not failed since.
  case online
  /// The backend cannot be reached or must not be used; answer from the cache.
  case offline
}

/// Decides whether the client is online from what happens to the watch stream.
///
/// | state | stream starts | answer arrives | stream fails | 10 s pass | set |
/// |---|---|---|---|---|---|
/// | undecided, timer off | timer on | online | offline | - | as told |
/// | undecided, timer on | - | online | offline | offline | as told |
/// | online | timer on, unknown | - | undecided | - | as told |
/// | offline after a failure | - | online | - | - | as told |
///
/// One failure is enough for offline. After it no further timer is started until an answer arrives or the state is set
/// from outside (official SDK behaviour).
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
    /// A stream is being opened and the timer runs.
    case awaitingAnswer
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
    case .failed: .offline
    }
  }

  /// The watch stream is being opened.
  mutating func streamStarted() -> [Action] {
    switch machine {
    case .failed, .awaitingAnswer: return []
    case .settled: return transition(to: .awaitingAnswer)
    }
  }

  /// The watch stream broke although it was wanted.
  mutating func streamFailed(_ error: StatusError?) -> [Action] {
    switch machine {
    case .failed:
      return []
    case .settled(.online):
      return transition(to: .settled(.unknown))
    case .settled, .awaitingAnswer:
      let reason = error.map { "\($0.message) (code \($0.code.rawValue))" } ?? "the stream ended"
      return transition(to: .failed, warning: "Connection failed 1 times. Most recent error: \(reason)")
    }
  }

  /// The timer started by ``Action/startTimer`` fired; ignored when it does not run.
  mutating func timerFired() -> [Action] {
    guard case .awaitingAnswer = machine else { return [] }
    return transition(to: .failed, warning: "Backend didn't respond within \(timeout.components.seconds) seconds.")
  }

  /// The state is known otherwise: the backend answered, the network was switched, nobody listens any more.
  mutating func set(_ state: OnlineState) -> [Action] {
    if state == .online { shouldWarn = false }
    return transition(to: .settled(state))
  }

  private mutating func transition(to next: State, warning: String? = nil) -> [Action] {
    var actions: [Action] = []
    let oldState = state
    if case .awaitingAnswer = machine { actions.append(.cancelTimer) }
    machine = next
    if case .awaitingAnswer = machine { actions.append(.startTimer) }
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
