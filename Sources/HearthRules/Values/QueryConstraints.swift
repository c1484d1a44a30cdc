/// The values that a field of a document can have if a query returns the document, by the filters of the query.
///
/// Every answer holds for all such documents. A question that they could answer differently fails as ``RuleFailure/undecided(_:)``.
package struct FieldConstraint: Sendable {
  struct Bound: Sendable {
    let value: RuleValue
    let isInclusive: Bool
  }

  let field: String
  private(set) var lower: Bound?
  private(set) var upper: Bound?
  /// Values that the field does not have.
  private(set) var excluded: [RuleValue] = []
  /// Members that the field has, which is a list then.
  private(set) var members: [RuleValue]?

  init(field: String) { self.field = field }

  init(field: String, members: [RuleValue]) {
    self.field = field
    self.members = members
  }

  mutating func addLower(_ bound: Bound) {
    guard let old = lower, let order = RuleValue.order(old.value, bound.value) else { return lower = bound }
    if order < 0 || order == 0 && !bound.isInclusive { lower = bound }
  }

  mutating func addUpper(_ bound: Bound) {
    guard let old = upper, let order = RuleValue.order(old.value, bound.value) else { return upper = bound }
    if order > 0 || order == 0 && !bound.isInclusive { upper = bound }
  }

  mutating func exclude(_ values: [RuleValue]) { excluded += values }
  mutating func addMember(_ value: RuleValue) { members = (members ?? []) + [value] }

  /// The conditions that hold for the field, by the emulator's names of their comparisons.
  package var bounds: [(comparator: String, value: RuleValue)] {
    [
      lower.map { ($0.isInclusive ? "GTE" : "GT", $0.value) }, upper.map { ($0.isInclusive ? "LTE" : "LT", $0.value) },
    ].compactMap(\.self) + excluded.map { ("NEQ", $0) } + (members ?? []).map { ("LIST_CONTAINS", $0) }
  }

  private var undecided: RuleFailure { .undecided(field) }

  // MARK: - Questions

  enum Comparison {
    case less, lessOrEqual, greater, greaterOrEqual
  }

  /// Returns true if the field compares so with a value in all documents, and false if in none.
  func holds(_ comparison: Comparison, _ value: RuleValue) throws(RuleFailure) -> Bool {
    // The value is comparable with what the field can hold only if it is of the type of a bound.
    guard let any = lower ?? upper, RuleValue.queryOrder(any.value, value) != nil else { throw undecided }
    let fromLower = lower.flatMap { bound in RuleValue.queryOrder(bound.value, value).map { (order: $0, bound) } }
    let fromUpper = upper.flatMap { bound in RuleValue.queryOrder(bound.value, value).map { (order: $0, bound) } }
    /// All are at least as large as the value, all are larger, and so on.
    let isAtLeast = fromLower.map { $0.order >= 0 } ?? false
    let isLarger = fromLower.map { $0.order > 0 || $0.order == 0 && !$0.1.isInclusive } ?? false
    let isAtMost = fromUpper.map { $0.order <= 0 } ?? false
    let isSmaller = fromUpper.map { $0.order < 0 || $0.order == 0 && !$0.1.isInclusive } ?? false
    switch comparison {
    case .less: if isSmaller { return true } else if isAtLeast { return false }
    case .lessOrEqual: if isAtMost { return true } else if isLarger { return false }
    case .greater: if isLarger { return true } else if isAtMost { return false }
    case .greaterOrEqual: if isAtLeast { return true } else if isSmaller { return false }
    }
    throw undecided
  }

  func equals(_ value: RuleValue) throws(RuleFailure) -> Bool {
    if let lower, let upper, lower.isInclusive, upper.isInclusive, RuleValue.queryOrder(lower.value, value) == 0,
      RuleValue.queryOrder(upper.value, value) == 0
    {
      return true
    }
    if rulesOut(value) { return false }
    throw undecided
  }

  /// Returns false if the field has none of the values in any document.
  func isMember(of values: [RuleValue]) throws(RuleFailure) -> Bool {
    if values.allSatisfy(rulesOut) { return false }
    throw undecided
  }

  /// Returns true if the field is a list that has the value.
  func has(member value: RuleValue) throws(RuleFailure) -> Bool {
    if let members, members.contains(where: { RuleValue.isMember(value, like: $0) }) { return true }
    throw undecided
  }

  func has(_ type: TypeName) throws(RuleFailure) -> Bool {
    if members != nil { return type == .list }
    switch (lower ?? upper)?.value {
    case .int, .float:
      if type == .int || type == .float { throw undecided }
      return type == .number
    case .some(let value): return type.rawValue == value.typeName
    case nil: throw undecided
    }
  }

  private func rulesOut(_ value: RuleValue) -> Bool {
    // A filter other than the one for null returns no document in which the field is null.
    if case .null = value { return true }
    if excluded.contains(where: { RuleValue.areSame($0, value, numbersByValue: true) }) { return true }
    if members != nil {
      if case .list = value { return false }
      return true
    }
    if let lower {
      guard let order = RuleValue.order(lower.value, value) else { return lower.value.typeName != value.typeName }
      if order > 0 || order == 0 && !lower.isInclusive { return RuleValue.queryOrder(lower.value, value) != nil }
    }
    if let upper {
      guard let order = RuleValue.order(upper.value, value) else { return upper.value.typeName != value.typeName }
      if order < 0 || order == 0 && !upper.isInclusive { return RuleValue.queryOrder(upper.value, value) != nil }
    }
    return false
  }
}

/// A map of a document that a query could return: the fields that its filters name. Others may exist.
package struct PartialMap: Sendable {
  let name: String
  let known: [ExactText: RuleValue]

  /// The fields that are known, in the order of their UTF-8.
  package var fields: [(name: String, value: RuleValue)] {
    known.sorted { $0.key < $1.key }.map { ($0.key.text, $0.value) }
  }

  func value(of field: String) throws(RuleFailure) -> RuleValue {
    guard let value = known[ExactText(field)] else { throw .undecided("\(name).\(field)") }
    return value
  }

  func has(_ field: String) throws(RuleFailure) -> Bool {
    _ = try value(of: field)
    return true
  }

  /// The names of the known fields, as a list that can have more.
  var keys: RuleValue {
    .constraint(FieldConstraint(field: "\(name).keys()", members: known.keys.sorted().map { .string($0.text) }))
  }
}
