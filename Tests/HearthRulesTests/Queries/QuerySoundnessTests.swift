import RulesSupport
import TestSupport
import Testing

@testable import HearthRules

/// A query that rules allow must not return a document that they would not allow to get.
@Suite("Soundness of queries")
struct QuerySoundnessTests {
  private static let values: [RuleValue?] = [
    nil, .null, .bool(true), .bool(false), .int(0), .int(1), .int(2), .int(3), .int(5), .int(6), .int(9), .int(10),
    .int(100),
    .float(0.5), .float(1.5), .float(5.5), .string(""), .string("a"), .string("l"), .string("m"), .string("x"),
    .string("xy"), .string("z"), .string("one"), .list([]), .list([.int(1)]), .list([.int(1), .int(2)]),
    .list([.int(3)]),
    .map([:]), .map(["k": .int(1)]), .map(["k": .int(2), "z": .int(1)]), .map(["k": .int(7)]),
  ]

  @Test("a condition that a query decides has the same value for all documents that the query returns")
  func decidedConditions() throws {
    var decided = 0
    var documents = 0
    for example in RuleQueryCorpus.all where example.verdict.ours != "E" && !example.condition.contains("request.") {
      // The filter `a == 1` returns 1.0 as well, whose type a rule sees; production takes the type of the filter, and so do we.
      decided += 1
      let condition = example.condition
      let body = "function f(a) { return a == 1; } match /q/{id} { allow get: if \(condition); }"
      let rules = try RuleSet(RuleSources.file(body))
      for fields in Self.documents(for: condition) where example.filter.map({ Self.matches($0, fields) }) ?? true {
        documents += 1
        let request = RuleRequest(
          .get, path: RuleSources.root + ["q", "x"], auth: RuleSources.auth, time: RuleSources.time,
          document: RuleMap(fields))
        let isAllowed = rules.evaluate(request, lookUp: RuleSources.lookUp).isAllowed
        #expect(
          isAllowed == (example.verdict.ours == "T"),
          "\(condition) with \(String(describing: example.filter)) for \(fields)")
      }
    }
    #expect(decided > 200)
    #expect(documents > 1_000)
  }

  @Test("a query by floating-point numbers is allowed only if each number may be an integer, or a zero of either sign")
  func typesOfNumbers() throws {
    var choices = SeededGenerator(seed: 11)
    var (allowed, refused) = (0, 0)
    for _ in 0..<1200 {
      let shapes = (0..<(1 + choices.below(2))).map { _ in NumberShape(&choices) }
      let conditions = shapes.enumerated().map { index, shape in
        let literal = choices.element(shape.values).literal
        return choices.element([
          "data.f\(index) != \(literal)", "data.f\(index) == \(literal)", "data.f\(index) in [\(literal), 'a']",
          "!(data.f\(index) in [\(literal)])", "!(data.f\(index) is int)", "data.f\(index) is number",
          "![data.f\(index)].hasAny([\(literal)])",
        ])
      }
      let condition = "(" + conditions.joined(separator: choices.element([" && ", " || "])) + ")"
      let rule = (choices.chance(50) ? "!" : "") + condition
      let rules = try RuleSet(
        RuleSources.file("match /q/{id} { function data() { return resource.data; } allow read: if \(rule); }")
          .replacing("data.f", with: "data().f"))
      let filters = shapes.enumerated().map { RuleFilter.field(["f\($0)"], .equal, choices.element($1.floats)) }
      let query = RuleQuery(parent: RuleSources.root, collection: "q", filter: .and(filters))
      let isAllowed = rules.evaluate(
        query, auth: .null, time: RuleSources.time, lookUp: RuleSources.lookUp
      ).isAllowed
      if isAllowed { allowed += 1 } else { refused += 1 }
      guard isAllowed else { continue }
      for values in shapes.map(\.values).product {
        let fields = Dictionary(uniqueKeysWithValues: values.enumerated().map { ("f\($0)", $1) })
        let request = RuleRequest(
          .get, path: RuleSources.root + ["q", "x"], auth: .null, time: RuleSources.time, document: RuleMap(fields))
        #expect(rules.evaluate(request, lookUp: RuleSources.lookUp).isAllowed, "\(rule), \(filters): \(fields)")
      }
    }
    #expect(allowed > 100 && refused > 100, "\(allowed) allowed, \(refused) refused")
  }

  /// Documents with all values for the field that a condition is about.
  private static func documents(for condition: String) -> [[String: RuleValue]] {
    let field = ["l", "m", "a"].first { condition.contains("data.\($0)") } ?? "a"
    return values.flatMap { value -> [[String: RuleValue]] in
      let fields = value.map { [field: $0] } ?? [:]
      return [fields, fields.merging(["b": .int(2)]) { $1 }]
    }
  }

  // MARK: - Filters

  private static func matches(_ filter: RuleFilter, _ fields: [String: RuleValue]) -> Bool {
    switch filter {
    case .and(let filters): return filters.allSatisfy { matches($0, fields) }
    case .or(let filters): return filters.contains { matches($0, fields) }
    case .field(let path, let relation, let value):
      guard let field = fieldValue(at: path, in: fields) else { return false }
      return matches(field, relation, value)
    }
  }

  private static func fieldValue(at path: [String], in fields: [String: RuleValue]) -> RuleValue? {
    guard let first = path.first, let value = fields[first] else { return nil }
    guard path.count > 1 else { return value }
    guard case .map(let map) = value else { return nil }
    let fields = Dictionary(uniqueKeysWithValues: map.sortedKeys.compactMap { name in map[name].map { (name, $0) } })
    return fieldValue(at: Array(path.dropFirst()), in: fields)
  }

  private static func matches(_ field: RuleValue, _ relation: RuleFilter.Relation, _ value: RuleValue) -> Bool {
    func isIn(_ list: RuleValue) -> Bool {
      guard case .list(let list) = list else { return false }
      return list.items.contains { holds("l == r", field, $0) }
    }
    func contains(_ value: RuleValue) -> Bool {
      guard case .list(let list) = field else { return false }
      return list.items.contains { holds("l == r", $0, value) }
    }
    let isNull = if case .null = field { true } else { false }
    switch relation {
    case .equal: return holds("l == r", field, value)
    case .notEqual: return !isNull && !holds("l == r", field, value)
    case .less: return holds("l < r", field, value)
    case .lessOrEqual: return holds("l <= r", field, value)
    case .greater: return holds("l > r", field, value)
    case .greaterOrEqual: return holds("l >= r", field, value)
    case .in: return isIn(value)
    case .notIn: return !isNull && !isIn(value)
    case .arrayContains: return contains(value)
    case .arrayContainsAny:
      guard case .list(let list) = value else { return false }
      return list.items.contains(where: contains)
    }
  }

  private static let comparisons: [String: RuleSet] = {
    var sets: [String: RuleSet] = [:]
    for operation in ["==", "<", "<=", ">", ">="] {
      let condition = "resource.data.l \(operation) resource.data.r"
      sets["l \(operation) r"] = try? RuleSet(RuleSources.file(" match /q/{id} { allow get: if \(condition); }"))
    }
    return sets
  }()

  /// Compares as filters do, which is as rules compare the values here.
  private static func holds(_ operation: String, _ left: RuleValue, _ right: RuleValue) -> Bool {
    let request = RuleRequest(
      .get, path: RuleSources.root + ["q", "x"], auth: .null, time: RuleSources.time,
      document: RuleMap(["l": left, "r": right]))
    return comparisons[operation]?.evaluate(request, lookUp: RuleSources.lookUp).isAllowed ?? false
  }
}

