internal import Foundation
internal import HearthModel

/// Adds conditions, orders, limits and cursors to a query, with the checks and texts of the official SDK.
///
/// Checks only what the client has to refuse; the backend checks its own limits (30 alternatives, 10 in `notIn`).
enum QueryBuilder {
  enum Edge { case start, end }

  // MARK: - Order and limits

  static func order(
    _ query: HearthModel.Query, by path: HearthModel.FieldPath, descending: Bool
  ) throws(ProgrammingError) -> HearthModel.Query {
    guard query.startAt == nil else {
      throw ProgrammingError(
        "Invalid query. You must not specify a starting point before specifying the order by.")
    }
    guard query.endAt == nil else {
      throw ProgrammingError(
        "Invalid query. You must not specify an ending point before specifying the order by.")
    }
    var query = query
    query.explicitOrders.append(OrderBy(path: path, direction: descending ? .descending : .ascending))
    return query
  }

  static func limit(
    _ query: HearthModel.Query, to limit: Int, type: HearthModel.Query.LimitType
  ) throws(ProgrammingError) -> HearthModel.Query {
    guard limit > 0 else {
      throw ProgrammingError("Invalid Query. Query limit (\(limit)) is invalid. Limit must be positive.")
    }
    var query = query
    // The wire format holds 32 bits; more than that many documents cannot be in a result.
    query.limit = limit > Int(Int32.max) ? nil : limit
    query.limitType = type
    return query
  }

  /// Checks that are due when a query's documents are read or listened to. An aggregation needs no order (firebase-ios-sdk query_core.cc,
  /// ValidateHasExplicitOrderByForLimitToLast, which aggregate_query.cc does not call).
  static func validateForRunning(_ query: HearthModel.Query) throws(ProgrammingError) {
    guard query.limitType == .first || query.limit == nil || !query.explicitOrders.isEmpty else {
      throw ProgrammingError("limit(toLast:) queries require specifying at least one OrderBy() clause.")
    }
  }

  // MARK: - Filters

  static func filter(
    _ query: HearthModel.Query, _ condition: Filter.Condition, databaseID: DatabaseID
  ) throws(ProgrammingError) -> HearthModel.Query {
    guard let filter = try resolve(condition, query, databaseID) else { return query }
    var query = query
    var existing = query.filters.flatMap(\.flattened).map(\.op)
    for field in filter.flattened {
      try validate(field.op, with: existing)
      existing.append(field.op)
    }
    query.filters.append(filter)
    return query
  }

  /// The condition as a filter of this query; nil for composites of nothing.
  private static func resolve(
    _ condition: Filter.Condition, _ query: HearthModel.Query, _ databaseID: DatabaseID
  ) throws(ProgrammingError) -> HearthModel.Filter? {
    switch condition {
    case .composite(let op, let conditions):
      var filters: [HearthModel.Filter] = []
      for condition in conditions {
        if let filter = try resolve(condition, query, databaseID) { filters.append(filter) }
      }
      guard filters.count > 1 else { return filters.first }
      return .composite(CompositeFilter(op: op, filters: filters))
    case .field(let path, let op, let value):
      let resolved = try operand(value.get(), path, op, query, databaseID)
      return .field(FieldFilter(path: path, op: op, value: resolved))
    }
  }

  private static func operand(
    _ value: Value, _ path: HearthModel.FieldPath, _ op: FieldFilter.Operator, _ query: HearthModel.Query,
    _ databaseID: DatabaseID
  ) throws(ProgrammingError) -> Value {
    try UserDataReader.checkReferences(in: value, databaseID: databaseID)
    switch op {
    case .in, .notIn, .arrayContainsAny:
      guard case .array(let elements) = value, !elements.isEmpty else {
        throw ProgrammingError("Invalid Query. A non-empty array is required for '\(op.userName)' filters.")
      }
      guard path.isDocumentKey else { return value }
      guard op != .arrayContainsAny else { throw cannotUse(op) }
      var references: [Value] = []
      for element in elements { references.append(try documentID(element, query, databaseID)) }
      return .array(references)
    case .arrayContains:
      guard !path.isDocumentKey else { throw cannotUse(op) }
      return value
    default:
      return path.isDocumentKey ? try documentID(value, query, databaseID) : value
    }
  }

