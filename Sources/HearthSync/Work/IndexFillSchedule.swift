/// The times of the steps that fill indexes.
///
/// | event | off | idle | timer runs |
/// |---|---|---|---|
/// | start, something is left to do | timer, after a while | timer, after a while | timer restarted |
/// | start, nothing is left to do | idle | - | - |
/// | an index was created or dropped | - | timer, at once | timer, at once |
/// | timer, a step leaves something to do | - | timer, at once | timer, at once |
/// | timer, the last step | - | - | idle |
/// | timer, a step fails | - | timer, later | timer, later |
/// | stop | - | off | timer off; off |
///
/// The schedule is on at the client that has the streams. The timer for the next step fires at once, so waiting events are handled in
/// between. The entries of a failed step stay.
struct IndexFillSchedule {
  private enum State {
    /// Another client fills the indexes.
    case off
    case idle
    case waiting
  }

  private let firstAfter: Duration
  private let retryAfter: Duration
  private var state: State
  /// The steps since the start of the engine.
  private var steps = 0

  init(configuration: SyncConfiguration, isPrimary: Bool) {
    firstAfter = configuration.firstIndexFillAfter
    retryAfter = configuration.indexFillRetry
    state = isPrimary ? .idle : .off
  }

  /// The number of steps since the start of the engine; nil if there is nothing to do.
  var stepsInProgress: Int? { state == .waiting ? steps : nil }

  /// This client fills indexes from now on, or another one has changed them.
  ///
  /// - Parameter hasWork: True if some index is not filled.
  mutating func start(hasWork: Bool) -> [SyncAction] {
    if state == .off { state = .idle }
    return hasWork ? wait(for: firstAfter) : []
  }

  mutating func stop() -> [SyncAction] {
    defer { state = .off }
    return state == .waiting ? [.cancelTimer(.indexBackfill)] : []
  }

  /// An index was made or dropped. The client that has the streams hears of it.
  mutating func indexesChanged() -> [SyncAction] {
    wait(for: .zero)
  }

  /// The timer fired.
  ///
  /// - Parameter step: Does the next step, and returns true if there may be more to do.
  mutating func timerFired(step: () throws -> Bool) -> [SyncAction] {
    if state == .waiting { state = .idle }
    steps += 1
    do {
      return try step() ? wait(for: .zero) : []
    } catch {
      return [.log(.warning, "The indexes could not be filled: \(error)")] + wait(for: retryAfter)
    }
  }

  private mutating func wait(for delay: Duration) -> [SyncAction] {
    guard state != .off else { return [] }
    state = .waiting
    return [.startTimer(.indexBackfill, after: delay)]
  }

  func assertInvariants(isPrimary: Bool) {
    assert(
      isPrimary || state == .off, "The indexes are filled by a client that does not have the streams: \(state).")
  }
}
