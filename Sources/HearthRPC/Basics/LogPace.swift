internal import Synchronization

/// Lets one line of a kind into the log in a while, however often clients cause it.
final class LogPace: Sendable {
  private struct State {
    var next: ContinuousClock.Instant?
    /// The lines since the latest one that was logged.
    var untold = 0
  }

  private static let interval = Duration.seconds(10)

  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.now = now
  }

  /// - Returns: The number of lines that were not logged before this one; nil if this one is not logged either.
  func next() -> Int? {
    let now = now()
    return state.withLock { state -> Int? in
      if let next = state.next, now < next {
        state.untold += 1
        return nil
      }
      defer { state = State(next: now + Self.interval) }
      return state.untold
    }
  }
}
