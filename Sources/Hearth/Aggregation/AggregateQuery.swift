public import Foundation
internal import HearthModel
internal import HearthSync
internal import HearthTransport

extension Query {
  /// A query that counts this query's documents.
  public var count: AggregateQuery { aggregate([AggregateField.count()]) }

  /// A query that aggregates this query's result.
  ///
  /// The limit and the cursors apply; ``Query/limit(toLast:)`` needs no order here. Documents that lack one of the summed or averaged
  /// fields are left out, even from a count in the same request (Firestore documentation of aggregation queries).
  ///
  /// - Parameter aggregateFields: One to five; the backend refuses more. A field that occurs twice counts once.
  public func aggregate(_ aggregateFields: [AggregateField]) -> AggregateQuery {
    AggregateQuery(query: self, fields: aggregateFields)
  }
}

/// A query whose result is computed from documents.
///
/// ```swift
/// let cities = db.collection("cities")
/// let snapshot = try await cities.aggregate([.count(), .sum("population")]).getAggregation(source: .server)
/// print(snapshot.count, snapshot.get(.sum("population")))
/// ```
public final class AggregateQuery: NSObject, Sendable {
  /// The query whose result is aggregated.
  public let query: Query
  /// Each once, in the order of the request. Their aliases are numbers, because field names can be anything.
  let aggregations: [Aggregation]

  init(query: Query, fields: [AggregateField]) {
    self.query = query
    var aggregations: [Aggregation] = []
    for field in fields where !aggregations.contains(where: { $0.operation == field.operation }) {
      aggregations.append(Aggregation(alias: "aggregate_\(aggregations.count)", operation: field.operation))
    }
    self.aggregations = aggregations
  }

  /// Computes the aggregation once.
  ///
  /// With ``AggregateSource/default``, some aggregations cannot be computed from the backend's values and the pending writes, such as one
  /// of a query with a limit. They read the query as ``Query/getDocuments(source:completion:)`` does. If a pending write has removed a
  /// document from a result that fills its limit, such a read waits for the answer to the write, for ten seconds at most.
  ///
  /// - Parameters:
  ///   - source: The backend; the cache of this device, which also works offline; or with ``AggregateSource/default`` the backend if it can
  ///     be reached, and otherwise the cache.
  ///   - completion: Called once on the settings' queue. Errors: `unavailable` with ``AggregateSource/server`` when the backend
  ///     cannot be reached or the network is disabled; `invalidArgument` for no or more than five aggregations; errors of the
  ///     backend, such as `permissionDenied` or `failedPrecondition` for a missing index. Not called if the client is terminated before
  ///     there is an answer.
  public func getAggregation(
    source: AggregateSource, completion: @escaping (AggregateQuerySnapshot?, (any Error)?) -> Void
  ) {
    get(source, query.firestore.onCallbackQueue(answering: completion))
  }

  /// Same as ``getAggregation(source:completion:)``. Throws `CancellationError` when the task is cancelled.
  @discardableResult
  nonisolated(nonsending) public func getAggregation(source: AggregateSource) async throws -> AggregateQuerySnapshot {
    let outcome = Outcome<AggregateQuerySnapshot>()
    return try await outcome.value(ending: get(source) { outcome.resolve($0.mapError { $0 }) })
  }

  /// - Returns: Ends a wait for documents; nil if there is none.
  @discardableResult
  private func get(
    _ source: AggregateSource, in function: StaticString = #function,
    _ completion: @escaping @Sendable (Result<AggregateQuerySnapshot, NSError>) -> Void
  ) -> ListenerHandle? {
    let runtime = query.firestore.runtime(in: function)
    let finish: @Sendable (Result<AggregateResult, NSError>) -> Void = { [self] result in
      completion(result.map { AggregateQuerySnapshot(query: self, result: $0) })
    }
    if let error = query.fault ?? (source == .server ? nil : refusal) {
      completion(.failure(error))
      return nil
    }
    switch source {
    case .server:
      runtime.callBackend(
        { [model = query.model, aggregations] transport throws(StatusError) in
          AggregateResult(backend: try await transport.aggregate(model, aggregations))
        }, finish)
    case .cache: runtime.aggregate(query.model, aggregations, finish)
    case .default: return DefaultAggregation(runtime, query.model, aggregations, finish).run()
    }
    return nil
  }

  /// The error of a query that no source answers; nil if it can be run. The backend itself says what it refuses.
  var refusal: NSError? {
    if let fault = query.fault { return fault }
    guard !(1...Aggregation.maximumCount).contains(aggregations.count) else { return nil }
    return .firestore(
      .invalidArgument,
      "An aggregation query needs 1 to \(Aggregation.maximumCount) aggregations, not \(aggregations.count).")
  }

  /// Returns whether both compute the same aggregations over equal queries.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? AggregateQuery else { return false }
    return query == other.query && Set(aggregations.map(\.operation)) == Set(other.aggregations.map(\.operation))
  }

  /// A hash of the query and its aggregations.
  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(query)
    hasher.combine(Set(aggregations.map(\.operation)))
    return hasher.finalize()
  }
}
