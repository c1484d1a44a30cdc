/// A condition of a query: on one field, or a combination of conditions.
package indirect enum Filter: Hashable, Sendable {
  case field(FieldFilter)
  case composite(CompositeFilter)

  /// A condition on one field.
  package static func field(_ path: FieldPath, _ op: FieldFilter.Operator, _ value: Value) -> Filter {
    .field(FieldFilter(path: path, op: op, value: value))
  }

  /// The conjunction of `filters`.
  package static func and(_ filters: [Filter]) -> Filter {
    .composite(CompositeFilter(op: .and, filters: filters))
  }

  /// The disjunction of `filters`.
  package static func or(_ filters: [Filter]) -> Filter {
    .composite(CompositeFilter(op: .or, filters: filters))
  }

  /// The conditions on single fields, in the order in which they are written.
  package var flattened: [FieldFilter] {
    switch self {
    case .field(let filter): [filter]
    case .composite(let composite): composite.filters.flatMap(\.flattened)
    }
  }

  /// The number of times that the fields of a document may be looked through to find out if it meets the condition.
  package var comparisonCount: Int {
    switch self {
    case .field(let filter):
      if case .array(let operands) = filter.value { max(operands.count, 1) } else { 1 }
    case .composite(let composite): composite.filters.reduce(0) { $0 + $1.comparisonCount }
    }
  }

  /// Returns whether a document meets the condition; fields are read in place.
  package func matches(key: DocumentKey, fields: EncodedFieldsView) throws(WireFormatError) -> Bool {
    switch self {
    case .field(let filter): return try filter.matches(key: key, fields: fields)
    case .composite(let composite):
      switch composite.op {
      case .and:
        for filter in composite.filters where try !filter.matches(key: key, fields: fields) { return false }
        return true
      case .or:
        for filter in composite.filters where try filter.matches(key: key, fields: fields) { return true }
        return false
      }
    }
  }
}

/// Several conditions: all must be met, or any.
package struct CompositeFilter: Hashable, Sendable {
  package enum Operator: Hashable, Sendable {
    case and
    case or
  }

  package var op: Operator
  package var filters: [Filter]

  package init(op: Operator, filters: [Filter]) {
    self.op = op
    self.filters = filters
  }
}
