package import HearthModel
internal import SwiftProtobuf

extension WireTranslator {
  /// Decodes the query of `message` under `parent`, which is the database's root or a document.
  ///
  /// - Throws: a ``WireError`` when a part is missing, malformed or contradicts another one: more cursor
  ///   values than orders, a negative limit, a list operator without a list, a document name compared with
  ///   something else …
  package func decode(
    parent: String, query message: Google_Firestore_V1_StructuredQuery
  ) throws(WireError) -> DecodedQuery {
    let parentPath = try parentPath(parent)
    return try at("structured_query") {
      var (query, isShallow) = try decodeSource(message.from, parent: parentPath)
      if message.hasWhere {
        query.filters = try decodeConjunction(message.where)
      }
      query.explicitOrders = try decode(message.orderBy)
      query.limit = try decodeLimit(message)
      // Orders that follow from filters, and the order of keys at the end, have no place in cursors.
      for (field, cursor) in [("start_at.values", message.startAt), ("end_at.values", message.endAt)]
      where cursor.values.count > message.orderBy.count {
        throw WireError(field: field, message: "Cursor has too many values.")
      }
      if message.hasStartAt {
        query.startAt = Bound(
          position: try decode(message.startAt, orders: query.orders, at: "start_at"),
          isInclusive: message.startAt.before)
      }
      if message.hasEndAt {
        query.endAt = Bound(
          position: try decode(message.endAt, orders: query.orders, at: "end_at"),
          isInclusive: !message.endAt.before)
      }
      guard message.offset >= 0 else {
        throw WireError(field: "offset", message: "offset is negative (\(message.offset))")
      }
      return DecodedQuery(
        query: query, isShallow: isShallow, offset: Int(message.offset), projection: try decodeProjection(message),
        findNearest: message.hasFindNearest ? message.findNearest : nil)
    }
  }

  private func parentPath(_ name: String) throws(WireError) -> ResourcePath {
    let path = try at("parent") { try database.path(fromName: name) }
    guard path.count.isMultiple(of: 2) else {
      throw WireError(field: "parent", message: "\"\(name)\" is neither the database's root nor a document")
    }
    return path
  }

  /// No collection, or the empty id, stands for all collections: those directly below the parent, or with `all_descendants` all below it.
  private func decodeSource(
    _ selectors: [Google_Firestore_V1_StructuredQuery.CollectionSelector], parent: ResourcePath
  ) throws(WireError) -> (query: Query, isShallow: Bool) {
    guard selectors.count <= 1 else {
      throw WireError(
        field: "from", message: "StructuredQuery.from cannot have more than one collection selector.")
    }
    let collectionID = selectors.first?.collectionID ?? ""
    let allDescendants = selectors.first?.allDescendants ?? false
    guard !collectionID.utf8.contains(UInt8(ascii: "/")) else {
      throw WireError(
        field: "from[0].collection_id",
        message: "Collection id \"\(collectionID)\" is invalid because it contains \"/\".")
    }
    if collectionID.isEmpty { return (Query(path: parent, collectionGroup: ""), !allDescendants) }
    if allDescendants { return (Query(path: parent, collectionGroup: collectionID), false) }
    return (Query(path: parent.appending(collectionID)), false)
  }

  private func decodeLimit(_ message: Google_Firestore_V1_StructuredQuery) throws(WireError) -> Int? {
    guard message.hasLimit else { return nil }
    guard message.limit.value >= 0 else {
      throw WireError(field: "limit", message: "limit is negative (\(message.limit.value))")
    }
    return Int(message.limit.value)
  }

  private func decodeProjection(
    _ message: Google_Firestore_V1_StructuredQuery
  ) throws(WireError) -> [FieldPath]? {
    guard message.hasSelect, !message.select.fields.isEmpty else { return nil }
    var paths: [FieldPath] = []
    for (index, field) in message.select.fields.enumerated() {
      paths.append(try fieldPath(field.fieldPath, at: "select.fields[\(index)].field_path"))
    }
    return paths
  }
}

// MARK: - Filters

extension WireTranslator {
  /// The filters that must all hold: an `and` at the top is the list itself, also one in which it is alone.
  private func decodeConjunction(
    _ message: Google_Firestore_V1_StructuredQuery.Filter
  ) throws(WireError) -> [Filter] {
    var filters = [try decode(message, at: "where")]
    while filters.count == 1, case .composite(let composite) = filters[0], composite.op == .and {
      filters = composite.filters
    }
    return filters
  }

