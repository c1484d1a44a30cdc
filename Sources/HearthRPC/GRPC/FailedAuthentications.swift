/// The failed authentications of each client in the present window of time.
///
/// | event | effect |
/// |---|---|
/// | a failure without a window, or behind its end | a new window begins; the counts of the last one are forgotten |
/// | a failure of a client that is counted | its count grows by one |
/// | a failure of another one, with room for it | its count is one |
/// | the same without room | all counts shrink by one; clients without a count go |
///
/// The last row is the algorithm of Misra and Gries for frequent elements ("Finding repeated elements", 1982). A count is never too high, so no
/// client is refused for the failures of others. It is too low by at most the number of all failures divided by ``capacity``: an attacker
/// with thousands of addresses needs that many failures to take one back. A failure takes O(1) on average.
struct FailedAuthentications {
  static let window = Duration.seconds(60)

  private let limit: Int
  private let capacity: Int
  private var counts: [ClientNetwork: Int] = [:]
  private var windowEnd: ContinuousClock.Instant?

  /// - Parameters:
  ///   - limit: The failures that a client may have in a window.
  ///   - capacity: The clients that are counted at the same time, in less than 1 MiB with the default.
  init(limit: Int, capacity: Int = 16_384) {
    self.limit = limit
    self.capacity = capacity
  }

  /// The clients that are counted.
  var count: Int { counts.count }

  /// The time for which nothing of a client is verified; nil if it may try.
  func wait(of client: ClientNetwork, at now: ContinuousClock.Instant) -> Duration? {
    guard let windowEnd, now < windowEnd, counts[client, default: 0] >= limit else { return nil }
    return windowEnd - now
  }

  mutating func add(_ client: ClientNetwork, at now: ContinuousClock.Instant) {
    if windowEnd.map({ now >= $0 }) ?? true {
      windowEnd = now + Self.window
      counts.removeAll()
    }
    if let count = counts[client] {
      counts[client] = count + 1
    } else if counts.count < capacity {
      counts[client] = 1
    } else {
      counts = counts.compactMapValues { $0 > 1 ? $0 - 1 : nil }
    }
  }
}
