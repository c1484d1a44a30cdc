internal import HearthModel
internal import Synchronization

/// Keeps clients whose authentication has failed too often from having more credentials verified.
///
/// Failures are counted when they are known. So there may be as many more as threads verify at the same time.
final class AuthenticationLimit: Sendable {
  private let limit: Int
  private let failures: Mutex<FailedAuthentications>
  private let now: @Sendable () -> ContinuousClock.Instant

  /// - Parameter limit: The failures that a client may have in a minute.
  init(_ limit: Int, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.limit = limit
    self.now = now
    failures = Mutex(FailedAuthentications(limit: limit))
  }

  /// - Throws: RESOURCE_EXHAUSTED if nothing of the client is verified now.
  func check(_ client: ClientNetwork) throws(CallStatus) {
    let now = now()
    guard let wait = failures.withLock({ $0.wait(of: client, at: now) }) else { return }
    throw .tooManyFailures(limit, wait: wait)
  }

  func failed(_ client: ClientNetwork) {
    let now = now()
    failures.withLock { $0.add(client, at: now) }
  }
}

extension CallStatus {
  fileprivate static func tooManyFailures(_ limit: Int, wait: Duration) -> CallStatus {
    CallStatus(
      .resourceExhausted,
      "\(limit) calls of this address have failed to authenticate within a minute (hearth serve --max-failed-authentications-per-minute). "
        + "For \(wait.components.seconds + 1) s, only credentials that were verified before are accepted from it.",
      exceeding: .failedAuthenticationsPerMinute)
  }
}
