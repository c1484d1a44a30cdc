internal import HearthRPC
internal import Metrics

/// The metrics of a node that keeps its databases in PostgreSQL, in addition to those of ``ServerMetrics``. Handlers are made once.
final class ClusterMetrics: Sendable {
  /// Sessions of one purpose at a moment.
  struct SessionUse: Sendable, Equatable {
    var pool: SessionPool
    /// In use or not.
    var open: Int
    var busy: Int
    /// The callers that wait for a session.
    var waiting: Int
  }

  enum SessionPool: String, CaseIterable, Sendable {
    case commits, reads, transactions, polls
  }

  private struct SessionGauges {
    var open: Gauge
    var busy: Gauge
    var waiting: Gauge
  }

  private let available: Gauge
  private let sessions: [SessionPool: SessionGauges]
  private let failures: Counter
  private let groupSize: Recorder
  private let delay: Metrics.Timer

  init(_ factory: any MetricsFactory) {
    func gauge(_ metric: ServerMetric, _ dimensions: [(String, String)] = []) -> Gauge {
      Gauge(label: metric.rawValue, dimensions: dimensions, factory: factory)
    }
    func sessions(_ pool: SessionPool, _ state: String) -> Gauge {
      gauge(.storageSessions, [("pool", pool.rawValue), ("state", state)])
    }
    available = gauge(.storageAvailable)
    self.sessions = Dictionary(
      uniqueKeysWithValues: SessionPool.allCases.map { pool in
        let gauges = SessionGauges(
          open: sessions(pool, "open"), busy: sessions(pool, "busy"), waiting: sessions(pool, "waiting"))
        return (pool, gauges)
      })
    failures = Counter(label: ServerMetric.storageFailures.rawValue, factory: factory)
    groupSize = Recorder(label: ServerMetric.commitGroupSize.rawValue, factory: factory)
    delay = Metrics.Timer(label: ServerMetric.commitDelay.rawValue, factory: factory)
  }

  /// The storage has failed, although PostgreSQL can be reached.
  func storageFailed() { failures.increment() }

  /// A group of commits of this node was stored.
  func stored(group commits: Int) { groupSize.record(commits) }

  /// A commit of another node was found, and what listeners wait for was published.
  func found(after delay: Duration) { self.delay.record(duration: delay) }

  func sampled(isAvailable: Bool, _ use: [SessionUse]) {
    available.record(isAvailable ? 1 : 0)
    for use in use {
      guard let gauges = sessions[use.pool] else { continue }
      gauges.open.record(use.open)
      gauges.busy.record(use.busy)
      gauges.waiting.record(use.waiting)
    }
  }
}
