public import Foundation
internal import HearthModel
internal import HearthSync

/// The result of an ``AggregateQuery``.
public final class AggregateQuerySnapshot: NSObject, Sendable {
  /// The query that this is the result of.
  public let query: AggregateQuery
  /// The origin of the values (cache or backend), and whether a document of the query's result shows a pending write. Not part of equality.
  public let metadata: SnapshotMetadata
  private let result: AggregateResult

  init(query: AggregateQuery, result: AggregateResult) {
    self.query = query
    self.result = result
    metadata = SnapshotMetadata(hasPendingWrites: result.hasPendingWrites, isFromCache: result.isFromCache)
  }

  /// Tells whether every document that matches at the backend is counted, and at what time that was true. Not part of equality.
  ///
  /// Values from the cache are complete if a listener or a read with the same query has been in sync with the backend. A change of this
  /// property alone does not call a listener.
  public var completeness: QueryCompleteness { QueryCompleteness(result.completeness) }

  private var values: [String: Value] { result.values }

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
