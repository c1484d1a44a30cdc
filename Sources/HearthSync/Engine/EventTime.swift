internal import HearthModel

/// The times of the event being handled.
struct EventTime {
  /// Monotonic time.
  private(set) var now: Duration = .zero
  /// The device's time; only for what users are shown and for what ages over restarts.
  private(set) var wallTime = Timestamp.epoch

  /// Begins an event. Monotonic time does not go back.
  mutating func advance(to now: Duration, wallTime: Timestamp) {
    self.now = max(now, self.now)
    self.wallTime = wallTime
  }
}
