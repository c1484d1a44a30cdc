/// A query as rules see it: the facts that its filters tell of every document that it returns.
package struct RuleQuery: Sendable {
  package struct Order: Sendable {
    /// The field's path with dots.
    package let field: String
    package let isDescending: Bool

    package init(field: String, isDescending: Bool) {
      self.field = field
      self.isDescending = isDescending
    }
  }

  /// The names from `databases` to `documents`, or to a document.
  package var parent: [String]
  package var collection: String
  /// True for a query of all collections of this name below the parent.
  package var hasAllDescendants: Bool
  package var filter: RuleFilter?
  package var orders: [Order]
  package var limit: Int64?
  package var offset: Int64

  package init(
    parent: [String], collection: String, hasAllDescendants: Bool = false, filter: RuleFilter? = nil,
    orders: [Order] = [], limit: Int64? = nil, offset: Int64 = 0
  ) {
    self.parent = parent
    self.collection = collection
    self.hasAllDescendants = hasAllDescendants
    self.filter = filter
    self.orders = orders
    self.limit = limit
    self.offset = offset
  }

  /// `request.query`.
  var value: RuleValue {
    var directions: [String: RuleValue] = [:]
    for order in orders { directions[order.field] = .string(order.isDescending ? "DESC" : "ASC") }
    return .map(["limit": limit.map { .int($0) } ?? .null, "offset": .int(offset), "orderBy": .map(directions)])
  }

  /// A part of the query: the documents for which one disjunct of its filters holds.
  struct Part {
    let query: RuleQuery
    /// The facts that the disjunct tells of their fields.
    let facts: PartialMap
    /// The path of the document that the disjunct names; nil if it may be any.
    let document: [String]?

    /// `request.path`.
    var path: [String] { document ?? query.parent + [query.collection] }

    var target: Program.Permission.Target {
      if let document { return Program.Permission.Target(names: document) }
      return Program.Permission.Target(
        names: query.parent + [query.collection], hasUnknownName: true,
        gap: query.hasAllDescendants ? query.parent.count : nil)
    }
  }

  /// The disjuncts that a query may have, as in production.
  private static let largestDisjunctCount = 30

  /// The parts of the query. Rules must allow all of them. Nil if there are too many.
  ///
  /// A filter does not tell the type of a number that it names as a floating-point one. So there are facts for each combination of types.
  var parts: [Part]? {
    guard let filter else { return [part([])] }
    guard let disjunctions = filter.disjunctions(limit: Self.largestDisjunctCount) else { return nil }
    let limit = Self.largestCombinationCount / max(disjunctions.count, 1)
    return disjunctions.flatMap { conditions in
      Self.typed(conditions, limit: limit).map(part)
    }
  }

  private func part(_ conditions: [RuleFilter.Condition]) -> Part {
    var facts = FieldFacts()
    for condition in conditions { facts.add(condition) }
    return Part(query: self, facts: facts.map, document: conditions.lazy.compactMap(document).first)
  }

  /// The path of the document that a condition names, if it is one of the collection. As in production, a query of a collection group knows none.
  private func document(_ condition: RuleFilter.Condition) -> [String]? {
    guard !hasAllDescendants, condition.relation == .equal, condition.path == [Self.nameOfDocument],
      case .path(let path) = condition.value
    else { return nil }
    let names = path.names
    return names.dropLast().elementsEqual(parent + [collection], by: { $0.hasSameBytes(as: $1) }) ? names : nil
  }

  /// The field that stands for the path of a document.
  static let nameOfDocument = "__name__"

  /// The combinations of types for which all disjuncts together are decided. Each may have two.
  fileprivate static let largestCombinationCount = 2 * largestDisjunctCount

  /// The conditions with each combination of values that they find. Conditions with more values are left out: they leave their fields open.
  private static func typed(_ conditions: [RuleFilter.Condition], limit: Int) -> [[RuleFilter.Condition]] {
    let alternatives = conditions.map(\.equalValues)
    if let values = alternatives.combinations(limit: limit) {
      return values.map { values in
        zip(conditions, values).map { RuleFilter.Condition(path: $0.path, relation: $0.relation, value: $1) }
      }
    }
    return [zip(conditions, alternatives).filter { $1?.count == 1 }.map(\.0)]
  }
}

/// The filters of a query. The caller limits how deep they nest.
package indirect enum RuleFilter: Sendable {
  package enum Relation: String, Sendable, CaseIterable {
    case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
    /// The value is a list: one of its members.
    case `in`, notIn
    case arrayContains
    /// The value is a list: the field contains one of its members.
    case arrayContainsAny
  }

  /// A condition for the field with a path.
  case field([String], Relation, RuleValue)
  case and([RuleFilter])
  case or([RuleFilter])

  struct Condition {
    let path: [String]
    let relation: Relation
    let value: RuleValue
    /// The values that the condition finds where rules compare their types; the value itself where they do not. Nil if they are too many. They
    /// are computed once, for all disjuncts that have the condition.
    let equalValues: [RuleValue]?

    init(path: [String], relation: Relation, value: RuleValue) {
      (self.path, self.relation, self.value) = (path, relation, value)
      let isCompared = relation == .equal || relation == .arrayContains
      equalValues = isCompared ? value.equalValues(limit: RuleQuery.largestCombinationCount) : [value]
    }
  }

  /// The filter as conjunctions, one or more of them hold for each document.
  /// - Returns: Nil if there are more than the limit.
  func disjunctions(limit: Int) -> [[Condition]]? {
    switch self {
    case .field(let path, .in, .list(let list)):
      guard list.items.count <= limit else { return nil }
      return list.items.map { [Condition(path: path, relation: .equal, value: $0)] }
    case .field(let path, .arrayContainsAny, .list(let list)):
      guard list.items.count <= limit else { return nil }
      return list.items.map { [Condition(path: path, relation: .arrayContains, value: $0)] }
    case .field(let path, let relation, let value):
      return [[Condition(path: path, relation: relation, value: value)]]
    case .or(let filters):
      var result: [[Condition]] = []
      for filter in filters {
        guard let part = filter.disjunctions(limit: limit), result.count + part.count <= limit else { return nil }
        result += part
      }
      return result
    case .and(let filters):
      var result: [[Condition]] = [[]]
      for filter in filters {
        guard let part = filter.disjunctions(limit: limit), result.count * part.count <= limit else { return nil }
        result = result.flatMap { conditions in part.map { conditions + $0 } }
      }
      return result
    }
  }
}
