import Foundation
import HearthRules
import RulesSupport
import TestSupport
import Testing

/// Everything runs on a thread with a small stack, which an overflow would end the process on.
@Suite("Hostile rules", .serialized)
struct HostileInputTests {
  private static func onSmallStack<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      let thread = Thread { continuation.resume(returning: body()) }
      thread.stackSize = 512 << 10
      thread.start()
    }
  }

  private static func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

  private static let conditions: [String] = [
    "1" + repeated(" + 1", 60_000), "true" + repeated(" && true", 30_000), repeated("!", 250_000) + "true",
    repeated("(", 250_000), repeated("[", 250_000), repeated("{'a':", 50_000), repeated("f(", 100_000),
    repeated("/a/$(", 50_000), repeated("a?", 100_000), repeated("a?b:", 60_000), repeated("-(", 100_000),
    "a" + repeated(".a", 100_000), "a" + repeated("[0]", 80_000), "a" + repeated(".a()", 60_000),
    "a" + repeated("[0", 100_000), "[" + repeated("1,", 120_000) + "]", repeated("\n", 200_000),
    repeated("'a' + ", 40_000), "'" + repeated("\\x41", 60_000) + "' == ''", repeated("/*", 100_000),
    repeated("/a", 100_000),
    "1" + repeated(" is int", 30_000), "1" + repeated(" in 1", 40_000), repeated("{", 250_000),
    repeated("\u{0}", 100_000),
    "'a'.matches('" + repeated("(a*)*", 1_000) + "')", "'a'.matches('((((a{1,100}){1,100}){1,100}){1,100}){1,100}')",
  ]

  /// Values that are equal to nothing, not even to themselves, and values that have one hash where numbers count by their value.
  private static let unequal: [(what: String, values: [RuleValue], condition: String, isAllowed: Bool)] = [
    ("none", Array(repeating: .float(.nan), count: 130_000), "!(1 in l) && !(2 in l) && !(3 in l)", true),
    ("none", Array(repeating: .float(.nan), count: 130_000), "!l.hasAny([1]) && ![1].hasAny(l)", true),
    ("none", Array(repeating: .float(.nan), count: 130_000), "l.toSet().size() == 1", true),
    (
      "none in maps", Array(repeating: .map(["a": .float(.nan)]), count: 60_000),
      "!(1 in l) && !(2 in l) && l.toSet().size() > 0", true
    ),
    ("large", (0..<130_000).map { .int((1 << 62) + $0) }, "!(1 in l) && !(2 in l) && !l.hasAny([1])", true),
    // More work than an evaluation may take.
    ("large", (0..<130_000).map { .int((1 << 62) + $0) }, "l.toSet().size() > 0", false),
    ("some large", (0..<2_000).map { .int((1 << 62) + $0) }, "l.toSet().size() == 2000", true),
    // Two of them make a million neighbours.
    ("pairs of large", pairs(20_000), "l.toSet().size() == l.size()", false),
    ("some pairs of large", pairs(1_000), "l.toSet().size() == 1000 && l[7] in l.toSet()", true),
    // Making two sets is allowed, and to compare them again and again is not.
    ("two sets", pairs(1_000), "l.toSet() == l.toSet()", true),
    ("two sets", pairs(1_000), compared("s == t", 8), false),
    ("two sets", pairs(1_000), compared("[[s]] == [[t]]", 8), false),
    ("two sets", pairs(1_000), compared("s.union(t).size() == 1000", 8), false),
  ]

  private static func pairs(_ count: Int) -> [RuleValue] {
    (0..<count).map { .map(["x": .int((1 << 62) + Int64($0 / 1_000)), "y": .int((1 << 62) + Int64($0 % 1_000))]) }
  }

  /// Compares two sets so often.
  private static func compared(_ condition: String, _ count: Int) -> String {
    "g(l.toSet(), l.toSet()); } function g(s, t) { return "
      + Array(repeating: condition, count: count).joined(separator: " && ")
  }

  @Test(
    "long lists of values that sets cannot tell apart by their hash take no longer than others",
    arguments: unequal.indices)
  func unequalValues(_ index: Int) throws {
    let (what, values, condition, isAllowed) = Self.unequal[index]
    let rules = try RuleSet(
      RuleSources.file(" match /c/{id} { allow get: if f(resource.data.l); } function f(l) { return \(condition); }"))
    let request = RuleRequest(
      .get, path: RuleSources.root + ["c", "x"], auth: .null, time: RuleSources.time,
      document: RuleMap(["l": .list(values)]))
    let duration = ContinuousClock().measure {
      #expect(rules.evaluate(request) { _ in .missing }.isAllowed == isAllowed, "\(what): \(condition)")
    }
    #expect(duration < .seconds(20))
  }

  @Test("patterns of documents have the work of their classes counted")
  func patterns() throws {
    let rules = try RuleSet(RuleSources.file(" match /c/{id} { allow get: if !'-'.matches(resource.data.p); }"))
    func decide(_ pattern: String) -> Bool {
      let request = RuleRequest(
        .get, path: RuleSources.root + ["c", "x"], auth: .null, time: RuleSources.time,
        document: RuleMap(["p": .string(pattern)]))
      return rules.evaluate(request) { _ in .missing }.isAllowed
    }
    #expect(decide(Self.repeated("[\\pL\\d]", 100)))
    #expect(decide(Self.repeated("a", 3_000)))
    let duration = ContinuousClock().measure {
      for text in ["(?i)" + Self.repeated("[\\pL\\pN]", 4_000), Self.repeated("\\p{Common}", 4_000)] {
        #expect(!decide(text))
      }
    }
    #expect(duration < .seconds(20))
  }

  @Test("long and deep conditions are read or refused in a short time and a small stack", arguments: 0..<27)
  func condition(_ index: Int) async {
    let source = RuleSources.file(" match /c/{id} { allow get: if \(Self.conditions[index]); }")
    let clock = ContinuousClock()
    let (verdict, duration) = await Self.onSmallStack {
      var verdict = ""
      let duration = clock.measure {
        do throws(RuleCompilationError) {
          verdict = RuleSources.decide(try RuleSet(source), get: "c/x").isAllowed ? "T" : "F"
        } catch {
          verdict = "C"
        }
      }
      return (verdict, duration)
    }
    // Two are rules; all others nest too deeply, or are none.
    #expect(verdict == ([18, 20].contains(index) ? "F" : "C"))
    #expect(duration < .seconds(20))
  }

  @Test("many declarations are read or refused within a small stack")
  func declarations() async {
    let sources = [
      (0..<5_000).map { "function f\($0)() { return f\($0 + 1)(); }" }.joined(separator: "\n"),
      Self.repeated("match /a { ", 20_000), Self.repeated("allow get; ", 20_000), Self.repeated("function ", 20_000),
      (0..<10_000).map { "match /c\($0)/{x} { allow get; }" }.joined(separator: "\n"),
      "match " + Self.repeated("/{a}", 50_000) + " { allow get; }",
    ]
    for source in sources {
      await Self.onSmallStack {
        if let rules = try? RuleSet(RuleSources.file(source)) { _ = RuleSources.decide(rules, get: "c/x") }
      }
    }
  }

  /// Doubles a value 40 times through the bindings and calls of functions.
  private static func doubling(_ start: String, _ step: String, _ end: String) -> String {
    let bindings = (1..<10).map { index in "let v\(index) = \(step.replacing("V", with: "v\(index - 1)"));" }
    let function = { (name: String, result: String) in
      "function \(name)(a) { let v0 = a; \(bindings.joined(separator: " ")) return \(result); }"
    }
    return function("f", "v9") + " match /c/{id} { allow get: if \(end.replacing("V", with: "f(f(f(f(\(start)))))")); }"
  }

  @Test(
    "values that double with each step end with a limit",
    arguments: [
      ("'ab'", "V + V", "V.size() > 0"), ("[1]", "V.concat(V)", "V.size() > 0"), ("[1]", "[V, V]", "V == 1"),
      ("{'a':1}", "{'a':V,'b':V}", "V == 1"), ("'ab'", "V.replace('a', 'aa$0').replace('b', 'bb')", "V == 'a'"),
      ("['a']", "[V.join('aaaaaaaa'), V.join('b')]", "V == 1"), ("'a'", "string(/a/$(V)/$(V))", "V == 'a'"),
    ])
  func growth(_ start: String, _ step: String, _ end: String) async throws {
    let rules = try RuleSet(RuleSources.file(Self.doubling(start, step, end)))
    let clock = ContinuousClock()
    let decision = await Self.onSmallStack { () -> (RuleDecision, Duration) in
      let begin = clock.now
      return (RuleSources.decide(rules, get: "c/x"), clock.now - begin)
    }
    #expect(decision.0.answer == .denied)
    #expect(decision.0.refusals.first?.failure?.isFinal == true, "\(decision.0.refusals)")
    #expect(decision.1 < .seconds(30))
  }

  @Test("deeply nested values are compared and released within a small stack")
  func nestedValues() async throws {
    let rules = try RuleSet(
      RuleSources.file(Self.doubling("1", "[[[[[[[[[[V]]]]]]]]]]", "V == V || [V].toSet().size() == 1")))
    let decision = await Self.onSmallStack { RuleSources.decide(rules, get: "c/x") }
    #expect(decision.answer == .denied)
    #expect(decision.refusals.first?.failure?.isFinal == true, "\(decision.refusals)")
  }

  @Test("a token that nests deeply is denied, and no condition looks into it")
  func deepToken() async throws {
    let rules = try RuleSet(RuleSources.file(" match /c/{id} { allow get: if request.auth == request.auth || true; }"))
    for (depth, isAllowed) in [(90, true), (200, false)] {
      let token = (0..<depth).reduce(RuleValue.map(["uid": .string("alice")])) { value, _ in .map(["a": value]) }
      let decision = await Self.onSmallStack {
        let request = RuleRequest(
          .get, path: RuleSources.root + ["c", "x"], auth: token, time: RuleSources.time, document: nil)
        return rules.evaluate(request, lookUp: RuleSources.lookUp)
      }
      #expect(decision.isAllowed == isAllowed)
    }
  }

  @Test(
    "a regular expression of a request has a value in linear time, or fails, the longest ones with a limit",
    arguments: [
      ("'(' + request.auth.uid + '+)+(.*)*$'", "F"), ("'(a*)*(a*)*(a|aa)+b'", "F"), ("'[' + id", "E"),
      ("id + '{1000}{1000}'", "E"), ("'((a?){30}){30}b'", "limit"), ("'(' + id + '|a){50}'", "E"),
    ])
  func dynamicPattern(_ pattern: String, _ verdict: String) async throws {
    let rules = try RuleSet(RuleSources.file(" match /c/{id} { allow get: if id.matches(\(pattern)); }"))
    let request = RuleRequest(
      .get, path: RuleSources.root + ["c", Self.repeated("a", 100_000)], auth: RuleSources.auth, time: RuleSources.time,
      document: nil)
    let clock = ContinuousClock()
    let begin = clock.now
    let decision = rules.evaluate(request, lookUp: RuleSources.lookUp)
    #expect(clock.now - begin < .seconds(20))
    let failure = decision.refusals.first?.failure
    #expect(decision.answer == .denied)
    #expect(
      failure.map { $0.isFinal ? "limit" : "E" } ?? "F" == verdict, "\("\(failure, default: "none")".prefix(200))")
  }

  @Test("generated files, most of them broken, never end the process", arguments: SeededGenerator.seeds(4))
  func brokenFiles(_ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var generator = RuleExpressionGenerator(seed: seed)
    let signs = [
      "(", ")", "[", "]", "{", "}", "'", "\"", "/", "$", "$(", ".", ",", ";", ":", "?", "\\", "=", "&&", "in", "is",
      "let", "\u{0}", "é", "*", "//", "/*",
    ]
    for _ in 0..<500 {
      var scalars = Array(RuleSources.file(" match /c/{id} { allow get: if \(generator.condition()); }").unicodeScalars)
      for _ in 0...random.below(3) {
        let place = random.below(scalars.count)
        if random.chance(50) {
          scalars.insert(contentsOf: random.element(signs).unicodeScalars, at: place)
        } else {
          scalars.removeSubrange(place..<min(scalars.count, place + 1 + random.below(3)))
        }
      }
      let source = String(String.UnicodeScalarView(scalars))
      if let rules = try? RuleSet(source) { _ = RuleSources.decide(rules, get: "c/x") }
    }
  }
}
