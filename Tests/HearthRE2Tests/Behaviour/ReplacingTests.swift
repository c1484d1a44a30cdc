import HearthRE2
import Testing

@Suite("Replacing and splitting")
struct ReplacingTests {
  struct Replacement: Sendable, CustomTestStringConvertible {
    let pattern: String
    let rewrite: String
    let text: String
    let result: String

    init(_ pattern: String, _ rewrite: String, _ text: String, _ result: String) {
      (self.pattern, self.rewrite, self.text, self.result) = (pattern, rewrite, text, result)
    }

    var testDescription: String { "\(pattern) by \(rewrite) in \(text)" }
  }

  @Test(
    "all matches are replaced, and empty ones that do not touch another",
    arguments: [
      Replacement("a+", "b", "aacaa", "bcb"), Replacement("b*", "d", "aabb", "dadad"),
      Replacement("", "-", "aé日", "-a-é-日-"), Replacement("x", "y", "", ""), Replacement("^", "y", "", "y"),
      Replacement("(\\w+)@(\\w+)", "\\2 at \\1", "me@home, you@work", "home at me, work at you"),
      Replacement("a", "[\\0\\\\]", "bab", "b[a\\]b"), Replacement("(a)|(b)", "<\\1\\2>", "abc", "<a><b>c"),
      Replacement("(a)|b", "<\\1>", "b", "<>"), Replacement("^a", "b", "aaa", "baa"),
      Replacement("\\ba", "x", "aa a", "xa x"),
      Replacement("a$", "", "aa", "a"), Replacement("$1", "$1", "$1", "$1"),
      Replacement("(?m)^", "> ", "a\nb", "> a\n> b"),
      Replacement("é", "e", "éée", "eee"),
    ])
  func replacement(_ replacement: Replacement) throws {
    let expression = try RegularExpression(replacement.pattern)
    #expect(try expression.replacingAll(in: replacement.text, with: replacement.rewrite) == replacement.result)
  }

  @Test(
    "a rewrite that names no group or ends in a backslash is refused",
    arguments: [
      ("a\\2", RegularExpressionUseError.missingGroup(2, groupCount: 1, offset: 1)),
      ("a\\n", .badRewriteEscape(offset: 1)), ("é\\", .badRewriteEscape(offset: 2)),
    ])
  func badRewrite(rewrite: String, error: RegularExpressionUseError) throws {
    let expression = try RegularExpression("(a)")
    #expect(throws: error) { try expression.replacingAll(in: "none here", with: rewrite) }
  }

  @Test("a result that grows beyond its limit is an error")
  func resultLimit() throws {
    let expression = try RegularExpression("")
    let text = String(repeating: "a", count: 1000)
    #expect(try expression.replacingAll(in: text, with: "bb", resultLimit: 3002).utf8.count == 3002)
    #expect(throws: RegularExpressionUseError.resultTooLarge(limitBytes: 3001)) {
      try expression.replacingAll(in: text, with: "bb", resultLimit: 3001)
    }
    let rewrite = String(repeating: "\\0", count: 500_000)
    #expect(throws: RegularExpressionUseError.self) {
      try RegularExpression("a*").replacingAll(in: String(repeating: "a", count: 1_000_000), with: rewrite)
    }
  }

  @Test("matches that can be told only at the end of the text do not take quadratic time")
  func lookahead() throws {
    let expression = try RegularExpression("a.*b|a")
    #expect(
      try expression.replacingAll(in: String(repeating: "a", count: 1000), with: "c")
        == String(repeating: "c", count: 1000))
    let text = String(repeating: "a", count: 1_000_000)
    let limit = (1 << 20) + 64 * 1_000_000
    #expect(throws: RegularExpressionUseError.tooMuchLookahead(limitBytes: limit)) {
      try expression.replacingAll(in: text, with: "c")
    }
    #expect(throws: RegularExpressionUseError.tooMuchLookahead(limitBytes: limit)) { try expression.split(text) }
    #expect(try RegularExpression("a").replacingAll(in: text, with: "").isEmpty)
  }

  @Test(
    "a text is split between matches",
    arguments: [
      ("/", "a/b//c", ["a", "b", "", "c"]), ("/", "/a/", ["", "a", ""]), ("/", "", [""]), ("", "", []),
      ("", "aé", ["a", "é"]), ("a*", "baac", ["b", "c"]), ("\\s*,\\s*", "a , b,c", ["a", "b", "c"]),
      ("x", "abc", ["abc"]),
      ("a", "a", ["", ""]), ("(?i)AND", "a and b", ["a ", " b"]),
    ])
  func splitting(pattern: String, text: String, parts: [String]) throws {
    #expect(try RegularExpression(pattern).split(text) == parts)
  }
}
