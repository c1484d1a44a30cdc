/// Collects what conditions tell of the fields of a document.
struct FieldFacts {
  /// The facts of a field, or of the fields of a map.
  private indirect enum Fact {
    case value(RuleValue)
    case constraint(FieldConstraint)
    case fields([ExactText: Fact])
  }

  private static let longestPath = 100

  private var fields: [ExactText: Fact] = [:]

  mutating func add(_ condition: RuleFilter.Condition) {
    // The name of a document is not a field. Documents do not nest as deep as the limit, and fewer facts are still correct.
    guard let name = condition.path.first, name != RuleQuery.nameOfDocument, condition.path.count <= Self.longestPath
    else { return }
    let first = ExactText(name)
    fields[first] = Self.merged(fields[first], condition, condition.path.dropFirst())
  }

  private static func merged(_ old: Fact?, _ condition: RuleFilter.Condition, _ path: ArraySlice<String>) -> Fact {
    guard let next = path.first.map(ExactText.init) else { return merged(old, condition) }
    switch old {
    case .fields(var fields):
      fields[next] = merged(fields[next], condition, path.dropFirst())
      return .fields(fields)
    // A map whose value is known tells more than one of its fields.
    case .value(let value): return .value(value)
    case .constraint, nil: return .fields([next: merged(nil, condition, path.dropFirst())])
    }
  }

  private static func merged(_ old: Fact?, _ condition: RuleFilter.Condition) -> Fact {
    if case .value(let value) = old { return .value(value) }
    if condition.relation == .equal { return .value(condition.value) }
    if case .fields(let fields) = old { return .fields(fields) }
    var constraint =
      if case .constraint(let constraint) = old { constraint } else {
        FieldConstraint(field: "resource.data.\(condition.path.joined(separator: "."))")
      }
    constraint.add(condition.relation, condition.value)
    return .constraint(constraint)
  }

  var map: PartialMap { Self.map("resource.data", fields) }

  private static func map(_ name: String, _ fields: [ExactText: Fact]) -> PartialMap {
    var known: [ExactText: RuleValue] = [:]
    for (field, fact) in fields {
      switch fact {
      case .value(let value): known[field] = value
      case .constraint(let constraint): known[field] = .constraint(constraint)
      case .fields(let fields): known[field] = .partialMap(map("\(name).\(field.text)", fields))
      }
    }
    return PartialMap(name: name, known: known)
  }
}

extension FieldConstraint {
  fileprivate mutating func add(_ relation: RuleFilter.Relation, _ value: RuleValue) {
    switch relation {
    case .less: addUpper(Bound(value: value, isInclusive: false))
    case .lessOrEqual: addUpper(Bound(value: value, isInclusive: true))
    case .greater: addLower(Bound(value: value, isInclusive: false))
    case .greaterOrEqual: addLower(Bound(value: value, isInclusive: true))
    case .notEqual: exclude([value].filter(\.isExact))
    case .notIn: if case .list(let list) = value { exclude(list.items.filter(\.isExact)) }
    case .arrayContains: addMember(value)
    // Disjunctions have replaced these.
    case .equal, .in, .arrayContainsAny: break
    }
  }
}

extension RuleValue {
  /// False for values that may stand for several of documents, or are equal to several: references of other projects, times that are not set
  /// yet, and numbers that filters compare exactly and rules as doubles.
  fileprivate var isExact: Bool {
    switch self {
    case .path, .timestamp: false
    case .int(let number): number.magnitude < 1 << 53
    case .float(let number): number.magnitude < 0x1p53
    case .list(let list): list.items.allSatisfy(\.isExact)
    case .map(let map): map.fields.all.allSatisfy(\.value.isExact)
    default: true
    }
  }
}
