import TestSupport
import Testing

@testable import HearthRE2

private func text(of letter: String, count: Int) -> [UInt8] { Array(String(repeating: letter, count: count).utf8) }

/// Steps are counted, not seconds, so that these tests say the same on every machine.
@Suite("Linear time")
struct LinearTimeTests {
  /// Patterns for which trying one way after the other takes exponential or quadratic time.
  static let patterns = [
    "(a*)*b", "(a|a)*b", "(x+x+)+y", "(a+)+$", "(?:a|aa)+b", "(.*)(.*)(.*)(.*)(.*)b", "(a?){50}a{50}b", "a{0,1000}b",
    "(?:a{0,30}){0,30}b", "(.*a){20}b", "\\b(a|\\ba)*\\Bb", "(?i)(k|\u{212A})*b", "[^b]*[^c]*b", "(?:.a|a.)*b$",
    "(|a)*b",
    "(?:(?:(?:a*)*)*)*b", "(a.{30})*b", "(?s).*a.{12}b",
  ]

  @Test("steps are at most three for each byte and each instruction, and grow with the text", arguments: patterns)
  func stepsAreBounded(pattern: String) async throws {
    let expression = try RegularExpression(pattern)
    let (short, long) = try await HeavyWork.run {
      Result {
        try (expression.allSteps(text(of: "a", count: 10_000)), expression.allSteps(text(of: "a", count: 100_000)))
      }
    }.get()
    for (question, steps) in long {
      #expect(steps <= 3 * 100_001 * expression.programSize, "\(question)")
      // States are made once, and a first scalar may have fewer threads than others.
      #expect(steps <= 11 * (short[question] ?? 0) + 1000 * expression.programSize, "\(question)")
    }
    for letter in ["x", "k", "b", "\u{212A}"] {
      let text = text(of: letter, count: 2000)
      for (question, steps) in try expression.allSteps(text) {
        #expect(steps <= 3 * (text.count + 1) * expression.programSize, "\(question), \(letter)")
      }
    }
  }

  @Test("the counted steps are those of each scalar")
  func stepsAreCounted() throws {
    let steps = try RegularExpression("(a*)*b").allSteps(text(of: "a", count: 5000))
    for (question, steps) in steps { #expect(steps >= 5000, "\(question)") }
  }

  @Test("texts for which automata need new states at every scalar are left to threads, with the same answers")
  func automataGiveUp() throws {
    // 2 to the 40th states would tell apart what the last 41 scalars were.
    let expression = try RegularExpression("(?:a|b)*a(?:a|b){40}c")
    var bits: UInt64 = 0x9E37_79B9_7F4A_7C15
    var text: [UInt8] = (0..<100_000).map { _ in
      bits ^= bits << 13
      bits ^= bits >> 7
      bits ^= bits << 17
      return bits & 1 == 0 ? 0x61 : 0x62
    }
    for (question, steps) in try expression.allSteps(text) {
      #expect(steps <= 3 * text.count * expression.programSize, "\(question)")
    }
    #expect(!expression.contains(text))
    #expect(!expression.matches(text))
    text[text.count - 41] = 0x61
    text.append(0x63)
    #expect(expression.contains(text))
    #expect(expression.matches(text))
    #expect(expression.firstMatch(in: text)?.range == 0..<text.count)
  }

  @Test("a call ends when it has taken the steps that its caller allows")
  func stepLimit() throws {
    let many = try RegularExpression("(?:a|b)*a(?:a|b){40}c")
    let text = String(repeating: "ab", count: 10_000)
    #expect(throws: RegularExpressionUseError.tooManySteps(limit: 15_000)) {
      try many.contains(text, stepLimit: 15_000)
    }
    #expect(throws: RegularExpressionUseError.tooManySteps(limit: 15_000)) { try many.matches(text, stepLimit: 15_000) }
    #expect(try !many.contains(text, stepLimit: 100_000_000))
    let threads = try RegularExpression("a{0,1000}b")
    // The automaton gives up long before, and threads take some twenty million.
    #expect(throws: RegularExpressionUseError.tooManySteps(limit: 10_000_000)) {
      try threads.contains(String(repeating: "a", count: 10_000), stepLimit: 10_000_000)
    }
    #expect(throws: RegularExpressionUseError.tooManySteps(limit: 1000)) { try many.split(text, stepLimit: 1000) }
    #expect(throws: RegularExpressionUseError.tooManySteps(limit: 1000)) {
      try many.replacingAll(in: text, with: "", stepLimit: 1000)
    }
    #expect(throws: RegularExpressionUseError.tooManySteps(limit: 15_000)) {
      try many.firstMatch(in: text, stepLimit: 15_000)
    }
    var steps = 0
    #expect(throws: RegularExpressionUseError.tooManySteps(limit: 15_000)) {
      try many.matches(text, stepLimit: 15_000, steps: &steps)
    }
    #expect(steps > 15_000 && steps < 100_000)
    #expect(try RegularExpression("a+").matches("aaa", stepLimit: 100))
    #expect(try RegularExpression("a+(b)").firstMatch(in: "xaab", stepLimit: 1000)?.ranges == [1..<4, 3..<4])
  }

  @Test("a text of 10 MB is matched without recursion")
  func longText() throws {
    let text = [UInt8](repeating: 0x61, count: 10_000_000)
    #expect(try RegularExpression("(?:a|b)*").matches(text))
    #expect(try !RegularExpression("(?:a|b)*c").contains(text))
    #expect(try RegularExpression("(a|b)*$").firstMatch(in: text)?.ranges == [0..<10_000_000, 9_999_999..<10_000_000])
  }

  @Test("an automaton keeps to its memory, and gives up where it needs a new state for nearly every scalar")
  func memoryIsBounded() throws {
    let tree = try Parser.parse("(?:a|b)*a(?:a|b){14}c", limit: 1000)
    let program = try #require(Compiler.compile(tree, .forwards, limit: 1000))
    let alphabet = try #require(Alphabet(program))
    var automaton = LazyAutomaton(program, alphabet, .contains)
    var number: UInt32 = 1
    let text: [UInt8] = (0..<200_000).map { _ in
      number = number &* 1_664_525 &+ 1_013_904_223
      return number >> 31 == 0 ? 0x61 : 0x62
    }
    let outcome = text.withUnsafeBufferPointer {
      automaton.run(UTF8Text($0), from: 0, to: text.count, stepLimit: .max)
    }
    #expect(outcome == .givenUp)
    #expect(automaton.memory <= LazyAutomaton.memoryLimit + 1024)
  }
}
