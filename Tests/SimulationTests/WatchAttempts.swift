/// Checks that a client pauses between attempts when the backend ends its watch streams again and again.
struct WatchAttempts {
  /// The streams in a row that ended without a complete snapshot.
  private var failureCount = 0
  private var latest = Duration.zero

  /// A stream is asked for.
  ///
  /// - Returns: The violation; nil if the attempt is allowed.
  mutating func begins(at now: Duration) -> String? {
    defer { latest = now }
    guard failureCount >= 2, now - latest < .seconds(1) else { return nil }
    return "\(failureCount) watch streams in a row have failed, and the next attempt comes after \(now - latest)"
  }

  mutating func failed() { failureCount += 1 }

  mutating func snapshotWasComplete() { failureCount = 0 }

  /// There is another reason than the failure to open a stream.
  mutating func mayBeginAtOnce() { failureCount = 0 }
}
