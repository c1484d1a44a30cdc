import Hearth

// section: Aggregation

func useAggregation(
  text: String, path: FieldPath, aggregateQuery: AggregateQuery,
  aggregateDone: @escaping (AggregateQuerySnapshot?, (any Error)?) -> Void, aggregateSource: AggregateSource,
  aggregateSnapshot: AggregateQuerySnapshot, aggregateField: AggregateField
) {
  // row: AggregateField.count() -> Self
  let _: AggregateField = AggregateField.count()
  // row: AggregateField.sum(_ field: String) -> Self
  let _: AggregateField = AggregateField.sum(text)
  // row: AggregateField.sum(_ fieldPath: FieldPath) -> Self
  let _: AggregateField = AggregateField.sum(path)
  // row: AggregateField.average(_ field: String) -> Self
  let _: AggregateField = AggregateField.average(text)
  // row: AggregateField.average(_ fieldPath: FieldPath) -> Self
  let _: AggregateField = AggregateField.average(path)
  // row: AggregateQuery.query: Query { get }
  let _: Query = aggregateQuery.query
  // row: AggregateQuery.getAggregation(source: AggregateSource, completion: @escaping (AggregateQuerySnapshot?,
  //   (any Error)?) -> Void)
  aggregateQuery.getAggregation(source: aggregateSource, completion: aggregateDone)
  // row: AggregateQuerySnapshot.query: AggregateQuery { get }
  let _: AggregateQuery = aggregateSnapshot.query
  // row: AggregateQuerySnapshot.count: NSNumber { get }
  let _: NSNumber = aggregateSnapshot.count
  // row: AggregateQuerySnapshot.get(_ aggregateField: AggregateField) -> Any
  let _: Any = aggregateSnapshot.get(aggregateField)
  // row: enum AggregateSource: UInt { case server }
  let _: UInt = AggregateSource.server.rawValue
}

func useAggregationAsync(aggregateQuery: AggregateQuery, aggregateSource: AggregateSource) async throws {
  // row: AggregateQuery.getAggregation(source: AggregateSource) async throws -> AggregateQuerySnapshot
  let _: AggregateQuerySnapshot = try await aggregateQuery.getAggregation(source: aggregateSource)
}
