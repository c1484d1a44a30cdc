internal import Foundation
internal import HearthModel
internal import HearthSync
internal import Metrics
internal import Tracing

/// The program's metrics backend and tracer.
struct InstrumentSources: Sendable {
  var metrics: any MetricsFactory = MetricsSystem.factory
  var tracer: any Tracer = InstrumentationSystem.tracer
}

/// Reports the operations of one client. Without a metrics backend and a tracer, operations pass through as they are.
struct ClientInstruments: Sendable {
  let metrics: ClientMetrics?
  private let tracing: ClientTracing?

  /// Reports nothing, for a client that cannot run.
  init() {
    (metrics, tracing) = (nil, nil)
  }

  init(_ sources: InstrumentSources, databaseID: DatabaseID) {
    metrics = ClientMetrics(sources.metrics, databaseID: databaseID)
    tracing = ClientTracing(sources.tracer, databaseID: databaseID)
  }

  private var isIdle: Bool { metrics == nil && tracing == nil }

  // MARK: - Writes

  /// - Returns: the completion that reports the end of the write as well.
  func write(_ completion: WriteCompletion?, mutationCount: Int) -> WriteCompletion? {
    // Without a completion nobody waits, and a span may last for days.
    guard metrics != nil || tracing != nil && completion != nil else { return completion }
    metrics?.writeQueued()
    let span = completion == nil ? nil : tracing?.begin("firestore.write")
    span?.attributes["db.operation.batch.size"] = mutationCount
    let operation = ObservedOperation(span)
    let finish = { @Sendable [metrics] (error: NSError?) in
      operation.end(error, measure: { metrics?.writeEnded(after: $0, isAcknowledged: error == nil) })
      completion?.finish(error)
    }
    return WriteCompletion(
      finish: finish,
      abandon: { error in
        operation.end(error)
        completion?.abandon(error)
      }, receipt: completion?.receipt, hasCaller: completion != nil)
  }

  // MARK: - Reads

  /// Reports a one-time read that begins now.
  ///
  /// - Parameter body: Starts the read with the completion that reports the end as well.
  /// - Returns: the handle of `body`. Removing it means that the caller no longer waits for the answer; that is reported too.
  func read<Answer: ReadAnswer>(
    of collection: String?, _ completion: @escaping @Sendable (Result<Answer, NSError>) -> Void,
    _ body: (@escaping @Sendable (Result<Answer, NSError>) -> Void) -> ListenerHandle?
  ) -> ListenerHandle? {
    guard let report = beginRead(of: collection) else { return body(completion) }
    let handle = body { result in
      report(result.map { $0 }.mapError { $0 })
      completion(result)
    }
    return handle.map { handle in
      ListenerHandle {
        handle.remove()
        report(.failure(CancellationError()))
      }
    }
  }

  /// The same for a read that a task awaits.
  nonisolated(nonsending) func read<Answer: ReadAnswer>(
    of collection: String?, _ body: nonisolated(nonsending) () async throws -> Answer
  ) async throws -> Answer {
    guard let report = beginRead(of: collection) else { return try await body() }
    do {
      let answer = try await body()
      report(.success(answer))
      return answer
    } catch {
      report(.failure(error))
      throw error
    }
  }

  private func beginRead(of collection: String?) -> (@Sendable (Result<any ReadAnswer, any Error>) -> Void)? {
    if isIdle { return nil }
    let span = tracing?.begin("firestore.read")
    if let collection { span?.attributes["db.collection.name"] = collection }
    let operation = ObservedOperation(span)
    return { [metrics] result in
      switch result {
      case .success(let answer):
        let source: ClientMetrics.ReadSource = answer.isFromCache ? .cache : .server
        operation.end(nil) {
          $0.attributes["hearth.source"] = source.rawValue
          $0.attributes["db.response.returned_rows"] = answer.documentCount
        } measure: {
          metrics?.readEnded(after: $0, from: source)
        }
      case .failure(let error):
        operation.end(error, measure: { metrics?.readEnded(after: $0, from: nil) })
      }
    }
  }

  // MARK: - Transactions

  /// - Returns: a closure to call with the error, or nil, when the transaction has ended; nil if no one wants to know.
  func transaction() -> (@Sendable (NSError?) -> Void)? {
    guard let tracing else { return nil }
    let operation = ObservedOperation(tracing.begin("firestore.transaction"))
    return { operation.end($0) }
  }

  // MARK: - Synchronisation

  /// Handles an event on the loop, with a span if the backend has brought something that is stored and shown with it, and with the time of
  /// a step of background work.
  func handle(_ event: SyncEvent, _ body: () -> Void) {
    if isIdle { return body() }
    note(event)
    if let step = event.backgroundStep, let metrics {
      let clock = ContinuousClock()
      return metrics.stepEnded(step, after: clock.measure(body))
    }
    guard let tracing, let kind = event.synchronisation else { return body() }
    let span = tracing.begin("firestore.sync")
    span.attributes["hearth.sync"] = kind
    let operation = ObservedOperation(span)
    body()
    operation.end(nil)
  }

  /// An event of a stream, before it is handled.
  private func note(_ event: SyncEvent) {
    guard let metrics else { return }
    switch event {
    case .watchStreamOpened: metrics.happened(.init(stream: .watch, outcome: .opened))
    case .watchStreamClosed(_, _?): metrics.happened(.init(stream: .watch, outcome: .failed))
    case .writeStreamOpened: metrics.happened(.init(stream: .write, outcome: .opened))
    case .writeStreamClosed(_, _?): metrics.happened(.init(stream: .write, outcome: .failed))
    case .watchStreamMessage(_, .documentChange(let change)) where change.document != nil: metrics.documentReceived()
    default: break
    }
  }
}

extension SyncEvent {
  /// A message of the backend that is stored and shown as a whole: a consistent snapshot, or the answer to a write.
  fileprivate var synchronisation: String? {
    switch self {
    case .watchStreamMessage(_, .targetChange(let change))
    where change.state == .noChange && change.targetIDs.isEmpty && change.readTime > .none:
      "snapshot"
    case .writeStreamMessage(_, let response) where !response.results.isEmpty: "answer"
    default: nil
    }
  }

  fileprivate var backgroundStep: ClientMetrics.BackgroundStep? {
    switch self {
    case .timerFired(.indexBackfill): .index
    case .timerFired(.lruGarbageCollection): .garbageCollection
    case .bundleBytes: .bundle
    default: nil
    }
  }
}

/// The answer of a one-time read, as far as it is reported.
protocol ReadAnswer: Sendable {
  var isFromCache: Bool { get }
  var documentCount: Int { get }
}

extension DocumentSnapshot: ReadAnswer {
  var isFromCache: Bool { metadata.isFromCache }
  var documentCount: Int { exists ? 1 : 0 }
}

extension QuerySnapshot: ReadAnswer {
  var isFromCache: Bool { metadata.isFromCache }
  var documentCount: Int { count }
}
