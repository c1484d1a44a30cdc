/// A condition, an order or a limit as a value, so that a list of them can define a query.
///
/// ```swift
/// let cities = db.collection("cities").applying([
///   .where("state", isEqualTo: "CA"), .order(by: "population", descending: true), .limit(to: 3),
/// ])
/// ```
///
/// Field names are split at dots. The rules are those of the methods of ``Query`` with the same names.
public enum QueryPredicate {
  /// Same as ``Query/whereField(_:isEqualTo:)-(String,_)``.
  case isEqualTo(_ field: String, _ value: Any)
  /// Same as ``Query/whereField(_:in:)-(String,_)``.
  case isIn(_ field: String, _ values: [Any])
  /// Same as ``Query/whereField(_:notIn:)-(String,_)``.
  case isNotIn(_ field: String, _ values: [Any])
  /// Same as ``Query/whereField(_:arrayContains:)-(String,_)``.
  case arrayContains(_ field: String, _ value: Any)
  /// Same as ``Query/whereField(_:arrayContainsAny:)-(String,_)``.
  case arrayContainsAny(_ field: String, _ values: [Any])
  /// Same as ``Query/whereField(_:isLessThan:)-(String,_)``.
  case isLessThan(_ field: String, _ value: Any)
  /// Same as ``Query/whereField(_:isGreaterThan:)-(String,_)``.
  case isGreaterThan(_ field: String, _ value: Any)
  /// Same as ``Query/whereField(_:isLessThanOrEqualTo:)-(String,_)``.
  case isLessThanOrEqualTo(_ field: String, _ value: Any)
  /// Same as ``Query/whereField(_:isGreaterThanOrEqualTo:)-(String,_)``.
  case isGreaterThanOrEqualTo(_ field: String, _ value: Any)
  /// Same as ``Query/order(by:descending:)-(String,_)``.
  case orderBy(_ field: String, _ descending: Bool)
  /// Same as ``Query/limit(to:)``.
  case limitTo(_ limit: Int)
  /// Same as ``Query/limit(toLast:)``.
  case limitToLast(_ limit: Int)

  // MARK: - Conditions

  /// ``isEqualTo(_:_:)``.
  public static func whereField(_ field: String, isEqualTo value: Any) -> QueryPredicate { .isEqualTo(field, value) }

  /// ``isIn(_:_:)``.
  public static func whereField(_ field: String, isIn values: [Any]) -> QueryPredicate { .isIn(field, values) }

  /// ``isNotIn(_:_:)``.
  public static func whereField(_ field: String, isNotIn values: [Any]) -> QueryPredicate { .isNotIn(field, values) }

  /// ``arrayContains(_:_:)``.
  public static func whereField(_ field: String, arrayContains value: Any) -> QueryPredicate {
    .arrayContains(field, value)
  }

  /// ``arrayContainsAny(_:_:)``.
  public static func whereField(_ field: String, arrayContainsAny values: [Any]) -> QueryPredicate {
    .arrayContainsAny(field, values)
  }

  /// ``isLessThan(_:_:)``.
  public static func whereField(_ field: String, isLessThan value: Any) -> QueryPredicate { .isLessThan(field, value) }

  /// ``isGreaterThan(_:_:)``.
  public static func whereField(_ field: String, isGreaterThan value: Any) -> QueryPredicate {
    .isGreaterThan(field, value)
  }

  /// ``isLessThanOrEqualTo(_:_:)``.
  public static func whereField(_ field: String, isLessThanOrEqualTo value: Any) -> QueryPredicate {
    .isLessThanOrEqualTo(field, value)
  }

  /// ``isGreaterThanOrEqualTo(_:_:)``.
  public static func whereField(_ field: String, isGreaterThanOrEqualTo value: Any) -> QueryPredicate {
    .isGreaterThanOrEqualTo(field, value)
  }

  // MARK: - Conditions in short

