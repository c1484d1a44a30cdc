internal import Foundation
internal import HearthModel
internal import Synchronization
internal import Tracing

/// The spans of one client's operations. It exists only where the program has bootstrapped a tracer.
struct ClientTracing: Sendable {
  private let tracer: any Tracer
  private let database: String

  /// - Parameter tracer: The program's tracer.
  /// - Returns: nil if it is the one that does nothing.
  init?(_ tracer: any Tracer, databaseID: DatabaseID) {
    if tracer is NoOpTracer { return nil }
    self.tracer = tracer
    database = "\(databaseID.projectID)/\(databaseID.database)"
  }

  /// Begins a span below the one of the calling task.
  func begin(_ name: String) -> any Span {
    let span = tracer.startAnySpan(name, context: .current ?? .topLevel, ofKind: .client)
    span.attributes["db.system.name"] = "firestore"
    span.attributes["db.namespace"] = database
    return span
  }
}

/// An operation that is measured from its call to its end.
final class ObservedOperation: Sendable {
  private let clock = ContinuousClock()
  private let began: ContinuousClock.Instant
  private let span: (any Span)?
  private let hasEnded = Atomic<Bool>(false)

  init(_ span: (any Span)?) {
    began = clock.now
    self.span = span
  }

  /// Ends the operation, unless it has ended before.
  ///
  /// - Parameters:
  ///   - error: Its error, which the span records.
  ///   - attributes: Adds to the span what the result says.
  ///   - measure: Gets the time that it took.
  func end(
    _ error: (any Error)?, attributes: (any Span) -> Void = { _ in }, measure: (Duration) -> Void = { _ in }
  ) {
    guard !hasEnded.exchange(true, ordering: .relaxed) else { return }
    measure(clock.now - began)
    guard let span else { return }
    attributes(span)
    if let error {
      span.recordError(error)
      span.setStatus(SpanStatus(code: .error, message: error.localizedDescription))
    }
    span.end()
  }
}