/// One, two or three small numbers, alone or in a list or map, whose types are open.
private struct NumberShape {
  let values: [RuleValue]
  /// The values whose numbers all are floating-point ones.
  let floats: [RuleValue]

  init(_ choices: inout SeededGenerator) {
    let numbers = (0..<(1 + choices.below(2))).map { _ in choices.element([0, 3, 4] as [Int64]) }
    let kind = choices.below(3)
    func value(_ members: [RuleValue]) -> RuleValue {
      switch kind {
      case 0: members[0]
      case 1: .list(RuleList(members))
      default: .map(RuleMap(Dictionary(uniqueKeysWithValues: members.enumerated().map { ("k\($0)", $1) })))
      }
    }
    let floats = numbers.map { number -> [RuleValue] in
      number == 0 ? [.float(0), .float(-0.0)] : [.float(Double(number))]
    }
    self.floats = floats.product.map(value)
    values = zip(numbers, floats).map { [.int($0)] + $1 }.product.map(value)
  }
}

extension [[RuleValue]] {
  fileprivate var product: [[RuleValue]] {
    reduce([[]]) { chosen, values in chosen.flatMap { choice in values.map { choice + [$0] } } }
  }
}

extension RuleValue {
  fileprivate var literal: String {
    switch self {
    case .int(let number): "\(number)"
    case .float(let number): number.sign == .minus && number == 0 ? "(-0.0)" : "\(number)"
    case .list(let list): "[" + list.items.map(\.literal).joined(separator: ", ") + "]"
    case .map(let map):
      "{" + map.sortedKeys.map { "'\($0)': \(map[$0]?.literal ?? "null")" }.joined(separator: ", ") + "}"
    default: "null"
    }
  }
}