  /// ``isEqualTo(_:_:)``.
  public static func `where`(_ field: String, isEqualTo value: Any) -> QueryPredicate { .isEqualTo(field, value) }

  /// ``isIn(_:_:)``.
  public static func `where`(_ field: String, isIn values: [Any]) -> QueryPredicate { .isIn(field, values) }

  /// ``isNotIn(_:_:)``.
  public static func `where`(_ field: String, isNotIn values: [Any]) -> QueryPredicate { .isNotIn(field, values) }

  /// ``arrayContains(_:_:)``. The first label is a peculiarity of the official SDK.
  public static func `where`(field: String, arrayContains value: Any) -> QueryPredicate { .arrayContains(field, value) }

  /// ``arrayContains(_:_:)``.
  public static func `where`(_ field: String, arrayContains value: Any) -> QueryPredicate {
    .arrayContains(field, value)
  }

  /// ``arrayContainsAny(_:_:)``.
  public static func `where`(_ field: String, arrayContainsAny values: [Any]) -> QueryPredicate {
    .arrayContainsAny(field, values)
  }

  /// ``isLessThan(_:_:)``.
  public static func `where`(_ field: String, isLessThan value: Any) -> QueryPredicate { .isLessThan(field, value) }

  /// ``isGreaterThan(_:_:)``.
  public static func `where`(_ field: String, isGreaterThan value: Any) -> QueryPredicate {
    .isGreaterThan(field, value)
  }

  /// ``isLessThanOrEqualTo(_:_:)``.
  public static func `where`(_ field: String, isLessThanOrEqualTo value: Any) -> QueryPredicate {
    .isLessThanOrEqualTo(field, value)
  }

  /// ``isGreaterThanOrEqualTo(_:_:)``.
  public static func `where`(_ field: String, isGreaterThanOrEqualTo value: Any) -> QueryPredicate {
    .isGreaterThanOrEqualTo(field, value)
  }

  // MARK: - Order and limits

  /// ``orderBy(_:_:)``.
  public static func order(by field: String, descending: Bool = false) -> QueryPredicate { .orderBy(field, descending) }

  /// ``limitTo(_:)``.
  public static func limit(to limit: Int) -> QueryPredicate { .limitTo(limit) }

  /// ``limitToLast(_:)``.
  public static func limit(toLast limit: Int) -> QueryPredicate { .limitToLast(limit) }
}

/// The treatment of a list of decoded documents when one of them cannot be decoded.
public enum DecodingFailureStrategy: Sendable {
  /// Leaves that document out, and reports the error with the list.
  case ignore
  /// The list is empty, and the error is reported.
  case raise
}

extension Query {
  /// The query with these conditions, orders and limits, in this order.
  public func applying(_ predicates: [QueryPredicate]) -> Query {
    predicates.reduce(self) { query, predicate in query.applying(predicate) }
  }

  private func applying(_ predicate: QueryPredicate) -> Query {
    switch predicate {
    case .isEqualTo(let field, let value): whereField(field, isEqualTo: value)
    case .isIn(let field, let values): whereField(field, in: values)
    case .isNotIn(let field, let values): whereField(field, notIn: values)
    case .arrayContains(let field, let value): whereField(field, arrayContains: value)
    case .arrayContainsAny(let field, let values): whereField(field, arrayContainsAny: values)
    case .isLessThan(let field, let value): whereField(field, isLessThan: value)
    case .isGreaterThan(let field, let value): whereField(field, isGreaterThan: value)
    case .isLessThanOrEqualTo(let field, let value): whereField(field, isLessThanOrEqualTo: value)
    case .isGreaterThanOrEqualTo(let field, let value): whereField(field, isGreaterThanOrEqualTo: value)
    case .orderBy(let field, let descending): order(by: field, descending: descending)
    case .limitTo(let limit): self.limit(to: limit)
    case .limitToLast(let limit): self.limit(toLast: limit)
    }
  }
}
