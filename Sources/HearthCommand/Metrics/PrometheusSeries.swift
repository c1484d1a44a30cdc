internal import Metrics
internal import Synchronization

/// The numbers of one series.
protocol Series: AnyObject, Sendable {
  static var kind: PrometheusMetrics.Kind { get }
  /// The lines of the series: what is added to its name, a further label, and the number.
  func samples() -> [PrometheusText.Sample]
}

final class CounterSeries: Series, CounterHandler {
  static let kind = PrometheusMetrics.Kind.counter
  private let count = Atomic<Int64>(0)

  /// Begins anew after 2^63, as a counter does that was reset.
  func increment(by amount: Int64) {
    guard amount > 0 else { return }
    let (_, new) = count.wrappingAdd(amount, ordering: .relaxed)
    if new < 0 { count.store(0, ordering: .relaxed) }
  }

  func reset() {
    count.store(0, ordering: .relaxed)
  }

  func samples() -> [PrometheusText.Sample] {
    [.init(value: .whole(count.load(ordering: .relaxed)))]
  }
}

final class GaugeSeries: Series, RecorderHandler, MeterHandler {
  static let kind = PrometheusMetrics.Kind.gauge
  private let number = Mutex(0.0)

  func record(_ value: Int64) { set(Double(value)) }
  func record(_ value: Double) { set(value) }
  func set(_ value: Int64) { set(Double(value)) }

  func set(_ value: Double) {
    number.withLock { $0 = value }
  }

  func increment(by amount: Double) {
    number.withLock { $0 += amount }
  }

  func decrement(by amount: Double) {
    number.withLock { $0 -= amount }
  }

  func samples() -> [PrometheusText.Sample] {
    [.init(value: .real(number.withLock { $0 }))]
  }
}

/// The numbers that were recorded, by ranges.
final class HistogramSeries: Series, RecorderHandler, TimerHandler {
  static let kind = PrometheusMetrics.Kind.histogram

  /// Durations from 100 µs to the longest call, in seconds.
  static let seconds = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300,
  ]
  /// Counts and sizes: powers of 4 up to 16 MiB.
  static let sizes = (0...12).map { Double(1 << (2 * $0)) }

  private struct State {
    /// The count of each bucket; the last one counts numbers above all bounds.
    var counts: [Int64]
    var sum = 0.0
  }

  private let bounds: [Double]
  private let state: Mutex<State>

  /// - Parameter bounds: The upper ends of the ranges, ascending. A number that is equal to one is below it.
  init(bounds: [Double]) {
    self.bounds = bounds
    state = Mutex(State(counts: Array(repeating: 0, count: bounds.count + 1)))
  }

  func record(_ value: Int64) { record(Double(value)) }
  func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

  func record(_ value: Double) {
    // A single NaN would make the sum NaN permanently.
    guard value.isFinite else { return }
    let index = bounds.firstIndex { value <= $0 } ?? bounds.count
    state.withLock { state in
      state.counts[index] &+= 1
      state.sum += value
    }
  }

  func samples() -> [PrometheusText.Sample] {
    let (counts, sum) = state.withLock { ($0.counts, $0.sum) }
    var total: Int64 = 0
    var samples: [PrometheusText.Sample] = []
    for (count, bound) in zip(counts, bounds + [.infinity]) {
      total &+= count
      samples.append(.init(suffix: "_bucket", bound: bound, value: .whole(total)))
    }
    samples.append(.init(suffix: "_sum", value: .real(sum)))
    samples.append(.init(suffix: "_count", value: .whole(total)))
    return samples
  }
}
