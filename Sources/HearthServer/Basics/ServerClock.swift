internal import Foundation
package import HearthModel

/// The clock of the server, for commit times, the expiry of transactions and the age of change-log entries.
///
/// Tests inject a clock of their own; a running server uses ``system``.
package struct ServerClock: Sendable {
  /// The present time, at microsecond precision.
  package let now: @Sendable () -> Timestamp

  /// Microseconds of a clock that is never set, and that goes on while the machine sleeps; nil for a clock that a test moves.
  let elapsed: (@Sendable () -> Int64)?

  /// Microseconds for measuring durations: not affected by a clock that is set back or ahead.
  var elapsedMicroseconds: Int64 { elapsed?() ?? now().microseconds }

  package init(now: @escaping @Sendable () -> Timestamp) {
    self.init(now: now, elapsed: nil)
  }

  init(now: @escaping @Sendable () -> Timestamp, elapsed: (@Sendable () -> Int64)?) {
    self.now = now
    self.elapsed = elapsed
  }

  /// The system's wall clock.
  package static let system = {
    let start = ContinuousClock.now
    return ServerClock(
      now: { Timestamp(microseconds: Int64((Date().timeIntervalSince1970 * 1_000_000).rounded(.down))) },
      elapsed: {
        let (seconds, attoseconds) = start.duration(to: .now).components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
      })
  }()
}

extension Duration {
  /// Whole microseconds, at most those of 292,000 years.
  var microseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000)
    return isTooLong ? .max : product &+ attoseconds / 1_000_000_000_000
  }
}
