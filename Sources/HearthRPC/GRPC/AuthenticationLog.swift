internal import Logging
internal import Synchronization

/// Tells the log of calls that fail to authenticate, at most once in a while.
final class AuthenticationLog: Sendable {
  private struct State {
    var next: ContinuousClock.Instant?
    /// Failures since the latest line that the log was not told of.
    var untold = 0
  }

  private static let interval = Duration.seconds(10)

  private let logger: Logger
  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  init(_ logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.logger = logger
    self.now = now
  }

  /// - Parameter client: Nil if its address is not known.
  func failed(_ error: CallStatus, by client: ClientNetwork?) {
    let now = now()
    let untold = state.withLock { state -> Int? in
      if let next = state.next, now < next {
        state.untold += 1
        return nil
      }
      defer { state = State(next: now + Self.interval) }
      return state.untold
    }
    guard let untold else { return }
    var metadata: Logger.Metadata = [
      "address": .escaped(client.map(\.description) ?? "unknown"), "reason": .escaped(error.message),
    ]
    if untold > 0 { metadata["not-logged-before"] = "\(untold)" }
    logger.warning("a call failed to authenticate", metadata: metadata)
  }
}
