internal import HearthModel
internal import SwiftProtobuf

extension ProtoJSON {
  /// A `BundledQuery`: a structured query under a parent, and the end from which its limit counts.
  ///
  /// The orders are those of the query as the application wrote it, also when the limit counts from the end.
  func bundledQuery(_ translator: WireTranslator) throws(ProtoJSONError) -> Query {
    let databaseID = translator.database
    let structured = try required("structuredQuery")
    for name in ["select", "offset", "findNearest"] {
      if let part = structured[name] { throw part.failure("named queries cannot have it") }
    }
    var query = try source(structured.required("from").array(), structured, databaseID)
    if let filter = structured["where"] {
      let condition = try filter.filter(databaseID)
      query.filters = if case .composite(let all) = condition, all.op == .and { all.filters } else { [condition] }
    }
    for order in try structured["orderBy"]?.array() ?? [] { query.explicitOrders.append(try order.order()) }
    query.startAt = try structured["startAt"].map { (bound) throws(ProtoJSONError) in
      Bound(position: try bound.position(databaseID), isInclusive: try bound["before"]?.bool() ?? false)
    }
    query.endAt = try structured["endAt"].map { (bound) throws(ProtoJSONError) in
      Bound(position: try bound.position(databaseID), isInclusive: try !(bound["before"]?.bool() ?? false))
    }
    if let limit = structured["limit"] { query.limit = try (limit["value"] ?? limit).count() }
    let checked = try checked(query, translator)
    guard try isLimitToLast() else { return checked }
    return checked.with(limit: checked.limit ?? Int(Int32.max), type: .last)
  }

  private func isLimitToLast() throws(ProtoJSONError) -> Bool {
    guard let type = self["limitType"] else { return false }
    switch try type.string() {
    case "FIRST": return false
    case "LAST": return true
    default: throw type.failure("FIRST or LAST is expected")
    }
  }

  /// Applies the same checks as to a query from the network: operands, cursors, names.
  private func checked(_ query: Query, _ translator: WireTranslator) throws(ProtoJSONError) -> Query {
    let (parent, message) = translator.structuredQuery(query.target)
    do {
      return try translator.decode(parent: parent, query: message).query
    } catch {
      throw failure("\(error)")
    }
  }

  private func source(
    _ selectors: [ProtoJSON], _ structured: ProtoJSON, _ databaseID: DatabaseID
  ) throws(ProtoJSONError) -> Query {
    guard let selector = selectors.first, selectors.count == 1 else {
      throw structured.failure("\"from\" must name one collection, not \(selectors.count)")
    }
    let parent = try parentPath(databaseID)
    let id = try selector.required("collectionId").string()
    guard !id.isEmpty, !id.utf8.contains(UInt8(ascii: "/")) else {
      throw selector.failure("\"\(id)\" is not a collection id")
    }
    return try selector["allDescendants"]?.bool() ?? false
      ? Query(path: parent, collectionGroup: id) : Query(path: parent.appending(id))
  }

  private func parentPath(_ databaseID: DatabaseID) throws(ProtoJSONError) -> ResourcePath {
    let parent = try required("parent")
    let name = try parent.string()
    let path: ResourcePath
    do {
      path = try databaseID.path(fromName: name)
    } catch {
      throw parent.failure("\(error)")
    }
    guard path.count.isMultiple(of: 2) else { throw parent.failure("\"\(name)\" is a collection") }
    return path
  }

  // MARK: - Filters

  private func filter(_ databaseID: DatabaseID) throws(ProtoJSONError) -> Filter {
    if let composite = self["compositeFilter"] {
      let op: CompositeFilter.Operator
      switch try composite.required("op").string() {
      case "AND": op = .and
      case "OR": op = .or
      case let name: throw composite.failure("\"\(name)\" is not an operator")
      }
      var filters: [Filter] = []
      for filter in try composite.required("filters").array() { filters.append(try filter.filter(databaseID)) }
      guard !filters.isEmpty else { throw composite.failure("it needs at least one filter") }
      return .composite(CompositeFilter(op: op, filters: filters))
    }
    if let filter = self["fieldFilter"] {
      let name = try filter.required("op").string()
      guard let op = Self.operators[name] else { throw filter.failure("\"\(name)\" is not an operator") }
      return .field(
        FieldFilter(
          path: try filter.required("field").fieldPath(), op: op, value: try filter.required("value").value(databaseID))
      )
    }
    guard let filter = self["unaryFilter"] else { throw failure("no filter is set") }
    let name = try filter.required("op").string()
    guard let (op, value) = Self.unaryOperators[name] else { throw filter.failure("\"\(name)\" is not an operator") }
    return .field(FieldFilter(path: try filter.required("field").fieldPath(), op: op, value: value))
  }

  private static let operators: [String: FieldFilter.Operator] = [
    "LESS_THAN": .lessThan, "LESS_THAN_OR_EQUAL": .lessThanOrEqual, "GREATER_THAN": .greaterThan,
    "GREATER_THAN_OR_EQUAL": .greaterThanOrEqual, "EQUAL": .equal, "NOT_EQUAL": .notEqual,
    "ARRAY_CONTAINS": .arrayContains, "IN": .in, "ARRAY_CONTAINS_ANY": .arrayContainsAny, "NOT_IN": .notIn,
  ]

  private static let unaryOperators: [String: (FieldFilter.Operator, Value)] = [
    "IS_NULL": (.equal, .null), "IS_NOT_NULL": (.notEqual, .null), "IS_NAN": (.equal, .double(.nan)),
    "IS_NOT_NAN": (.notEqual, .double(.nan)),
  ]

  // MARK: - Orders and cursors

  private func fieldPath() throws(ProtoJSONError) -> FieldPath {
    let name = try required("fieldPath").string()
    do {
      return try FieldPath(parsingServerFormat: name)
    } catch {
      throw failure("\(error)")
    }
  }

  private func order() throws(ProtoJSONError) -> OrderBy {
    let path = try required("field").fieldPath()
    switch try self["direction"]?.string() {
    case "ASCENDING", "DIRECTION_UNSPECIFIED", nil: return OrderBy(path: path, direction: .ascending)
    case "DESCENDING": return OrderBy(path: path, direction: .descending)
    case let name?: throw failure("\"\(name)\" is not a direction")
    }
  }

  private func position(_ databaseID: DatabaseID) throws(ProtoJSONError) -> [Value] {
    var values: [Value] = []
    for value in try self["values"]?.array() ?? [] { values.append(try value.value(databaseID)) }
    return values
  }
}
