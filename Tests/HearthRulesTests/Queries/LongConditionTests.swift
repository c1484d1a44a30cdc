import HearthRules
import RulesSupport
import Testing

/// Work that grows with the square of a list, or with the list in each disjunct, takes hours here.
@Suite("Queries with long lists in their conditions", .timeLimit(.minutes(1)))
struct LongConditionTests {
  private static let rules = "match /q/{id} { allow list: if resource.data.z == 1 || resource.data.z == 2; }"

  /// A list in every one of many conditions, behind as many disjuncts as there may be.
  private func decision(_ element: RuleValue, count: Int, conditions: Int) throws -> RuleDecision {
    let list = RuleValue.list(RuleList(Array(repeating: element, count: count)))
    let long = (0..<conditions).map { RuleFilter.field(["f\($0)"], .equal, list) }
    let disjuncts = RuleFilter.field(["z"], .in, .list(RuleList((1...30).map { .int($0) })))
    let query = RuleQuery(parent: RuleSources.root, collection: "q", filter: .and([disjuncts] + long))
    return try RuleSet(RuleSources.file(Self.rules)).evaluate(
      query, auth: .null, time: RuleSources.time, isTraced: false, lookUp: RuleSources.lookUp)
  }

  @Test("are decided in time, whether their elements stand for one value or for several")
  func decisions() throws {
    #expect(try !decision(.bool(true), count: 50_000, conditions: 50).isAllowed)
    #expect(try !decision(.float(1.5), count: 50_000, conditions: 50).isAllowed)
    // Each finds two values: they are too many together.
    #expect(try !decision(.float(3), count: 50_000, conditions: 50).isAllowed)
  }

  @Test("one element with two values makes two lists")
  func combinations() throws {
    var items = Array(repeating: RuleValue.float(1.5), count: 200_000)
    items[100_000] = .float(3)
    let query = RuleQuery(
      parent: RuleSources.root, collection: "q", filter: .field(["l"], .equal, .list(RuleList(items))))
    let rules = try RuleSet(RuleSources.file("match /q/{id} { allow list: if resource.data.l[100000] == 3; }"))
    let decision = rules.evaluate(
      query, auth: .null, time: RuleSources.time, isTraced: false, lookUp: RuleSources.lookUp)
    #expect(decision.isAllowed)
  }
}
