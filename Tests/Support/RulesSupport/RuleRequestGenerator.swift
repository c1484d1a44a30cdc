package import HearthRules
package import TestSupport

/// The fields and documents that generated rules and generated requests have in common.
enum RuleRequestNames {
  static let fields = ["a", "b", "l", "m", "s", "r", "owner"]
  static let paths = [
    ["c", "x"], ["c", "x", "d", "y"], ["d", "one"], ["q", "x"], ["c", "z", "q", "w"], ["u", "alice"], ["é", "/"],
  ]
  static let collections = ["q", "c", "d"]
}

/// Draws requests and queries, and the documents that rules look up for them.
package struct RuleRequestGenerator<Choices: ChoiceSource> {
  private var choices: Choices

  package init(choices: Choices) { self.choices = choices }

  // MARK: - Values

  package mutating func value(depth: Int = 2) -> RuleValue {
    let kinds = depth > 0 ? 13 : 9
    switch choices.below(kinds) {
    case 0: return .null
    case 1: return .bool(choices.chance(50))
    case 2, 3: return .int(choices.element([0, 1, 2, 5, -1, .max, .min, 9_007_199_254_740_993]))
    case 4: return .float(choices.element([1, 1.5, -0.0, .nan, .infinity, 9_007_199_254_740_992]))
    case 5, 6: return .string(choices.element(["", "x", "alice", "one", "é😀", "a/b", "\u{65}\u{301}"]))
    case 7: return .timestamp(RuleTimestamp(seconds: choices.element([0, -1, 1_800_000_000]), nanoseconds: 5))
    case 8:
      let path = RulePath(RuleSources.root + ["d", "one"])
      return choices.element([.bytes([0, 255]), .path(path), .vector([1, 2])])
    case 9, 10: return .list((0..<choices.below(3)).map { _ in value(depth: depth - 1) })
    default: return .map(fields(depth: depth - 1))
    }
  }

  private mutating func fields(depth: Int = 2) -> [String: RuleValue] {
    var fields: [String: RuleValue] = [:]
    for name in RuleRequestNames.fields where choices.chance(40) { fields[name] = value(depth: depth) }
    if choices.chance(20) { fields["k"] = value(depth: 0) }
    return fields
  }

  package mutating func auth() -> RuleValue {
    switch choices.below(4) {
    case 0: return .null
    case 1: return .map(["uid": .string("bob"), "token": .map(fields())])
    default: return RuleSources.auth
    }
  }

  // MARK: - Requests

  /// A request for one document.
  package mutating func request() -> RuleRequest {
    let method = choices.element(RuleMethod.allCases)
    let path = RuleSources.root + choices.element(RuleRequestNames.paths)
    let document = choices.chance(method == .create ? 10 : 85) ? RuleMap(fields()) : nil
    return RuleRequest(
      method, path: path, auth: auth(), time: RuleSources.time, document: document,
      changed: choices.chance(90) ? RuleMap(fields()) : nil, inTransaction: choices.chance(20))
  }

  package mutating func query() -> RuleQuery {
    RuleQuery(
      parent: RuleSources.root + (choices.chance(25) ? ["c", "x"] : []),
      collection: choices.element(RuleRequestNames.collections), hasAllDescendants: choices.chance(20),
      filter: choices.chance(85) ? filter(depth: 2) : nil,
      orders: choices.chance(30) ? [RuleQuery.Order(field: "a", isDescending: choices.chance(50))] : [],
      limit: choices.chance(50) ? choices.element([1, 10, 100]) : nil,
      offset: choices.chance(90) ? 0 : choices.element([1, 10]))
  }

  private mutating func filter(depth: Int) -> RuleFilter {
    if depth > 0, choices.chance(40) {
      let filters = (0...choices.below(3)).map { _ in filter(depth: depth - 1) }
      return choices.chance(60) ? .and(filters) : .or(filters)
    }
    let relation = choices.element(RuleFilter.Relation.allCases)
    let takesList = [.in, .notIn, .arrayContainsAny].contains(relation)
    return .field(
      fieldPath(), relation, takesList ? .list((0...choices.below(3)).map { _ in value(depth: 1) }) : value(depth: 1))
  }

  private mutating func fieldPath() -> [String] {
    choices.element(RuleRequestNames.fields.map { [$0] } + [["m", "k"], ["m", "a"], ["__name__"]])
  }

  // MARK: - Documents

  /// A query by equality, and the fields of a document that it returns.
  package mutating func queryWithDocument() -> (query: RuleQuery, document: RuleMap) {
    var document = fields()
    var filters: [RuleFilter] = []
    for name in RuleRequestNames.fields where choices.chance(35) {
      guard let value = document[name] else { continue }
      if case .list(let list) = value, let member = list.items.first, choices.chance(60) {
        filters.append(.field([name], .arrayContains, member))
      } else if choices.chance(20) {
        filters.append(.field([name], .in, .list([value])))
      } else {
        filters.append(.field([name], .equal, value))
      }
    }
    if choices.chance(30) { document["z"] = value() }
    let query = RuleQuery(
      parent: RuleSources.root, collection: choices.element(RuleRequestNames.collections),
      filter: filters.isEmpty ? nil : .and(filters))
    return (query, RuleMap(document))
  }

  /// Answers look-ups of documents, always in the same way for one document.
  package mutating func documents() -> GeneratedDocuments {
    GeneratedDocuments(kinds: (0..<5).map { _ in choices.below(4) }, fields: RuleMap(fields()))
  }
}

/// The documents that rules may look up.
package struct GeneratedDocuments {
  fileprivate let kinds: [Int]
  fileprivate let fields: RuleMap

  /// - Parameter isComplete: True to have nothing that was not read.
  package func lookUp(_ document: LookedUpDocument, isComplete: Bool = false) -> DocumentLookup {
    let sum = document.path.joined().utf8.reduce(document.isAfterwards ? 1 : 0) { $0 &+ Int($1) }
    switch kinds[sum % kinds.count] {
    case 0: return .missing
    case 1: return isComplete ? .missing : .notRead
    case 2: return isComplete ? .found(fields) : .notRead
    default: return .found(fields)
    }
  }
}
