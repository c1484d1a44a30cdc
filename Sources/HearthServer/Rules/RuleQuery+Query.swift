package import HearthModel
package import HearthRules

extension RuleQuery {
  /// A query as rules see it, with the offset that its caller wants.
  ///
  /// Nil for one of all collections, and for one that compares with vectors of another form than SDKs write: rules can say nothing of them.
  package init?(_ query: Query, skipping offset: Int = 0, in database: DatabaseID) {
    var parent = database.ruleNames + query.path.segments
    var collection = query.collectionGroup
    if collection == nil { collection = parent.popLast() }
    guard let collection, !collection.isEmpty,
      !query.filters.contains(where: { $0.flattened.contains(where: \.value.hasUnusualVector) })
    else { return nil }
    let filters = query.filters.map { RuleFilter($0) }
    self.init(
      parent: parent, collection: collection, hasAllDescendants: query.collectionGroup != nil,
      filter: filters.isEmpty ? nil : .and(filters),
      orders: query.explicitOrders.map {
        Order(field: $0.path.canonicalString, isDescending: $0.direction == .descending)
      },
      limit: query.limit.map { Int64($0) }, offset: Int64(offset))
  }
}

extension RuleFilter {
  fileprivate init(_ filter: Filter) {
    switch filter {
    case .field(let field): self = .field(field.path.segments, Relation(field.op), RuleValue(field.value))
    case .composite(let composite):
      let filters = composite.filters.map { RuleFilter($0) }
      self = composite.op == .and ? .and(filters) : .or(filters)
    }
  }
}

extension RuleFilter.Relation {
  fileprivate init(_ op: FieldFilter.Operator) {
    switch op {
    case .equal: self = .equal
    case .notEqual: self = .notEqual
    case .lessThan: self = .less
    case .lessThanOrEqual: self = .lessOrEqual
    case .greaterThan: self = .greater
    case .greaterThanOrEqual: self = .greaterOrEqual
    case .in: self = .in
    case .notIn: self = .notIn
    case .arrayContains: self = .arrayContains
    case .arrayContainsAny: self = .arrayContainsAny
    }
  }
}
