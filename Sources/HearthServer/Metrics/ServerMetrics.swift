internal import HearthModel
internal import HearthRPC
internal import Metrics
internal import Synchronization

/// The metrics that one server reports to swift-metrics. It exists only if there is a metrics backend: without one, each event costs a
/// comparison with nil.
///
/// Events are counted as they happen. Present use is not tracked; `ServerSampler` samples it from time to time, and on request. Handlers
/// are made once.
final class ServerMetrics: CallMetrics {
  /// The handlers of the calls of one method with one status.
  private struct CallKind: Hashable {
    var method: String
    var code: String
  }

  /// The open streams of each connection.
  let streamsPerConnection = UsageRegistry()
  /// The targets of each Listen stream.
  let targetsPerStream = UsageRegistry()

  let factory: any MetricsFactory
  private let exceeded: [ServerLimit: Counter]
  private let used: [ServerLimit: Gauge]
  private let allowed: [ServerLimit: Gauge]
  private let callHandlers = Mutex<[CallKind: (count: Counter, duration: Metrics.Timer)]>([:])
  private let streams = Mutex<[String: Gauge]>([:])
  private let commits: Counter
  private let documentsWritten: Counter
  private let aborted: Counter
  private let lockWait: Metrics.Timer
  private let requestBytes: Recorder
  private let queryComponents: Recorder
  private let queryDisjunctions: Recorder
  private let disk: (full: Counter, failed: Counter, failures: Counter)
  private let totals: (targets: Gauge, transactions: Gauge, locksWaiting: Gauge, readsWaiting: Gauge)
  /// Made when there is a certificate: without one, a number would be an alarm.
  private let certificateSeconds = Mutex<Gauge?>(nil)

  /// - Parameters:
  ///   - factory: The program's metrics backend.
  ///   - numbers: The limits that are numbers, with their values.
  /// - Returns: nil if the backend is the one that does nothing.
  init?(_ factory: any MetricsFactory, allowed numbers: [ServerLimit: Int]) {
    if factory is NOOPMetricsHandler { return nil }
    self.factory = factory
    func counter(_ metric: ServerMetric, _ dimensions: [(String, String)] = []) -> Counter {
      Counter(label: metric.rawValue, dimensions: dimensions, factory: factory)
    }
    func gauge(_ metric: ServerMetric, _ dimensions: [(String, String)] = []) -> Gauge {
      Gauge(label: metric.rawValue, dimensions: dimensions, factory: factory)
    }
    func recorder(_ metric: ServerMetric) -> Recorder { Recorder(label: metric.rawValue, factory: factory) }
    func gauges(_ metric: ServerMetric, _ limits: some Sequence<ServerLimit>) -> [ServerLimit: Gauge] {
      Dictionary(uniqueKeysWithValues: limits.map { ($0, gauge(metric, [("limit", $0.rawValue)])) })
    }
    exceeded = Dictionary(
      uniqueKeysWithValues: ServerLimit.allCases.map { ($0, counter(.limitExceeded, [("limit", $0.rawValue)])) })
    allowed = gauges(.limitAllowed, numbers.keys)
    used = gauges(.limitUsed, numbers.keys.filter(\.isSampled))
    commits = counter(.commits)
    documentsWritten = counter(.documentsWritten)
    disk = (counter(.diskFull), counter(.diskFailed), counter(.storageFailures))
    aborted = counter(.transactionsAborted)
    lockWait = Metrics.Timer(label: ServerMetric.lockWaitDuration.rawValue, factory: factory)
    requestBytes = recorder(.requestBytes)
    queryComponents = recorder(.queryComponents)
    queryDisjunctions = recorder(.queryDisjunctions)
    totals = (gauge(.targets), gauge(.transactions), gauge(.locksWaiting), gauge(.readsWaiting))
    for (limit, number) in numbers { allowed[limit]?.record(number) }
  }

  // MARK: - Events

  func exceeded(_ limit: ServerLimit, count: Int) {
    assert(exceeded[limit] != nil, "the limit \(limit.rawValue) is not in ServerLimit.allCases")
    exceeded[limit]?.increment(by: count)
  }

  func callEnded(_ method: String, code: String, after duration: Duration) {
    let kind = CallKind(method: method, code: code)
    let handlers = callHandlers.withLock { known in
      if let handlers = known[kind] { return handlers }
      let count = Counter(
        label: ServerMetric.calls.rawValue, dimensions: [("method", method), ("code", code)], factory: factory)
      let duration = Metrics.Timer(
        label: ServerMetric.callDuration.rawValue, dimensions: [("method", method)], factory: factory)
      known[kind] = (count, duration)
      return (count, duration)
    }
    handlers.count.increment()
    handlers.duration.record(duration: duration)
  }

  func requestReceived(bytes: Int) { requestBytes.record(bytes) }

  func committed(documents: Int) {
    commits.increment()
    documentsWritten.increment(by: documents)
  }

  func foundDiskFull() { disk.full.increment() }
  func diskFailedToSync() { disk.failed.increment() }

  /// Counts a failure of the storage that nothing but the operator can mend.
  func storageFailed(_ status: StatusError) {
    if [.internal, .dataLoss].contains(status.code) { disk.failures.increment() }
  }

  func transactionAborted() { aborted.increment() }
  func lockWaited(_ duration: Duration) { lockWait.record(duration: duration) }
  func queryChecked(components: Int) { queryComponents.record(components) }
  func queryChecked(disjunctions: Int) { queryDisjunctions.record(disjunctions) }

  // MARK: - What is in use now

  struct Totals: Equatable {
    var targets = 0
    var transactions = 0
    var locksWaiting = 0
    var readsWaiting = 0
    /// Nil for a server without a certificate.
    var certificateSeconds: Int?
  }

  /// The limits whose use is reported.
  var sampledLimits: [ServerLimit] { Array(used.keys) }

  func sampled(_ use: [ServerLimit: Int], _ present: Totals, streams open: [String: Int]) {
    for (limit, number) in use { used[limit]?.record(number) }
    totals.targets.record(present.targets)
    totals.transactions.record(present.transactions)
    totals.locksWaiting.record(present.locksWaiting)
    totals.readsWaiting.record(present.readsWaiting)
    if let seconds = present.certificateSeconds { certificateGauge.record(seconds) }
    for (method, count) in open { gauge(ofStreams: method).record(count) }
  }

  private var certificateGauge: Gauge {
    certificateSeconds.withLock { known in
      if let known { return known }
      let gauge = Gauge(label: ServerMetric.certificateSeconds.rawValue, dimensions: [], factory: factory)
      known = gauge
      return gauge
    }
  }

  private func gauge(ofStreams method: String) -> Gauge {
    streams.withLock { known in
      if let gauge = known[method] { return gauge }
      let gauge = Gauge(label: ServerMetric.streams.rawValue, dimensions: [("method", method)], factory: factory)
      known[method] = gauge
      return gauge
    }
  }
}

extension ServerLimit {
  /// False for what has no use at a moment: sizes of single requests and queries have distributions, rates only what exceeds them.
  fileprivate var isSampled: Bool {
    switch self {
    case .requestBytes, .queryComponents, .queryDisjunctions, .writesPerRequest, .documentsPerRequest, .fieldsPerMask,
      .rewrittenBytesPerCommit, .failedAuthenticationsPerMinute, .unsentPingAnswers, .pings, .resets, .emptyFrames,
      .strayFrames:
      false
    default: true
    }
  }
}
