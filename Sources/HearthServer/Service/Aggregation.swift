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
    for message in messages where (try? FieldPath.validateServerLimits(name: message.alias)) == nil {
      guard !message.alias.isEmpty else { continue }
      throw StatusError.invalid("The property.name \"\(message.alias)\" is reserved.")
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
    case .sum(let sum): return .sum(try field(sum.field.fieldPath))
    case .avg(let average): return .average(try field(average.field.fieldPath))
    case nil: throw StatusError.invalid("aggregations: none of count, sum and avg is set")
    }
  }

  private static func field(_ text: String) throws -> FieldPath {
    let path = try QueryChecks.field(text)
    guard !path.isDocumentKey else {
      throw StatusError.invalid("Aggregations are not supported for the property: __key__")
    }
    return path
  }

  /// Checks that production can read the added fields from the index that answers the query: they do not come behind the key, and the
  /// query's own fields are no others.
  ///
  /// - Throws: INVALID_ARGUMENT, with the texts of Google's emulator.
  static func check(
    _ aggregations: [Aggregation], over decoded: DecodedQuery
  ) throws(StatusError) {
    let query = decoded.query
    let paths = paths(of: aggregations)
    guard !paths.isEmpty else { return }
    if let projection = decoded.projection {
      guard projection != [.documentKey] else {
        throw StatusError.invalid(
          "Aggregation over non-key properties is not supported for base query that only returns keys.")
      }
      if let path = paths.first(where: { !projection.contains($0) }) {
        throw StatusError.invalid(
          "The aggregation property \(path) is not present in the base query's property mask.")
      }
      throw StatusError.invalid("Cannot apply property masks when aggregation fields are present.")
    }
    let filtersKey = query.filters.flatMap(\.flattened).contains(where: \.path.isDocumentKey)
    // All descendants of a document are a range of keys.
    let isRange = filtersKey || query.isCollectionGroupQuery && !query.path.isEmpty && !decoded.isShallow
    guard isRange || query.explicitOrders.contains(where: \.path.isDocumentKey) else { return }
    let ordered = Set(query.explicitOrders.map(\.path)).union(query.inequalityFields)
    let missing = paths.filter { !ordered.contains($0) }
    guard missing.isEmpty else {
      let names = missing.map(\.canonicalString).joined(separator: ", ")
      throw StatusError.invalid(
        "This query requires an index that has fields [\(names)] after __name__ and Firestore does not currently support "
          + "such an index. Please try the query again with additional ordering on those fields.")
    }
  }
}
