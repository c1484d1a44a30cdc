internal import Logging

/// Logs calls that fail to authenticate, at the pace of ``LogPace``.
final class AuthenticationLog: Sendable {
  private let logger: Logger
  private let pace: LogPace

  init(_ logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.logger = logger
    pace = LogPace(now: now)
  }

  /// - Parameter client: Nil if its address is not known.
  func failed(_ error: CallStatus, by client: ClientNetwork?) {
    guard let metadata = pace.metadata(of: client, reason: error.message) else { return }
    logger.warning("a call failed to authenticate", metadata: metadata)
  }
}
