internal import Foundation
package import HearthModel

/// The clock of the server, for commit times, the expiry of transactions and the age of change-log entries.
///
/// Tests inject a clock of their own; a running server uses ``system``.
package struct ServerClock: Sendable {
  /// The present time, at microsecond precision.
  package let now: @Sendable () -> Timestamp

  package init(now: @escaping @Sendable () -> Timestamp) {
    self.now = now
  }

  /// The system's wall clock.
  package static let system = ServerClock {
    Timestamp(microseconds: Int64((Date().timeIntervalSince1970 * 1_000_000).rounded(.down)))
  }
}