  private static func cannotUse(_ op: FieldFilter.Operator) -> ProgrammingError {
    ProgrammingError(
      "Invalid query. You can't perform \(op.userName) queries on document ID since document IDs are not arrays.")
  }

  /// An operand for the document id: an id, a path or a reference.
  private static func documentID(
    _ value: Value, _ query: HearthModel.Query, _ databaseID: DatabaseID
  ) throws(ProgrammingError) -> Value {
    switch value {
    case .reference:
      return value
    case .string(let id):
      guard !id.isEmpty else {
        throw ProgrammingError(
          "Invalid query. When querying by document ID you must provide a valid document ID, but it was an empty string."
        )
      }
      guard query.isCollectionGroupQuery || !id.contains("/") else {
        throw ProgrammingError(
          """
          Invalid query. When querying a collection by document ID you must provide a plain document ID, but '\(id)' \
          contains a '/' character.
          """)
      }
      let path = query.path.appending(try PathParser.path(id))
      return .reference(
        ReferenceValue(
          database: databaseID,
          key: try key(path) {
            """
            Invalid query. When querying a collection group by document ID, the value provided must result in a valid \
            document path, but '\(path.canonicalString)' is not because it has an odd number of segments.
            """
          }))
    default:
      throw ProgrammingError(
        """
        Invalid query. When querying by document ID you must provide a valid string or DocumentReference, but it was of \
        type: \(typeName(of: value))
        """)
    }
  }

  private static func typeName(of value: Value) -> String {
    switch value {
    case .null: "NSNull"
    case .boolean: "Bool"
    case .integer: "Int64"
    case .double: "Double"
    case .timestamp, .pendingServerTimestamp: "Timestamp"
    case .string: "String"
    case .bytes: "Data"
    case .reference: "DocumentReference"
    case .geoPoint: "GeoPoint"
    case .array: "Array"
    case .map: value.vectorElements == nil ? "Dictionary" : "VectorValue"
    }
  }

  static func key(_ path: ResourcePath, orElse message: () -> String) throws(ProgrammingError) -> DocumentKey {
    do {
      return try DocumentKey(path)
    } catch {
      throw ProgrammingError(message())
    }
  }

  /// Combinations that the client has to refuse; the backend decides on all others.
  private static func validate(
    _ op: FieldFilter.Operator, with existing: [FieldFilter.Operator]
  ) throws(ProgrammingError) {
    guard let conflict = existing.first(where: { op.isInConflict(with: $0) }) else { return }
    throw ProgrammingError(
      conflict == op
        ? "Invalid Query. You cannot use more than one '\(op.userName)' filter."
        : "Invalid Query. You cannot use '\(op.userName)' filters with '\(conflict.userName)' filters.")
  }
}

extension FieldFilter.Operator {
  /// The operator's name in messages.
  fileprivate var userName: String {
    switch self {
    case .lessThan: "lessThan"
    case .lessThanOrEqual: "lessThanOrEqual"
    case .equal: "equal"
    case .notEqual: "notEqual"
    case .greaterThan: "greaterThan"
    case .greaterThanOrEqual: "greaterThanOrEqual"
    case .arrayContains: "arrayContains"
    case .arrayContainsAny: "arrayContainsAny"
    case .in: "in"
    case .notIn: "notIn"
    }
  }

  fileprivate func isInConflict(with other: FieldFilter.Operator) -> Bool {
    let notIn: Set<FieldFilter.Operator> = [.notIn, .in, .arrayContainsAny, .notEqual]
    return self == .notIn && notIn.contains(other) || other == .notIn && notIn.contains(self)
      || self == .notEqual && other == .notEqual
  }
}
