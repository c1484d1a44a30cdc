package import HearthModel
internal import SwiftProtobuf

extension WireTranslator {
  /// Encodes an aggregation with the explicit orders only: the backend adds the implicit ones itself, and an order that it does not need
  /// could require an index that does not exist (firebase-ios-sdk query.h, ToAggregateTarget).
  package func encodeAggregation(
    _ query: Query, _ aggregations: [Aggregation]
  ) -> Google_Firestore_V1_RunAggregationQueryRequest {
    var target = query.target
    // A backend cannot know that the orders that it adds itself must be reversed.
    let isUnordered = query.isLimitToLast && query.explicitOrders.isEmpty
    let orders = (isUnordered ? Aggregation.query(query, for: aggregations) : query).explicitOrders
    target.orders = query.isLimitToLast ? orders.map(\.reversed) : orders
    let (parent, structuredQuery) = structuredQuery(target)
    var request = Google_Firestore_V1_RunAggregationQueryRequest()
    request.parent = parent
    request.structuredAggregationQuery.structuredQuery = structuredQuery
    request.structuredAggregationQuery.aggregations = aggregations.map(encode)
    return request
  }

  private func encode(_ aggregation: Aggregation) -> Google_Firestore_V1_StructuredAggregationQuery.Aggregation {
    var message = Google_Firestore_V1_StructuredAggregationQuery.Aggregation()
    message.alias = aggregation.alias
    switch aggregation.operation {
    case .count(let upTo):
      message.count = Google_Firestore_V1_StructuredAggregationQuery.Aggregation.Count()
      if let upTo { message.count.upTo.value = Int64(upTo) }
    case .sum(let path):
      message.sum.field.fieldPath = path.canonicalString
    case .average(let path):
      message.avg.field.fieldPath = path.canonicalString
    }
    return message
  }

  /// - Returns: the version that was read; nil if the message does not say it.
  package func decodeReadTime(
    _ message: Google_Firestore_V1_RunAggregationQueryResponse
  ) throws(WireError) -> SnapshotVersion? {
    guard message.hasReadTime else { return nil }
    return SnapshotVersion(try decode(message.readTime, at: "RunAggregationQueryResponse.read_time"))
  }

  /// - Returns: the values by alias; nil for a message without a result.
  package func decode(
    _ message: Google_Firestore_V1_RunAggregationQueryResponse
  ) throws(WireError) -> [String: Value]? {
    guard message.hasResult else { return nil }
    var values: [String: Value] = [:]
    for (alias, value) in message.result.aggregateFields {
      values[alias] = try decode(value, at: "RunAggregationQueryResponse.result.aggregate_fields[\"\(alias)\"]")
    }
    return values
  }
}
