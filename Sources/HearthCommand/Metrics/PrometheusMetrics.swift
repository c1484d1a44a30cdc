internal import Metrics
internal import Synchronization

/// A metrics backend that keeps numbers in memory, for ``PrometheusText`` to write down.
///
/// | handler | Prometheus |
/// |---|---|
/// | counter | counter, `_total` |
/// | gauge | gauge |
/// | timer | histogram in seconds, `_seconds` |
/// | recorder that aggregates | histogram |
///
/// A series is made when its first handler is, and stays. There are at most as many as were allowed at the start; handlers of others do
/// nothing, and their number is a metric.
final class PrometheusMetrics: MetricsFactory {
  /// The values of the labels of a series, in the order of the labels' names.
  struct Labels: Hashable, Sendable {
    var pairs: [Pair]

    struct Pair: Hashable, Sendable {
      var name: String
      var value: String
    }

    init(_ dimensions: [(String, String)]) {
      var values: [String: String] = [:]
      for (name, value) in dimensions { values[PrometheusText.labelName(name)] = value }
      pairs = values.sorted { $0.key < $1.key }.map { Pair(name: $0.key, value: $0.value) }
    }
  }

  enum Kind: String {
    case counter, gauge, histogram
  }

  struct Family {
    var kind: Kind
    var help: String
    var series: [Labels: any Series] = [:]
  }

  private struct State {
    var families: [String: Family] = [:]
    var seriesCount = 0
    /// Handlers that got no series.
    var refusedCount = 0
  }

  private let state = Mutex(State())
  private let maximumSeries: Int
  /// The texts for HELP, by the labels of swift-metrics.
  private let help: [String: String]

  static let refusedName = "hearth_metrics_handlers_refused_total"

  init(maximumSeries: Int = 2000, help: [String: String] = [:]) {
    self.maximumSeries = maximumSeries
    self.help = help
  }

  /// The families by name, with the one that counts what was refused.
  func families() -> [(name: String, family: Family)] {
    let (families, refused) = state.withLock { ($0.families, $0.refusedCount) }
    let count = CounterSeries()
    count.increment(by: Int64(refused))
    let own = Family(
      kind: .counter, help: "Handlers without a series: there are too many series, or the name has another type.",
      series: [Labels([]): count])
    return (families.map { ($0.key, $0.value) } + [(Self.refusedName, own)]).sorted { $0.0 < $1.0 }
  }

  private func series<S: Series>(
    _ label: String, _ suffix: String, _ dimensions: [(String, String)], _ make: () -> S
  ) -> S {
    let name = PrometheusText.metricName(label) + suffix
    let labels = Labels(dimensions)
    return state.withLock { state in
      var family = state.families[name] ?? Family(kind: S.kind, help: help[label] ?? label)
      if let known = family.series[labels] as? S { return known }
      guard family.kind == S.kind, name != Self.refusedName, state.seriesCount < maximumSeries else {
        state.refusedCount += 1
        return make()
      }
      let series = make()
      family.series[labels] = series
      state.families[name] = family
      state.seriesCount += 1
      return series
    }
  }

  // MARK: - MetricsFactory

  func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    series(label, "_total", dimensions) { CounterSeries() }
  }

  func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    series(label, "", dimensions) { GaugeSeries() }
  }

  func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    guard aggregate else { return series(label, "", dimensions) { GaugeSeries() } }
    return series(label, "", dimensions) { HistogramSeries(bounds: HistogramSeries.sizes) }
  }

  func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    series(label, "_seconds", dimensions) { HistogramSeries(bounds: HistogramSeries.seconds) }
  }

  // A series stays when a handler is destroyed: another one may have it too, and a counter must not go back.
  func destroyCounter(_ handler: any CounterHandler) {}
  func destroyMeter(_ handler: any MeterHandler) {}
  func destroyRecorder(_ handler: any RecorderHandler) {}
  func destroyTimer(_ handler: any TimerHandler) {}
}
