internal import Foundation
internal import HearthModel
internal import Metrics

/// The metrics that one client reports to swift-metrics. It exists only if the program has bootstrapped a metrics backend.
///
/// The handlers are created once, when the client starts, so that counting costs one call of a handler.
final class ClientMetrics: Sendable {
  /// Where a one-time read got its answer.
  enum ReadSource: String, CaseIterable {
    case server, cache
  }

  /// Work that a client does in steps in the background.
  enum BackgroundStep: String, CaseIterable {
    case index
    case garbageCollection = "garbage_collection"
    case bundle
  }

  private let writesQueued: Counter
  private let writesAcknowledged: Counter
  private let writesFailed: Counter
  private let writeDuration: Metrics.Timer
  private let readDurations: [ReadSource: Metrics.Timer]
  private let readsFailed: Counter
  private let listenersStarted: Counter
  private let streamEvents: [StreamEvent: Counter]
  private let documentsReceived: Counter
  private let outboxLength: Gauge
  private let conflictsResolved: [ConflictEnding: Counter]
  private let stepDurations: [BackgroundStep: Metrics.Timer]

  /// The document that the resolution of a conflict leaves.
  enum ConflictEnding: String, CaseIterable {
    case merged, local, remote, both

    init(_ ending: ConflictReport.Ending) {
      self =
        switch ending {
        case .merged: .merged
        case .local: .local
        case .remote: .remote
        case .both: .both
        }
    }
  }

  /// Something that happens to a stream.
  struct StreamEvent: Hashable {
    enum Stream: String, CaseIterable { case watch, write }
    enum Outcome: String, CaseIterable { case opened, failed }

    var stream: Stream
    var outcome: Outcome
  }

  /// - Parameter factory: The program's metrics backend.
  /// - Returns: nil if it is the one that does nothing.
  init?(_ factory: any MetricsFactory, databaseID: DatabaseID) {
    if factory is NOOPMetricsHandler { return nil }
    let database = [("database", "\(databaseID.projectID)/\(databaseID.database)")]
    func counter(_ label: String, _ dimensions: [(String, String)] = []) -> Counter {
      Counter(label: label, dimensions: database + dimensions, factory: factory)
    }
    func timer(_ label: String, _ dimensions: [(String, String)] = []) -> Metrics.Timer {
      Metrics.Timer(label: label, dimensions: database + dimensions, factory: factory)
    }
    writesQueued = counter("hearth.writes.queued")
    writesAcknowledged = counter("hearth.writes.acknowledged")
    writesFailed = counter("hearth.writes.failed")
    writeDuration = timer("hearth.write.duration")
    readDurations = Dictionary(
      uniqueKeysWithValues: ReadSource.allCases.map { ($0, timer("hearth.read.duration", [("source", $0.rawValue)])) })
    readsFailed = counter("hearth.reads.failed")
    listenersStarted = counter("hearth.listeners.started")
    var streamEvents: [StreamEvent: Counter] = [:]
    for stream in StreamEvent.Stream.allCases {
      for outcome in StreamEvent.Outcome.allCases {
        streamEvents[StreamEvent(stream: stream, outcome: outcome)] = counter(
          "hearth.streams.\(outcome.rawValue)", [("stream", stream.rawValue)])
      }
    }
    self.streamEvents = streamEvents
    documentsReceived = counter("hearth.documents.received")
    stepDurations = Dictionary(
      uniqueKeysWithValues: BackgroundStep.allCases.map {
        ($0, timer("hearth.work.step.duration", [("work", $0.rawValue)]))
      })
    conflictsResolved = Dictionary(
      uniqueKeysWithValues: ConflictEnding.allCases.map {
        ($0, counter("hearth.conflicts.resolved", [("kept", $0.rawValue)]))
      })
    outboxLength = Gauge(label: "hearth.outbox.length", dimensions: database, factory: factory)
  }

  func writeQueued() { writesQueued.increment() }

  /// The backend has answered, or the write could not be stored.
  func writeEnded(after duration: Duration, isAcknowledged: Bool) {
    (isAcknowledged ? writesAcknowledged : writesFailed).increment()
    if isAcknowledged { writeDuration.record(duration: duration) }
  }

  /// - Parameter source: nil if the read has failed.
  func readEnded(after duration: Duration, from source: ReadSource?) {
    guard let source else { return readsFailed.increment() }
    readDurations[source]?.record(duration: duration)
  }

  func listenerStarted() { listenersStarted.increment() }
  func happened(_ event: StreamEvent) { streamEvents[event]?.increment() }
  func documentReceived() { documentsReceived.increment() }
  func stepEnded(_ step: BackgroundStep, after duration: Duration) { stepDurations[step]?.record(duration: duration) }
  func resolved(_ conflicts: [ConflictReport]) {
    for conflict in conflicts { conflictsResolved[ConflictEnding(conflict.ending)]?.increment() }
  }

  func outboxCounted(_ count: Int) { outboxLength.record(count) }
}