  package func decode(
    _ message: Google_Firestore_V1_StructuredQuery.Filter, at field: String
  ) throws(WireError) -> Filter {
    try HearthWire.at(field) {
      switch message.filterType {
      case .compositeFilter(let filter):
        return .composite(try HearthWire.at("composite_filter") { try decode(filter) })
      case .fieldFilter(let filter):
        return .field(try HearthWire.at("field_filter") { try decode(filter) })
      case .unaryFilter(let filter):
        return .field(try HearthWire.at("unary_filter") { try decode(filter) })
      case nil:
        throw WireError(field: "filter_type", message: "no filter is set")
      }
    }
  }

  private func decode(
    _ message: Google_Firestore_V1_StructuredQuery.CompositeFilter
  ) throws(WireError) -> CompositeFilter {
    let op: CompositeFilter.Operator
    switch message.op {
    case .and: op = .and
    case .or: op = .or
    case .unspecified, .UNRECOGNIZED:
      throw WireError(field: "op", message: "\(message.op.rawValue) is not an operator (1 is AND, 2 is OR)")
    }
    guard !message.filters.isEmpty else {
      throw WireError(field: "filters", message: "a composite filter needs at least one filter")
    }
    var filters: [Filter] = []
    filters.reserveCapacity(message.filters.count)
    for (index, filter) in message.filters.enumerated() {
      filters.append(try decode(filter, at: "filters[\(index)]"))
    }
    return CompositeFilter(op: op, filters: filters)
  }

  private func decode(
    _ message: Google_Firestore_V1_StructuredQuery.UnaryFilter
  ) throws(WireError) -> FieldFilter {
    guard case .field(let field)? = message.operandType else {
      throw WireError(field: "field", message: "the field to test is missing")
    }
    let path = try fieldPath(field.fieldPath, at: "field.field_path")
    guard !path.isDocumentKey else {
      throw WireError(field: "field.field_path", message: "__key__ filter value must be a Key")
    }
    switch message.op {
    case .isNull: return FieldFilter(path: path, op: .equal, value: .null)
    case .isNotNull: return FieldFilter(path: path, op: .notEqual, value: .null)
    case .isNan: return FieldFilter(path: path, op: .equal, value: .double(.nan))
    case .isNotNan: return FieldFilter(path: path, op: .notEqual, value: .double(.nan))
    case .unspecified, .UNRECOGNIZED:
      throw WireError(field: "op", message: "\(message.op.rawValue) is not an operator (2 to 5)")
    }
  }

  private func decode(
    _ message: Google_Firestore_V1_StructuredQuery.FieldFilter
  ) throws(WireError) -> FieldFilter {
    let path = try fieldPath(message.field.fieldPath, at: "field.field_path")
    let op = try decode(message.op)
    guard !message.value.isEmpty else {
      throw WireError(field: "value", message: "the value to compare with is missing")
    }
    let value = try decode(valueBytes: message.value, at: "value")
    try checkOperand(value, of: op, path: path)
    return Self.filter(path, op, value)
  }

  /// A comparison with null or NaN, for which there are unary filters: `EQUAL` finds nothing, `NOT_EQUAL` NaN all that is not null, and
  /// `NOT_EQUAL` null nothing (Google's emulator). In the model `==` and `!=` are the unary filters.
  private static func filter(_ path: FieldPath, _ op: FieldFilter.Operator, _ value: Value) -> FieldFilter {
    guard value.isNull || value.isNaN else { return FieldFilter(path: path, op: op, value: value) }
    switch op {
    case .equal: return FieldFilter(path: path, op: .in, value: .array([value]))
    case .notEqual where value.isNaN: return FieldFilter(path: path, op: .notEqual, value: .null)
    case .notEqual: return FieldFilter(path: path, op: .lessThan, value: value)
    default: return FieldFilter(path: path, op: op, value: value)
    }
  }

  private func decode(
    _ op: Google_Firestore_V1_StructuredQuery.FieldFilter.Operator
  ) throws(WireError) -> FieldFilter.Operator {
    switch op {
    case .lessThan: return .lessThan
    case .lessThanOrEqual: return .lessThanOrEqual
    case .greaterThan: return .greaterThan
    case .greaterThanOrEqual: return .greaterThanOrEqual
    case .equal: return .equal
    case .notEqual: return .notEqual
    case .arrayContains: return .arrayContains
    case .in: return .in
    case .arrayContainsAny: return .arrayContainsAny
    case .notIn: return .notIn
    case .unspecified, .UNRECOGNIZED:
      throw WireError(field: "op", message: "\(op.rawValue) is not an operator (1 to 10)")
    }
  }

