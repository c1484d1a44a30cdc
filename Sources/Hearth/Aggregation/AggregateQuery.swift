public import Foundation
internal import HearthModel
internal import HearthSync
internal import HearthTransport

extension Query {
  /// A query that counts this query's documents.
  public var count: AggregateQuery { aggregate([AggregateField.count()]) }

  /// A query that aggregates this query's result.
  ///
  /// The limit and the cursors apply; ``Query/limit(toLast:)`` needs no order here. Documents without one of the fields that are summed or
  /// averaged are left out, even from a count in the same request (Firestore documentation of aggregation queries).
  ///
  /// - Parameter aggregateFields: One to five; the backend refuses more. A field that occurs twice counts once.
  public func aggregate(_ aggregateFields: [AggregateField]) -> AggregateQuery {
    AggregateQuery(query: self, fields: aggregateFields)
  }
}

/// A query whose result is computed from documents instead of consisting of them.
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
  /// - Parameters:
  ///   - source: Whether the backend computes or, without being asked and so offline as well, this device.
  ///   - completion: Called once on the settings' queue. Errors: `unavailable` with ``AggregateSource/server`` when the backend
  ///     cannot be reached or the network is disabled; `invalidArgument` for no or more than five aggregations; what the backend
  ///     refuses, such as `permissionDenied` or `failedPrecondition` for a missing index.
  public func getAggregation(
    source: AggregateSource, completion: @escaping (AggregateQuerySnapshot?, (any Error)?) -> Void
  ) {
    let queue = query.firestore.runtime().callbackQueue
    let completion = UncheckedSendableBox(completion)
    get(source) { result in
      queue.async {
        switch result {
        case .success(let snapshot): completion.value(snapshot, nil)
        case .failure(let error): completion.value(nil, error)
        }
      }
    }
  }

  /// Same as ``getAggregation(source:completion:)``. Throws `CancellationError` when the task is cancelled.
  @discardableResult
  nonisolated(nonsending) public func getAggregation(source: AggregateSource) async throws -> AggregateQuerySnapshot {
    let outcome = Outcome<AggregateQuerySnapshot>()
    get(source) { outcome.resolve($0.mapError { $0 }) }
    return try await outcome.value()
  }

  private func get(
    _ source: AggregateSource, _ completion: @escaping @Sendable (Result<AggregateQuerySnapshot, NSError>) -> Void
  ) {
    let runtime = query.firestore.runtime()
    let snapshot: @Sendable ([String: Value]) -> AggregateQuerySnapshot = { [self] in
      AggregateQuerySnapshot(query: self, values: $0)
    }
    switch source {
    case .server:
      runtime.callBackend(
        { [model = query.model, aggregations] transport throws(StatusError) in
          try await transport.aggregate(model, aggregations)
        }, { completion($0.map(snapshot)) })
    case .cache:
      guard (1...Aggregation.maximumCount).contains(aggregations.count) else {
        return completion(
          .failure(
            .firestore(
              .invalidArgument,
              "An aggregation query needs 1 to \(Aggregation.maximumCount) aggregations, not \(aggregations.count).")))
      }
      runtime.aggregate(Aggregation.query(query.model, for: aggregations), aggregations) { result in
        completion(result.map(snapshot))
      }
    }
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

/// The result of an ``AggregateQuery``.
public final class AggregateQuerySnapshot: NSObject, Sendable {
  /// The query that this is the result of.
  public let query: AggregateQuery
  private let values: [String: Value]

  init(query: AggregateQuery, values: [String: Value]) {
    self.query = query
    self.values = values
  }

  /// The number of documents. A programming error if ``AggregateField/count()`` was not requested.
  public var count: NSNumber {
    guard let count = get(AggregateField.count()) as? NSNumber else {
      fatalProgrammingError(ProgrammingError("The result of the aggregation's count() is not a number"))
    }
    return count
  }

  /// The value of an aggregation: an `NSNumber`, or `NSNull` for the average of nothing. A programming error if it was not requested.
  public func get(_ aggregateField: AggregateField) -> Any {
    requireValid { () throws(ProgrammingError) in try value(of: aggregateField) }
  }

  func value(of field: AggregateField) throws(ProgrammingError) -> Any {
    guard let alias = query.aggregations.first(where: { $0.operation == field.operation })?.alias,
      let value = values[alias]
    else {
      throw ProgrammingError("'\(field.description)' was not requested in the aggregation query.")
    }
    return UserDataWriter(firestore: query.query.firestore, behavior: .none).any(value)
  }

  /// Returns whether both are results of equal queries with the same values.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? AggregateQuerySnapshot, query == other.query else { return false }
    return query.aggregations.allSatisfy { aggregation in
      let field = other.query.aggregations.first { $0.operation == aggregation.operation }
      return values[aggregation.alias] == field.flatMap { other.values[$0.alias] }
    }
  }

  /// A hash of the query and the values.
  public override var hash: Int {
    var hasher = Hasher()
    hasher.combine(query)
    // Equal results may have their values under other aliases.
    hasher.combine(
      Dictionary(query.aggregations.map { ($0.operation, values[$0.alias]) }, uniquingKeysWith: { first, _ in first }))
    return hasher.finalize()
  }
}
