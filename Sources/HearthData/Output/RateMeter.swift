/// The rate of long work and the time that it still takes, from a few readings of its progress.
package struct RateMeter: Sendable {
  /// Readings of the last seconds.
  private var readings: [(time: Duration, documents: Int, done: Int)] = []
  private static let window = Duration.seconds(10)

  package init() {}

  /// - Parameter time: Of any clock that only rises.
  package mutating func add(_ state: DataProgress.State, at time: Duration) {
    readings.append((time, state.documents + state.skipped, state.done))
    while readings.count > 2, let second = readings.dropFirst().first, time - second.time >= Self.window {
      readings.removeFirst()
    }
  }

  private var span: (seconds: Double, documents: Int, done: Int)? {
    guard let first = readings.first, let last = readings.last, last.time > first.time else { return nil }
    return ((last.time - first.time) / .seconds(1), last.documents - first.documents, last.done - first.done)
  }

  /// Documents in a second; nil until there are two readings.
  package var documentsPerSecond: Double? { span.map { Double($0.documents) / $0.seconds } }

  /// Nil if the total is not known, or nothing has moved lately.
  package func secondsLeft(of state: DataProgress.State) -> Int? {
    guard let total = state.total, let span, span.done > 0 else { return nil }
    let seconds = Double(max(0, total - state.done)) * span.seconds / Double(span.done)
    return seconds < 1e9 ? Int(seconds.rounded(.up)) : nil
  }
}