  /// List operators need a list, and the document's name is compared with names only.
  private func checkOperand(_ value: Value, of op: FieldFilter.Operator, path: FieldPath) throws(WireError) {
    switch op {
    case .in, .notIn, .arrayContainsAny:
      guard case .array(let elements) = value else {
        throw WireError(field: "value", message: "'\(op.wireName)' requires an ArrayValue.")
      }
      guard path.isDocumentKey else { return }
      guard op != .arrayContainsAny else {
        throw WireError(field: "op", message: "'\(op.wireName)' cannot be used on __name__, which is not an array.")
      }
      try checkReferences(elements)
    case .arrayContains:
      guard !path.isDocumentKey else {
        throw WireError(field: "op", message: "'\(op.wireName)' cannot be used on __name__, which is not an array.")
      }
    case .lessThan, .lessThanOrEqual, .equal, .notEqual, .greaterThan, .greaterThanOrEqual:
      if path.isDocumentKey {
        try checkReferences([value])
      }
    }
  }

  private func checkReferences(_ values: [Value]) throws(WireError) {
    for value in values {
      guard case .reference(let reference) = value else {
        throw WireError(field: "value", message: "__key__ filter value must be a Key")
      }
      guard reference.database == database else {
        throw WireError(
          field: "value",
          message: "The request was for database '\(database)' but was attempting to access database "
            + "'\(reference.database)'")
      }
    }
  }
}

extension FieldFilter.Operator {
  /// The operator's name in the protocol's messages.
  fileprivate var wireName: String {
    switch self {
    case .lessThan: "LESS_THAN"
    case .lessThanOrEqual: "LESS_THAN_OR_EQUAL"
    case .equal: "EQUAL"
    case .notEqual: "NOT_EQUAL"
    case .greaterThan: "GREATER_THAN"
    case .greaterThanOrEqual: "GREATER_THAN_OR_EQUAL"
    case .arrayContains: "ARRAY_CONTAINS"
    case .arrayContainsAny: "ARRAY_CONTAINS_ANY"
    case .in: "IN"
    case .notIn: "NOT_IN"
    }
  }
}

// MARK: - Orders and cursors

extension WireTranslator {
  private func decode(
    _ messages: [Google_Firestore_V1_StructuredQuery.Order]
  ) throws(WireError) -> [OrderBy] {
    var orders: [OrderBy] = []
    orders.reserveCapacity(messages.count)
    for (index, message) in messages.enumerated() {
      let path = try fieldPath(message.field.fieldPath, at: "order_by[\(index)].field.field_path")
      switch message.direction {
      case .ascending, .unspecified:
        orders.append(OrderBy(path: path, direction: .ascending))
      case .descending:
        orders.append(OrderBy(path: path, direction: .descending))
      case .UNRECOGNIZED(let number):
        throw WireError(field: "order_by[\(index)].direction", message: "\(number) is not a direction (1 or 2)")
      }
    }
    return orders
  }

  /// The values of a cursor. Each belongs to one order.
  private func decode(
    _ message: Google_Firestore_V1_Cursor, orders: [OrderBy], at field: String
  ) throws(WireError) -> [Value] {
    guard message.values.count <= orders.count else {
      throw WireError(
        field: "\(field).values",
        message: "Cursor has too many values. (\(message.values.count) for \(orders.count) orders)")
    }
    var position: [Value] = []
    for (index, value) in message.values.enumerated() {
      position.append(try decode(valueBytes: value, at: "\(field).values[\(index)]"))
    }
    for (index, (value, order)) in zip(position, orders).enumerated() where order.path.isDocumentKey {
      guard case .reference(let reference) = value else {
        throw WireError(
          field: "\(field).values[\(index)]", message: "the cursor value for __name__ must be a reference")
      }
      guard reference.database == database else {
        throw WireError(
          field: "\(field).values[\(index)]",
          message: "The cursor key is in a different database than the query ('\(reference.database)' and "
            + "'\(database)')")
      }
    }
    return position
  }
}
