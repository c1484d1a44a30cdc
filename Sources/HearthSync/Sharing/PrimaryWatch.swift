internal import HearthModel

/// The knowledge of a secondary client whether the primary client is alive, while its views wait for it.
///
/// | event | idle | waiting | heard | asked | silent |
/// |---|---|---|---|---|---|
/// | a view waits for the primary client | waiting | - | - | - | - |
/// | a read waits for a sign of life | asked; waiting if that fails | asked; waiting if that fails | - | - | - |
/// | no view waits | - | idle | idle | idle | - |
/// | the primary client has written something | - | heard | - | heard | idle |
/// | the same, but the notice may be old, and a read waits | asked | asked | asked | asked | asked |
/// | the views were brought in line with the file, and a read waits | asked | asked | asked | asked | - |
/// | notices were lost | - | - | - | - | idle |
/// | the timer fires | - | asked; idle if that fails | idle | silent | - |
/// | the client becomes the primary one | - | idle | idle | idle | idle |
///
/// The timer `onlineStateTimeout` starts with `waiting` and with `asked`. If asking fails, the watch is idle until the end of the event,
/// which finds a view that waits.
///
/// A primary client that is stopped keeps the lease and writes nothing. Calls at a secondary client must not wait for it permanently.
/// So a secondary client counts as offline after it has heard nothing for `onlineStateTimeout`, has asked for a sign of life, and has
/// heard nothing for that time again.
///
/// The states that the primary client has published are valid only while it runs. A listener accepts them unchanged. A one-time read first
/// waits for a sign of life if there was none for that time, so that an old state is not returned as the backend's.
struct PrimaryWatch {
  private enum State {
    /// Nothing is expected.
    case idle
    /// The timer runs, and the primary client has written nothing since it was started.
    case waiting
    /// The timer runs, and the primary client has written something since it was started.
    case heard
    /// The timer runs; the primary client was asked for a sign of life, and has written nothing since.
    case asked
    /// The primary client has given no sign of life.
    case silent
  }

  private let timeout: Duration
  private var state = State.idle
  /// The monotonic time at which this client has found out last that the primary one has written something; nil if it never has.
  private var lastHeard: Duration?
  /// The monotonic time at which this client has looked for notices last.
  private var lastRead = Duration.zero

  init(timeout: Duration) {
    self.timeout = timeout
  }

  var timerRuns: Bool {
    switch state {
    case .waiting, .heard, .asked: true
    case .idle, .silent: false
    }
  }

  /// True if the primary client has given no sign of life, so that this one counts as offline.
  var isSilent: Bool { state == .silent }

  /// True if a sign of life is waited for, or would end the silence.
  var expectsSign: Bool { state == .asked || state == .silent }

  /// Returns true if nothing was heard for so long that a read must not rely on what the primary client has published.
  func mustBeHeard(at now: Duration) -> Bool {
    lastHeard.map { now - $0 >= timeout } ?? true
  }

  /// An event ends.
  ///
  /// - Parameter isAwaited: True if a view waits for the primary client.
  mutating func endEvent(isAwaited: Bool) -> [CacheMembership.Action] {
    if state == .silent { return [] }
    guard isAwaited else { return end() }
    return state == .idle ? start(.waiting) : []
  }

  /// A read without a snapshot so far waits for a sign of life.
  mutating func readWaits() -> [CacheMembership.Action] {
    switch state {
    case .idle, .waiting: [.ask]
    case .heard, .asked, .silent: []
    }
  }

  /// The primary client was asked.
  ///
  /// - Parameter succeeded: False if it could not be asked. One that is stopped within a transaction keeps the others from asking, which
  ///   counts as asked.
  mutating func asked(succeeded: Bool) -> [CacheMembership.Action] {
    if succeeded { return start(.asked) }
    state = .idle
    return []
  }

  /// A notice of the primary client was found.
  ///
  /// - Parameter readWaits: True if a read waits for a sign of life. If the notice may be old, that is requested again.
  mutating func primaryHasWritten(at now: Duration, readWaits: Bool) -> [CacheMembership.Action] {
    let question: [CacheMembership.Action] = readWaits && !isRecent(at: now) ? [.ask] : []
    switch state {
    case .idle, .heard:
      return question
    case .waiting, .asked:
      state = .heard
      return question
    case .silent:
      state = .idle
      return [.showSharedState] + question
    }
  }

  /// The views were brought in line with the file. A sign of life may have been lost with the notices that they lacked, or was found while they
  /// were behind it.
  ///
  /// - Parameter readWaits: True if a read waits for a sign of life.
  func viewsWereSynchronized(readWaits: Bool) -> [CacheMembership.Action] {
    readWaits && state != .silent ? [.ask] : []
  }

  /// Notices were lost. The primary client may have written some of them, and its online state is shown again.
  mutating func noticesWereLost() {
    if state == .silent { state = .idle }
  }

  /// A notice of the primary client was found, and this one shows what the file says.
  ///
  /// - Returns: True if it is a sign of life.
  mutating func wasHeard(at now: Duration) -> Bool {
    guard isRecent(at: now) else { return false }
    lastHeard = now
    return true
  }

  /// Returns true if a notice that is found now is a sign of life, because this client has looked for notices a moment ago. One that was stopped
  /// reads what was written at any time since.
  private func isRecent(at now: Duration) -> Bool { now - lastRead < timeout }

  /// All notices were read, and what they say is shown.
  mutating func newsWasRead(at now: Duration) {
    lastRead = now
  }

  mutating func timerFired() -> [CacheMembership.Action] {
    switch state {
    case .idle, .silent:
      return []
    case .heard:
      state = .idle
      return []
    case .waiting:
      return [.ask]
    case .asked:
      state = .silent
      let message = "The process that has the streams of the cache does not answer. This one counts as offline."
      return [.emit(.log(.warning, message)), .countAsOffline]
    }
  }

  /// Nothing is expected any more. Also the watch of a client that has become the primary one ends.
  mutating func end() -> [CacheMembership.Action] {
    defer { state = .idle }
    return timerRuns ? [.emit(.cancelTimer(.onlineStateTimeout))] : []
  }

  private mutating func start(_ next: State) -> [CacheMembership.Action] {
    state = next
    return [.emit(.startTimer(.onlineStateTimeout, after: timeout))]
  }

  func assertInvariants(isPrimary: Bool) {
    assert(!isPrimary || state == .idle, "The primary client watches itself: \(state).")
  }
}
