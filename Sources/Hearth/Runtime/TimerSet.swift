internal import Foundation
internal import HearthSync

/// The timers that the sync engine asked for, at most one of each kind.
///
/// A timer may fire while it is being cancelled or replaced; its message then carries an old generation and is ignored.
struct TimerSet {
  private static let queue = DispatchQueue(label: "hearth.timers")

  private let post: @Sendable (RunningClient.Message) -> Void
  private var lastGeneration = 0
  private var running: [TimerKind: (generation: Int, item: DispatchWorkItem, due: Date)] = [:]

  init(post: @escaping @Sendable (RunningClient.Message) -> Void) {
    self.post = post
  }

  mutating func start(_ kind: TimerKind, after duration: Duration) {
    cancel(kind)
    lastGeneration += 1
    let generation = lastGeneration
    let item = DispatchWorkItem { [post] in post(.timerFired(kind, generation: generation)) }
    running[kind] = (generation, item, Date(timeIntervalSinceNow: duration / .seconds(1)))
    Self.queue.asyncAfter(deadline: .now() + duration.dispatchInterval, execute: item)
  }

  mutating func cancel(_ kind: TimerKind) {
    running.removeValue(forKey: kind)?.item.cancel()
  }

  /// The device's time at which the timer runs out; nil if it does not run.
  func due(_ kind: TimerKind) -> Date? { running[kind]?.due }

  mutating func cancelAll() {
    for (_, timer) in running { timer.item.cancel() }
    running = [:]
  }

  /// Returns whether the timer that fired is still the current one, which it then ceases to be.
  mutating func takeFired(_ kind: TimerKind, generation: Int) -> Bool {
    guard running[kind]?.generation == generation else { return false }
    running[kind] = nil
    return true
  }
}

extension TimerKind {
  /// True if the backend or the cache is tried again when the timer runs out.
  var isAttempt: Bool {
    switch self {
    case .listenStreamConnectionBackoff, .writeStreamConnectionBackoff, .asyncQueueRetry: true
    case .listenStreamIdle, .writeStreamIdle, .onlineStateTimeout, .ownWritesTimeout, .answerTimeout,
      .lruGarbageCollection, .clientMetadataRefresh, .conflictRetry, .indexBackfill:
      false
    }
  }
}

extension Duration {
  /// Rounded to nanoseconds; from zero to about 292 years.
  var dispatchInterval: DispatchTimeInterval {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return .nanoseconds(0) }
    let (product, overflow) = Int(clamping: seconds).multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, sumOverflow) = product.addingReportingOverflow(Int(clamping: attoseconds / 1_000_000_000))
    return .nanoseconds(overflow || sumOverflow ? .max : sum)
  }
}
