/// Pauses between attempts that grow while attempts fail.
///
/// The first pause is zero, and the second is ``Parameters/initialDelay``. Each later one grows by ``Parameters/factor`` up to
/// ``Parameters/maximumDelay``. Jitter changes each by up to half of its base, so that many clients do not come back at the same time. A
/// pause counts from the last attempt: time that has passed since then is deducted.
package struct ExponentialBackoff: Sendable {
  package struct Parameters: Sendable, Equatable {
    package var initialDelay: Duration
    package var factor: Double
    package var maximumDelay: Duration

    package init(initialDelay: Duration = .seconds(1), factor: Double = 1.5, maximumDelay: Duration = .seconds(60)) {
      self.initialDelay = initialDelay
      self.factor = factor
      self.maximumDelay = maximumDelay
    }
  }

  private let parameters: Parameters
  private var currentBase: Duration = .zero
  private var lastAttempt: Duration

  /// - Parameter now: Monotonic time; counts as the last attempt.
  package init(parameters: Parameters, now: Duration) {
    self.parameters = parameters
    self.lastAttempt = now
  }

  /// The next pause is none at all.
  package mutating func reset() {
    currentBase = .zero
  }

  /// The next pause is the longest one: the backend said that it is overloaded.
  package mutating func resetToMaximum() {
    currentBase = parameters.maximumDelay
  }

  /// Returns how long to wait from now on, and makes the pause after it longer.
  ///
  /// - Parameter jitter: A fraction of the base; values outside `-0.5 ... 0.5` are cut off.
  package mutating func nextDelay(now: Duration, jitter: Double) -> Duration {
    let boundedJitter = jitter.isFinite ? min(max(jitter, -0.5), 0.5) : 0
    let desired = currentBase + currentBase * boundedJitter
    let elapsed = max(.zero, now - lastAttempt)
    currentBase = min(max(currentBase * parameters.factor, parameters.initialDelay), parameters.maximumDelay)
    return max(.zero, desired - elapsed)
  }

  /// The pause is over and a new attempt begins.
  package mutating func attemptBegins(now: Duration) {
    lastAttempt = now
  }
}
