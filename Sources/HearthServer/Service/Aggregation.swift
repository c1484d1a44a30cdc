internal import HearthModel
internal import HearthWire
internal import SwiftProtobuf

extension Aggregation {
  /// Reads the aggregations of a request: 1 to 5, aliases unique, `field_1`, `field_2` … where none is given.
  static func decode(
    _ messages: [Google_Firestore_V1_StructuredAggregationQuery.Aggregation]
  ) throws -> [Aggregation] {
    guard !messages.isEmpty else { throw StatusError.invalid("Aggregations can not be empty.") }
    guard messages.count <= maximumCount else {
      throw StatusError.invalid(
        "The maximum number of aggregations allowed in an aggregation query is \(maximumCount). Received: "
          + "\(messages.count)")
    }
    var aliases: Set<String> = []
    for message in messages where !message.alias.isEmpty && !aliases.insert(message.alias).inserted {
      throw StatusError.invalid("Aggregation aliases contain duplicate alias: \(message.alias)")
    }
    var nextField = 1
    return try messages.map { message in
      var alias = message.alias
      while alias.isEmpty {
        let candidate = "field_\(nextField)"
        nextField += 1
        if aliases.insert(candidate).inserted { alias = candidate }
      }
      return Aggregation(alias: alias, operation: try decode(message))
    }
  }

  private static func decode(
    _ message: Google_Firestore_V1_StructuredAggregationQuery.Aggregation
  ) throws -> Operation {
    switch message.operator {
    case .count(let count):
      guard count.hasUpTo else { return .count(upTo: nil) }
      guard count.upTo.value > 0 else {
        throw StatusError.invalid("aggregations: count.up_to is \(count.upTo.value), but must be greater than zero")
      }
      return .count(upTo: Int(clamping: count.upTo.value))
    case .sum(let sum): return .sum(try FieldPath(parsingServerFormat: sum.field.fieldPath))
    case .avg(let average): return .average(try FieldPath(parsingServerFormat: average.field.fieldPath))
    case nil: throw StatusError.invalid("aggregations: none of count, sum and avg is set")
    }
  }
}
