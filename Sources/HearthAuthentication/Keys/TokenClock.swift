internal import Foundation

/// The clocks that tokens are judged by.
package struct TokenClock: Sendable {
  /// Seconds since 1970.
  var wall: @Sendable () -> Double
  /// For intervals.
  var steady: @Sendable () -> ContinuousClock.Instant

  package static let system = TokenClock(wall: { Date().timeIntervalSince1970 }, steady: { .now })
}
