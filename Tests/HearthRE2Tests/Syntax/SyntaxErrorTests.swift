import HearthRE2
import Testing

@Suite("Patterns that are refused")
struct SyntaxErrorTests {
  struct Refusal: Sendable, CustomTestStringConvertible {
    let pattern: String
    let kind: RegularExpressionError.Kind
    let offset: Int
    let fragment: String

    init(_ pattern: String, _ kind: RegularExpressionError.Kind, _ offset: Int, _ fragment: String) {
      (self.pattern, self.kind, self.offset, self.fragment) = (pattern, kind, offset, fragment)
    }

    var testDescription: String { pattern }
  }

  static let refusals = [
    Refusal("a(b", .missingParenthesis, 1, "("),
    Refusal("(?i:a", .missingParenthesis, 0, "(?i:"),
    Refusal("(a)(?i", .missingParenthesis, 3, "(?i"),
    Refusal("a)", .unexpectedParenthesis, 1, ")"),
    Refusal("é[a", .missingBracket, 2, "[a"),
    Refusal("[]", .missingBracket, 0, "[]"),
    Refusal("[^]", .missingBracket, 0, "[^]"),
    Refusal("[a-", .missingBracket, 0, "[a-"),
    Refusal("[b-a]", .badCharacterRange, 1, "b-a"),
    Refusal("[[:foo:]]", .badCharacterRange, 1, "[:foo:]"),
    Refusal("a\\p{Foo}", .badCharacterRange, 1, "\\p{Foo}"),
    Refusal("\\p", .badCharacterRange, 0, "\\p"),
    Refusal("\\p{Greek", .badCharacterRange, 0, "\\p{Greek"),
    Refusal("\\p{greek}", .badCharacterRange, 0, "\\p{greek}"),
    Refusal("a\\", .trailingBackslash, 1, "\\"),
    Refusal("[\\", .trailingBackslash, 1, "\\"),
    Refusal("\\8", .badEscape, 0, "\\8"),
    Refusal("(a)\\1", .badEscape, 3, "\\1"),
    Refusal("\\q", .badEscape, 0, "\\q"),
    Refusal("\\é", .badEscape, 0, "\\é"),
    Refusal("\\C", .badEscape, 0, "\\C"),
    Refusal("\\Z", .badEscape, 0, "\\Z"),
    Refusal("\\x{110000}", .badEscape, 0, "\\x{110000"),
    Refusal("\\x{}", .badEscape, 0, "\\x{}"),
    Refusal("\\x6g", .badEscape, 0, "\\x"),
    Refusal("[a-\\d]", .badEscape, 3, "\\d"),
    Refusal("[\\b]", .badEscape, 1, "\\b"),
    Refusal("*a", .missingRepetitionArgument, 0, "*"),
    Refusal("a|+", .missingRepetitionArgument, 2, "+"),
    Refusal("({2,3})", .missingRepetitionArgument, 1, "{2,3}"),
    Refusal("(?i)*", .missingRepetitionArgument, 4, "*"),
    Refusal("a**", .badRepetitionOperator, 1, "**"),
    Refusal("a+??", .badRepetitionOperator, 1, "+??"),
    Refusal("a{2}{3}", .badRepetitionOperator, 1, "{2}{3}"),
    Refusal("a{1001}", .badRepetitionSize, 1, "{1001}"),
    Refusal("a{3,2}", .badRepetitionSize, 1, "{3,2}"),
    Refusal("((a{100}){10}){2}", .badRepetitionSize, 14, "{2}"),
    Refusal("(?=a)", .badPerlOperator, 0, "(?="),
    Refusal("(?!a)", .badPerlOperator, 0, "(?!"),
    Refusal("(?<=a)", .badPerlOperator, 0, "(?<"),
    Refusal("(?<!a)", .badPerlOperator, 0, "(?<"),
    Refusal("(?>a)", .badPerlOperator, 0, "(?>"),
    Refusal("(?P=n)", .badPerlOperator, 0, "(?P"),
    Refusal("(?i-)", .badPerlOperator, 0, "(?i-)"),
    Refusal("(?é)", .badPerlOperator, 0, "(?é"),
    Refusal("(?P<n", .badGroupName, 0, "(?P<n"),
    Refusal("(?<a b>c)", .badGroupName, 0, "(?<a"),
    Refusal("(?P<>c)", .badGroupName, 0, "(?P<>"),
    Refusal("(?P<n>a)(?P<m>b)(?P<n>c)", .badGroupName, 16, "(?P<n>"),
    Refusal("(?P<n>a(?<n>b))", .badGroupName, 7, "(?<n>"),
  ]

  @Test("each error names its kind, the place and the fragment", arguments: refusals)
  func refusal(_ refusal: Refusal) throws {
    let error = try #require(throws: RegularExpressionError.self) { try RegularExpression(refusal.pattern) }
    #expect(error.kind == refusal.kind)
    #expect(error.offset == refusal.offset)
    #expect(error.fragment == refusal.fragment)
    #expect(error.description.contains(refusal.kind.rawValue))
  }

  @Test("a long fragment is shortened between scalars")
  func longFragment() throws {
    let error = try #require(throws: RegularExpressionError.self) {
      try RegularExpression("[" + String(repeating: "é", count: 1000))
    }
    #expect(error.fragment == "[" + String(repeating: "é", count: 31))
  }

  @Test("groups may nest 1,000 deep; a hundred thousand parentheses are an error and no deep recursion")
  func nesting() throws {
    func nested(_ opening: String, _ depth: Int) -> String {
      (0..<depth).map { opening.replacing("NAME", with: "n\(100_000 + $0)") }.joined() + "a"
        + String(repeating: ")", count: depth)
    }
    #expect(try RegularExpression(nested("(?:", 1000)).contains("a"))
    #expect(try RegularExpression(nested("(", 300)).firstMatch(in: "ba")?.ranges == Array(repeating: 1..<2, count: 301))
    for opening in ["(", "(?:", "(?P<NAME>", "(?i:", "(|"] {
      let error = try #require(throws: RegularExpressionError.self) { try RegularExpression(nested(opening, 100_000)) }
      #expect(error.kind == .nestingTooDeep)
      #expect(error.offset == 1000 * nested(opening, 1).prefix { $0 != "a" }.utf8.count || opening == "(|")
    }
    #expect(throws: RegularExpressionError.self) { try RegularExpression(String(repeating: "(", count: 100_000)) }
  }

  @Test("repetitions of repetitions nest without recursion, too")
  func repeatedRepetitions() throws {
    // A group of flags between two operators makes the second one valid, as in RE2.
    let expression = try RegularExpression("a" + String(repeating: "*(?i)", count: 10_000))
    #expect(expression.matches("aaaa"))
    #expect(!expression.matches("aab"))
  }
}
