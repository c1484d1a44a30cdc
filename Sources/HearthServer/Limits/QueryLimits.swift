internal import HearthModel
internal import HearthRPC

/// Checks a query as production does before it runs it (Firestore documentation, "Query limitations").
enum QueryLimits {
  private static let maximumAlternatives = 30
  private static let maximumExclusions = 10
  private static let maximumInequalityFields = 10
  /// In the sizes of the Firestore documentation's "Storage size calculations": as much of a value as an index holds.
  static let maximumValueBytes = 1500

  /// - Throws: INVALID_ARGUMENT with the text of production where it is known.
  static func check(_ query: Query, limits: DatabaseLimits = DatabaseLimits(), metrics: ServerMetrics? = nil)
    throws(StatusError)
  {
    let filters = query.filters.flatMap(\.flattened)
    // First: what the other checks cost grows faster than the number of filters.
    try checkComponents(filters.count, in: query, atMost: limits.queryComponents, metrics)
    try checkLists(filters)
    try checkSizes(filters)
    try checkExclusions(filters, in: query)
    let count = query.disjunctionCount
    metrics?.queryChecked(disjunctions: count)
    guard count <= limits.queryDisjunctions else {
      metrics?.exceeded(.queryDisjunctions)
      throw invalid(
        "Too many disjunctions after normalization. Result had \(count) disjunctions which is more than the maximum of "
          + "\(limits.queryDisjunctions)")
    }
    guard query.membershipCount <= 1 else {
      throw invalid("A maximum of 1 'ARRAY_CONTAINS' filter is allowed per disjunction.")
    }
    guard query.inequalityFields.count <= maximumInequalityFields else {
      throw invalid(
        "The query has inequality filters on \(query.inequalityFields.count) fields; at most "
          + "\(maximumInequalityFields) are allowed.")
    }
  }

  private static func invalid(_ message: String) -> StatusError {
    StatusError(code: .invalidArgument, message: message)
  }

  private static func checkComponents(
    _ filterCount: Int, in query: Query, atMost maximum: Int, _ metrics: ServerMetrics?
  ) throws(StatusError) {
    let orderCount = query.explicitOrders.count
    let parentCount = query.path.count > (query.isCollectionGroupQuery ? 0 : 1) ? 1 : 0
    metrics?.queryChecked(components: filterCount + orderCount + parentCount)
    guard filterCount + orderCount + parentCount <= maximum else {
      metrics?.exceeded(.queryComponents)
      throw invalid(
        "The query has \(filterCount) filters, \(orderCount) orders and \(parentCount) parent documents; at most "
          + "\(maximum) are allowed together.")
    }
  }

  private static func checkLists(_ filters: [FieldFilter]) throws(StatusError) {
    for filter in filters {
      let (name, maximum): (String, Int)
      switch filter.op {
      case .in: (name, maximum) = ("IN", maximumAlternatives)
      case .arrayContainsAny: (name, maximum) = ("ARRAY_CONTAINS_ANY", maximumAlternatives)
      case .notIn: (name, maximum) = ("NOT_IN", maximumExclusions)
      default: continue
      }
      guard case .array(let values) = filter.value, !values.isEmpty else {
        throw invalid("'\(name)' requires an non-empty ArrayValue.")
      }
      guard values.count <= maximum else {
        throw invalid("'\(name)' supports up to \(maximum) comparison values.")
      }
    }
  }

  private static func checkSizes(_ filters: [FieldFilter]) throws(StatusError) {
    for filter in filters where !filter.path.isDocumentKey {
      let isMembership = filter.op == .arrayContains || filter.op == .arrayContainsAny
      var values = [filter.value]
      if filter.op == .in || filter.op == .notIn || filter.op == .arrayContainsAny,
        case .array(let elements) = filter.value
      {
        values = elements
      }
      guard values.allSatisfy({ $0.storageSizeBytes <= maximumValueBytes }) else {
        throw invalid("value for \(filter.path)\(isMembership ? "[*]" : "") is too large to be used in a query")
      }
    }
  }

  private static func checkExclusions(_ filters: [FieldFilter], in query: Query) throws(StatusError) {
    guard filters.count(where: { $0.op == .notEqual || $0.op == .notIn }) <= 1 else {
      throw invalid(
        "Only a single 'NOT_EQUAL', 'NOT_IN', 'IS_NOT_NAN', or 'IS_NOT_NULL' filter allowed per query.")
    }
    guard filters.contains(where: { $0.op == .notIn }) else { return }
    if filters.contains(where: { isList($0) }) || query.filters.contains(where: hasOr) {
      throw invalid("'NOT_IN' cannot be used in the same query with 'IN', 'ARRAY_CONTAINS_ANY' or 'OR'.")
    }
  }

  /// A list of nothing but null or NaN is what the protocol's `EQUAL` null or NaN is decoded to.
  private static func isList(_ filter: FieldFilter) -> Bool {
    guard filter.op == .in, case .array(let values) = filter.value else { return filter.op == .arrayContainsAny }
    return values.count > 1 || values.contains { !$0.isNull && !$0.isNaN }
  }

  private static func hasOr(_ filter: Filter) -> Bool {
    guard case .composite(let composite) = filter else { return false }
    return composite.op == .or || composite.filters.contains(where: hasOr)
  }
}
