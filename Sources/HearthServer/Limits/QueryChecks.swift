internal import HearthModel
internal import HearthWire

/// The checks of a query's form, in addition to the numbers of ``QueryLimits``: reserved ids and field names, and combinations of
/// collections, filters and orders that no index can answer. The texts are those of Google's emulator.
enum QueryChecks {
  /// - Throws: INVALID_ARGUMENT, or FAILED_PRECONDITION for a group below a document in descending order.
  static func check(_ decoded: DecodedQuery) throws(StatusError) {
    let query = decoded.query
    try checkIDs(of: query)
    for filter in query.filters.flatMap(\.flattened) { try check(filter.path) }
    for order in query.explicitOrders { try check(order.path) }
    for path in decoded.projection ?? [] { try check(path) }
    try checkOrders(of: query)
    try checkKeys(of: query)
    if query.collectionGroup == "" {
      try checkAllCollections(query)
    } else if query.isCollectionGroupQuery, !query.path.isEmpty {
      try checkGroupBelowDocument(query)
    }
  }

  /// Reads a field path of a request.
  static func field(_ text: String) throws(StatusError) -> FieldPath {
    guard !text.isEmpty else { throw StatusError.invalid("Invalid empty property path string.") }
    let path: FieldPath
    do { path = try FieldPath(parsingServerFormat: text, requiringQuotes: true) } catch {
      throw StatusError.invalid("\(error)")
    }
    try check(path)
    return path
  }

  /// Checks a field of a filter, an order, a projection or a mask.
  static func check(_ path: FieldPath) throws(StatusError) {
    guard !path.isDocumentKey else { return }
    guard path.segments.count <= WriteLimits.maximumDepth else {
      throw StatusError.invalid("paths must have at most \(WriteLimits.maximumDepth) elements")
    }
    for name in path.segments where (try? FieldPath.validateServerLimits(name: name)) == nil {
      throw StatusError.invalid("Invalid reserved name in field path \(path)")
    }
  }

  // MARK: - Ids

  private static func checkIDs(of query: Query) throws(StatusError) {
    do {
      try query.path.validateServerLimits()
      if let group = query.collectionGroup, !group.isEmpty {
        try ResourcePath.validateServerLimits(id: group, ofCollection: true)
      }
      for filter in query.filters.flatMap(\.flattened) { try check(filter.value) }
      for value in (query.startAt?.position ?? []) + (query.endAt?.position ?? []) { try check(value) }
    } catch {
      throw StatusError.invalid(error.description)
    }
  }

  /// Checks the references in an operand.
  private static func check(_ value: Value) throws(ModelError) {
    switch value {
    case .reference(let reference): try reference.key.validateServerLimits()
    case .array(let elements): for element in elements { try check(element) }
    case .map(let map): for entry in map.entries { try check(entry.value) }
    default: break
    }
  }

  // MARK: - Orders and keys

  /// Nothing can be ordered behind the key, which is different for each document. A field with an inequality needs an order, too.
  private static func checkOrders(of query: Query) throws(StatusError) {
    if let key = query.orders.firstIndex(where: \.path.isDocumentKey), key < query.orders.count - 1 {
      throw StatusError.invalid("order by clause cannot contain more fields after the key")
    }
    var ordered: Set<FieldPath> = []
    for order in query.explicitOrders where !ordered.insert(order.path).inserted {
      throw StatusError.invalid("order by clause cannot contain duplicate fields \(order.path)")
    }
  }

  private static func checkKeys(of query: Query) throws(StatusError) {
    let inequalities = query.inequalityFields
    guard !inequalities.isEmpty, !inequalities.contains(where: \.isDocumentKey) else { return }
    if query.filters.flatMap(\.flattened).contains(where: \.path.isDocumentKey) {
      throw StatusError.invalid(
        "Equality on key is not allowed if there are other inequality fields and key does not appear in inequalities.")
    }
  }

  // MARK: - Collections

  private static func checkAllCollections(_ query: Query) throws(StatusError) {
    if let filter = query.filters.flatMap(\.flattened).first(where: { !$0.path.isDocumentKey }) {
      throw StatusError.invalid("kind is required for filter: \(filter.path)")
    }
    guard query.orders.count == 1, query.orders[0].direction == .ascending else {
      throw StatusError.invalid("kind is required for all orders except __key__ ascending")
    }
  }

  private static func checkGroupBelowDocument(_ query: Query) throws(StatusError) {
    guard query.filters.flatMap(\.flattened).allSatisfy(\.path.isDocumentKey), query.orders.count == 1 else {
      throw StatusError.invalid("collection group queries are only allowed at the root parent")
    }
    guard query.orders[0].direction == .ascending else {
      throw StatusError(
        code: .failedPrecondition,
        message:
          "collection group queries are only allowed if they're at the root or they're an ascending primary key scan")
    }
  }
}
