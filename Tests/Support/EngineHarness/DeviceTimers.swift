package import HearthSync

/// The time of a device, or of several that share it. It passes only when a test says so.
package final class DeviceClock {
  package var now = Duration.zero

  package init() {}
}

/// The timers that an engine has asked for. At most one of each kind runs at a time.
package struct DeviceTimers {
  package typealias Timer = (kind: TimerKind, due: Duration)

  /// The running timers, in the order in which they were started.
  package private(set) var running: [Timer] = []

  package init() {}

  /// The time at which a timer is due; nil if it does not run.
  package subscript(kind: TimerKind) -> Duration? { running.first { $0.kind == kind }?.due }

  /// Replaces a timer of this kind that runs.
  package mutating func start(_ kind: TimerKind, at due: Duration) {
    cancel(kind)
    running.append((kind, due))
  }

  package mutating func cancel(_ kind: TimerKind) {
    running.removeAll { $0.kind == kind }
  }

  /// Returns the timer that is due first, and of those that are due at the same time the one that was started first.
  package func next(where isWanted: (TimerKind) -> Bool = { _ in true }) -> Timer? {
    running.filter { isWanted($0.kind) }.min { $0.due < $1.due }
  }

  /// Removes a timer that is to fire.
  ///
  /// - Returns: The time at which it is due; nil if it does not run.
  package mutating func take(_ kind: TimerKind) -> Duration? {
    guard let index = running.firstIndex(where: { $0.kind == kind }) else { return nil }
    return running.remove(at: index).due
  }
}
