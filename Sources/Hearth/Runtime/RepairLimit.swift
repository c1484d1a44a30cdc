/// The number of times that a cache found damaged is reopened: a disk that damages it again and again cannot be used, and each repair costs
/// a copy of what can be read.
///
/// Damage that comes once in a while, in a process that runs for months, does not add up.
struct RepairLimit {
  private static let count = 20
  private static let period = Duration.seconds(3600)

  /// The times of the last repairs, in order.
  private var times: [ContinuousClock.Instant] = []

  /// Counts a repair.
  ///
  /// - Returns: False if there were too many within the last hour.
  mutating func allowsRepair(at now: ContinuousClock.Instant) -> Bool {
    times.removeAll { $0.duration(to: now) >= Self.period }
    times.append(now)
    return times.count < Self.count
  }
}
