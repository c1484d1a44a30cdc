import HearthRules
import RulesSupport
import TestSupport
import Testing

/// Two forms of one character: U+00E9, and `e` with U+0301.
@Suite("Names that look the same")
struct ExactNameTests {
  private static let composed = "\u{E9}"
  private static let decomposed = "e\u{301}"

  private static func decide(
    _ condition: String, before: [(String, RuleValue)], after: [(String, RuleValue)], id: String = "x"
  ) throws -> Bool {
    let rules = try RuleSet(RuleSources.file(" match /c/{id} { allow update: if \(condition); }"))
    let request = RuleRequest(
      .update, path: RuleSources.root + ["c", id], auth: RuleSources.auth, time: RuleSources.time,
      document: RuleMap(before.map { (key: $0.0, value: $0.1) }),
      changed: RuleMap(after.map { (key: $0.0, value: $0.1) }))
    return rules.evaluate(request) { _ in .missing }.isAllowed
  }

  @Test("a document keeps two fields whose names differ in the form of a character")
  func fields() throws {
    let one: [(String, RuleValue)] = [(Self.composed, .int(1))]
    let both = one + [(Self.decomposed, .int(2))]
    #expect(try Self.decide("request.resource.data.size() == 2", before: one, after: both))
    #expect(try Self.decide("request.resource.data['\(Self.decomposed)'] == 2", before: one, after: both))
    #expect(
      try !Self.decide("request.resource.data.diff(resource.data).affectedKeys().size() == 0", before: one, after: both)
    )
    #expect(try !Self.decide("request.resource.data.keys().hasOnly(['\(Self.composed)'])", before: one, after: both))
    #expect(try !Self.decide("'\(Self.decomposed)' in resource.data", before: one, after: both))
  }

  @Test("texts and paths are compared by their bytes")
  func texts() throws {
    #expect(try Self.decide("id == '\(Self.composed)'", before: [], after: [], id: Self.composed))
    #expect(try !Self.decide("id == '\(Self.composed)'", before: [], after: [], id: Self.decomposed))
    #expect(try !Self.decide("/a/$(id) == /a/$('\(Self.composed)')", before: [], after: [], id: Self.decomposed))
    #expect(try !Self.decide("id in ['\(Self.composed)'].toSet()", before: [], after: [], id: Self.decomposed))
  }

  @Test("regular expressions that look the same are different ones")
  func expressions() throws {
    for (first, second) in [(Self.composed, Self.decomposed), (Self.decomposed, Self.composed)] {
      let condition = "id.matches('\(first)') || !id.matches('\(second)')"
      #expect(try Self.decide(condition, before: [], after: [], id: first))
      #expect(try !Self.decide(condition, before: [], after: [], id: second))
    }
  }

  @Test("documents whose paths look the same are two documents")
  func documents() throws {
    let d = "/databases/$(database)/documents/d"
    let rules = try RuleSet(
      RuleSources.file(
        " match /c/{id} { allow get: if exists(\(d)/$('\(Self.composed)')) && exists(\(d)/$('\(Self.decomposed)')); }"))
    let request = RuleRequest(
      .get, path: RuleSources.root + ["c", "x"], auth: .null, time: RuleSources.time, document: nil)
    #expect(rules.evaluate(request) { _ in .found(RuleMap([:])) }.documents.count == 2)
  }

  @Test("the last one of several fields with one name counts, in small maps and in large ones", arguments: 0..<40)
  func repeatedNames(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let names = (0..<20).map { "n\($0)" } + ["caf\u{e9}", "cafe\u{301}", "", "a\u{0}"]
    let pairs = (0..<Int.random(in: 0...36, using: &random)).map { number in
      (key: names[Int.random(in: names.indices, using: &random)], value: RuleValue.int(Int64(number)))
    }
    let map = RuleMap(pairs: pairs)
    for name in names {
      let last = pairs.last { Array($0.key.utf8) == Array(name.utf8) }
      #expect(map[name]?.wholeNumber == last?.value.wholeNumber, "\(name)")
    }
    #expect(map.sortedKeys.count == Set(pairs.map { Array($0.key.utf8) }).count)
  }
}

extension ExactNameTests {
  @Test("the last one of three fields with one name counts, wherever they stand", arguments: [0, 1, 20])
  func namesThatStandThreeTimes(others: Int) {
    let between = (0..<others).map { (key: "n\($0)", value: RuleValue.null) }
    let map = RuleMap(
      pairs: [(key: "a", value: .int(1))] + between + [(key: "a", value: .int(2)), (key: "a", value: .int(3))])
    #expect(map["a"]?.wholeNumber == 3)
    #expect(map.sortedKeys.count == others + 1)
  }
}

extension RuleValue {
  fileprivate var wholeNumber: Int64? { if case .int(let number) = self { number } else { nil } }
}
