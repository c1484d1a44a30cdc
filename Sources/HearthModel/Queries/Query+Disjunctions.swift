extension Query {
  /// The filters in disjunctive normal form: a document meets the query's filters exactly when it meets all conditions
  /// of one of the lists. `in` and `arrayContainsAny` are split into their elements; null and NaN in such lists match
  /// nothing.
  ///
  /// - Parameter limit: the number of lists that are acceptable; the backend takes 30.
  /// - Returns: the lists, or nil if there would be more than `limit` at any stage. No filters give one empty list.
  package func disjunctions(atMost limit: Int) -> [[FieldFilter]]? {
    Self.conjunction(of: filters, atMost: limit)
  }

  /// The number of conjunctions that a backend counts: those of ``disjunctions(atMost:)``, and those that null and NaN in lists would make.
  /// `Int.max` stands for more than that.
  package var disjunctionCount: Int { Self.conjunctionCount(of: filters) }

  private static func conjunctionCount(of filters: [Filter]) -> Int {
    filters.reduce(1) { count, filter in
      let (product, isTooLarge) = count.multipliedReportingOverflow(by: disjunctionCount(of: filter))
      return isTooLarge ? .max : product
    }
  }

  private static func disjunctionCount(of filter: Filter) -> Int {
    switch filter {
    case .field(let filter):
      return filter.op == .in || filter.op == .arrayContainsAny ? filter.operands.count : 1
    case .composite(let composite):
      guard composite.op == .or else { return conjunctionCount(of: composite.filters) }
      return composite.filters.reduce(0) { count, filter in
        let (sum, isTooLarge) = count.addingReportingOverflow(disjunctionCount(of: filter))
        return isTooLarge ? .max : sum
      }
    }
  }

  /// The largest number of `arrayContains` in a conjunction, those counted that null and NaN in lists would make. As a backend counts:
  /// what stands twice side by side counts once.
  package var membershipCount: Int { UnorderedFilter(.and(filters)).membershipCount }

  private static func conjunction(of filters: [Filter], atMost limit: Int) -> [[FieldFilter]]? {
    var product: [[FieldFilter]] = [[]]
    for filter in filters {
      guard let terms = disjunctions(of: filter, atMost: limit) else { return nil }
      guard terms.count * product.count <= limit else { return nil }
      product = product.flatMap { left in terms.map { left + $0 } }
    }
    return product
  }

  private static func disjunctions(of filter: Filter, atMost limit: Int) -> [[FieldFilter]]? {
    let terms: [[FieldFilter]]
    switch filter {
    case .field(let filter):
      terms = filter.alternatives.map { [$0] }
    case .composite(let composite):
      switch composite.op {
      case .and: return conjunction(of: composite.filters, atMost: limit)
      case .or:
        var sum: [[FieldFilter]] = []
        for filter in composite.filters {
          guard let more = disjunctions(of: filter, atMost: limit) else { return nil }
          sum += more
        }
        terms = sum
      }
    }
    return terms.count <= limit ? terms : nil
  }
}

/// A condition that is equal to another one if it differs only in the order and repetition of its parts.
private indirect enum UnorderedFilter: Hashable {
  case field(FieldFilter)
  case any(FieldPath, FieldFilter.Operator, Set<Value>)
  case composite(CompositeFilter.Operator, Set<UnorderedFilter>)

  init(_ filter: Filter) {
    switch filter {
    case .field(let filter):
      self =
        filter.op == .in || filter.op == .arrayContainsAny
        ? .any(filter.path, filter.op, Set(filter.operands)) : .field(filter)
    case .composite(let composite): self = .composite(composite.op, Set(composite.filters.map(UnorderedFilter.init)))
    }
  }

  var membershipCount: Int {
    switch self {
    case .field(let filter): filter.op == .arrayContains ? 1 : 0
    case .any(_, let op, _): op == .arrayContainsAny ? 1 : 0
    case .composite(.or, let parts): parts.map(\.membershipCount).max() ?? 0
    case .composite(.and, let parts): parts.reduce(0) { $0 + $1.membershipCount }
    }
  }
}

extension FieldFilter {
  /// The conditions without lists whose disjunction is equivalent to this one.
  fileprivate var alternatives: [FieldFilter] {
    switch op {
    case .in: operands.filter(\.isListed).map { FieldFilter(path: path, op: .equal, value: $0) }
    case .arrayContainsAny: operands.filter(\.isListed).map { FieldFilter(path: path, op: .arrayContains, value: $0) }
    case .equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .arrayContains, .notIn:
      [self]
    }
  }
}
