internal import HearthCache
internal import HearthModel

/// A storage operation that is repeated until it succeeds.
enum RetryableOperation {
  case start
  /// Reads something small, to learn whether the storage works again.
  case probe
  case acknowledge(MutationBatchResult)
  case reject(BatchID, StatusError)
  case changeUser(String?)
  /// Computes the views anew that could not read the cache when they needed it.
  case refreshViews

  /// Whether the streams stay closed until the operation has succeeded.
  var keepsNetworkOff: Bool {
    switch self {
    case .start, .probe, .acknowledge, .reject: true
    // A change of the user closes and opens the streams itself.
    case .changeUser, .refreshViews: false
    }
  }
}

/// The storage operations that have to be repeated, first in, first out.
///
/// The first attempt is made at once, at the end of the event that caused it. An operation that fails, or that has
/// others behind it, is followed by the next attempt when the timer fires.
///
/// | event | list empty | list not empty |
/// |---|---|---|
/// | append | attempt due | attempt due (of the first) |
/// | attempt succeeded | - | first removed; timer if others remain |
/// | attempt failed | - | timer |
/// | timer | - | attempt due |
struct RetryQueue {
  private var operations: [RetryableOperation] = []
  private var attemptsDue = 0
  private var backoff: ExponentialBackoff
  private var timerRuns = false

  init(parameters: ExponentialBackoff.Parameters) {
    backoff = ExponentialBackoff(parameters: parameters, now: .zero)
  }

  /// Whether some operation in the list needs the streams closed.
  var keepsNetworkOff: Bool { operations.contains(where: \.keepsNetworkOff) }

  /// Whether views are to be computed anew already.
  var refreshesViews: Bool {
    operations.contains { operation in
      guard case .refreshViews = operation else { return false }
      return true
    }
  }

  var count: Int { operations.count }

  mutating func append(_ operation: RetryableOperation) {
    operations.append(operation)
    attemptsDue += 1
  }

  /// Takes the attempts that are due: how many times the first operation is to be tried now.
  mutating func takeDueAttempts() -> Int {
    defer { attemptsDue = 0 }
    return attemptsDue
  }

  var first: RetryableOperation? { operations.first }

  /// The first operation succeeded.
  mutating func removeFirst() {
    if !operations.isEmpty { operations.removeFirst() }
  }

  /// The storage works: the next pause is the shortest.
  mutating func resetBackoff() {
    backoff.reset()
  }

  /// An attempt was made. Starts the timer for the next one, if there must be one.
  mutating func attemptEnded(now: Duration, jitter: () -> Double) -> [SyncAction] {
    // What this attempt itself has put on the list waits for the timer, so that nothing runs in circles.
    attemptsDue = 0
    if operations.isEmpty { return stopTimer() }
    timerRuns = true
    return [.startTimer(.asyncQueueRetry, after: backoff.nextDelay(now: now, jitter: jitter()))]
  }

  mutating func timerFired(now: Duration) {
    guard timerRuns else { return }
    timerRuns = false
    backoff.attemptBegins(now: now)
    attemptsDue += 1
  }

  /// Nothing is repeated any more.
  mutating func stop() -> [SyncAction] {
    operations = []
    attemptsDue = 0
    return stopTimer()
  }

  private mutating func stopTimer() -> [SyncAction] {
    defer { timerRuns = false }
    return timerRuns ? [.cancelTimer(.asyncQueueRetry)] : []
  }
}
