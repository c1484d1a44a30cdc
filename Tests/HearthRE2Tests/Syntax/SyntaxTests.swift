import HearthRE2
import Testing

@Suite("The syntax of patterns")
struct SyntaxTests {
  /// A pattern, and texts with the bytes of the first match; nil for none.
  struct Sample: Sendable, CustomTestStringConvertible {
    let pattern: String
    let text: String
    let range: Range<Int>?

    init(_ pattern: String, _ text: String, _ range: Range<Int>?) {
      (self.pattern, self.text, self.range) = (pattern, text, range)
    }

    var testDescription: String { "\(pattern) in \(text.debugDescription)" }
  }

  static let literals = [
    Sample("", "abc", 0..<0), Sample("b", "abc", 1..<2), Sample("é日", "aé日", 1..<6), Sample("a|b", "cb", 1..<2),
    Sample("{", "a{", 1..<2), Sample("a{,2}", "a{,2}", 0..<5), Sample("a{01}", "a{01}", 0..<5),
    Sample("]}", "]}", 0..<2),
    Sample("\\a\\f\\t\\n\\r\\v", "\u{7}\u{C}\t\n\r\u{B}", 0..<6), Sample("\\123", "S", 0..<1),
    Sample("\\07", "\u{7}", 0..<1),
    Sample("\\x7A", "z", 0..<1), Sample("\\x{1F600}", "😀", 0..<4), Sample("\\x{10FFFF}", "\u{10FFFF}", 0..<4),
    Sample("\\.\\*\\_\\ ", ".*_ ", 0..<4), Sample("\\Qa.b*\\E+", "a.b***", 0..<6), Sample("\\Q[", "a[", 1..<2),
    Sample("\\Qa\\", "a\\", 0..<2), Sample("\u{0}", "a\u{0}", 1..<2),
  ]

  static let classes = [
    Sample(".", "\né", 1..<3), Sample("(?s).", "\né", 0..<1), Sample("[abc]", "xc", 1..<2),
    Sample("[^abc]", "a\n", 1..<2),
    Sample("[a-cx-z]+", "AbyZ", 1..<3), Sample("[]a]+", "b]a", 1..<3), Sample("[^]a]", "]ab", 2..<3),
    Sample("[a-]+", "b-a", 1..<3), Sample("[a-c-e]+", "d-e", 1..<3), Sample("[\\]\\-]+", "a]-", 1..<3),
    Sample("[\\x00-\\x{10FFFF}]", "é", 0..<2), Sample("[^\\x00-\\x{10FFFF}]", "é", nil),
    Sample("\\d+", "a12", 1..<3), Sample("\\D", "1é", 1..<3), Sample("\\s+", "a \t\n\u{C}\r\u{B}", 1..<6),
    Sample("\\S", " \u{A0}", 1..<3), Sample("\\w+", "-aZ_0é", 1..<5), Sample("\\W", "aé", 1..<3),
    Sample("[\\d\\s]+", "a1 2", 1..<4), Sample("[^\\D]", "a1", 1..<2), Sample("[\\W\\d]+", "a-1é", 1..<5),
    Sample("[[:alpha:]]+", "1ab", 1..<3), Sample("[[:^alpha:]]+", "a1é", 1..<4),
    Sample("[[:space:]]+", "a\u{B} ", 1..<3),
    Sample("[[:punct:]]+", "a!~a", 1..<3), Sample("[[:word:]-]+", "+a-_", 1..<4),
    Sample("[[:xdigit:]]+", "gfF0", 1..<4),
    Sample("[[:digit:][:upper:]]+", "a1A", 1..<3), Sample("[[:alpha]+", "1[:alph", 1..<7),
    Sample("[:alpha:]", ":", 0..<1),
    Sample("[[:blank:]]", "\n\t", 1..<2), Sample("[[:cntrl:]]", "a\u{7F}", 1..<2), Sample("[[:graph:]]", " !", 1..<2),
    Sample("[[:print:]]", "\n ", 1..<2), Sample("[[:ascii:]]", "é\u{7F}", 2..<3), Sample("[[:lower:]]", "Aa", 1..<2),
    Sample("[[:alnum:]]+", "_a0", 1..<3),
  ]

  static let unicode = [
    Sample("\\pN+", "a1५Ⅷ", 1..<8), Sample("\\p{Lu}", "aÉ", 1..<3), Sample("\\P{Lu}", "Éa", 2..<3),
    Sample("\\p{^Lu}", "Éa", 2..<3), Sample("\\P{^Lu}", "aÉ", 1..<3), Sample("\\p{Greek}+", "aαΩ", 1..<5),
    Sample("[\\p{Greek}a]+", "bαa", 1..<4), Sample("[^\\p{Greek}]", "αb", 2..<3), Sample("\\p{Han}", "a日", 1..<4),
    Sample("\\p{Any}", "\n", 0..<1), Sample("\\pC", "a\u{AD}", 1..<3), Sample("\\p{Sc}", "a€", 1..<4),
    Sample("\\p{Zs}", "a\u{3000}", 1..<4), Sample("\\p{Old_Italic}", "a\u{10300}", 1..<5),
  ]

  static let repetitions = [
    Sample("a*", "aab", 0..<2), Sample("a*?", "aab", 0..<0), Sample("a+", "baab", 1..<3), Sample("a+?", "baab", 1..<2),
    Sample("a?", "aa", 0..<1), Sample("a??", "aa", 0..<0), Sample("a{2}", "aaa", 0..<2), Sample("a{2,}", "baaa", 1..<4),
    Sample("a{2,3}", "aaaa", 0..<3), Sample("a{2,3}?", "aaaa", 0..<2), Sample("a{0}b", "ab", 1..<2),
    Sample("(?:ab){2}", "aababab", 1..<5), Sample("(?U)a+", "aa", 0..<1), Sample("(?U)a+?", "aa", 0..<2),
    Sample("x{1000}", String(repeating: "x", count: 1001), 0..<1000), Sample("(?:(?:a{10}){10}){10}", "a", nil),
    Sample("^*a", "ba", 1..<2), Sample("(?:)+a", "ba", 1..<2), Sample("(?:a*)*b", "aab", 0..<3),
    Sample("é+", "éé", 0..<4),
  ]

  static let flags = [
    Sample("(?i)aB", "Ab", 0..<2), Sample("(?i:a)b", "Ab", 0..<2), Sample("(?i:a)b", "AB", nil),
    Sample("(?i)a(?-i)b", "AB", nil), Sample("(?i)[a-c]+", "xABC", 1..<4), Sample("(?i)[^a]", "Ab", 1..<2),
    Sample("(?i)straße", "STRAẞE", 0..<8), Sample("(?i)k", "\u{212A}", 0..<3), Sample("(?i)[k]", "\u{212A}", 0..<3),
    Sample("(?i)ς", "Σ", 0..<2), Sample("(?i)\\W", "\u{17F}", nil), Sample("(?i)\\p{Lu}", "a", 0..<1),
    Sample("(?i)[[:^upper:]]", "a1", 1..<2), Sample("(?i)İ", "i", nil),
    Sample("((?i)a|b)b", "Bb", 0..<2), Sample("((?i)a)b", "aB", nil), Sample("(?s)a.b", "a\nb", 0..<3),
    Sample("(?s-s)a.b", "a\nb", nil), Sample("(?m)^b$", "a\nb\nc", 2..<3), Sample("^b", "a\nb", nil),
    Sample("a$", "a\n", nil), Sample("(?m)a$", "a\n", 0..<1), Sample("(?im)^B", "a\nb", 2..<3),
    Sample("(?)a", "a", 0..<1),
  ]

  static let assertions = [
    Sample("^", "a", 0..<0), Sample("$", "a", 1..<1), Sample("\\Aa", "ba", nil), Sample("a\\z", "ab", nil),
    Sample("(?m)\\Ab", "a\nb", nil), Sample("(?m)a\\z", "a\nb", nil), Sample("\\bb", "ab b", 3..<4),
    Sample("\\Bb", "b ab", 3..<4), Sample("\\bé", "éé", nil), Sample("a\\b", "aé", 0..<1), Sample("\\b", "", nil),
    Sample("\\B", "", 0..<0), Sample("^$", "", 0..<0), Sample("(?m)^$", "a\n\nb", 2..<2),
  ]

  static let choices = [
    Sample("a|ab", "ab", 0..<1), Sample("ab|a", "ab", 0..<2), Sample("(?:a|ab)(?:c|bcd)", "abcd", 0..<4),
    Sample("|a", "a", 0..<0), Sample("a|", "b", 0..<0), Sample("b|a", "ab", 0..<1), Sample("a.*z|a", "abz", 0..<3),
    Sample("a.*z|a", "abc", 0..<1), Sample("()", "a", 0..<0), Sample("(|)", "a", 0..<0),
  ]

  @Test(
    "the first match is where the table says",
    arguments: literals + classes + unicode + repetitions + flags + assertions + choices)
  func sample(_ sample: Sample) throws {
    let expression = try RegularExpression(sample.pattern)
    #expect(expression.firstMatch(in: sample.text)?.range == sample.range)
    #expect(expression.contains(sample.text) == (sample.range != nil))
  }

  @Test("groups are numbered by their opening parenthesis, and may have names")
  func groups() throws {
    let expression = try RegularExpression("(?P<year>\\d+)-(?:0*)((?<month>\\d)|(x))")
    #expect(expression.groupCount == 4)
    #expect(expression.groupNames == ["year", nil, "month", nil])
    #expect(expression.group(named: "month") == 3)
    #expect(expression.group(named: "day") == nil)
    #expect(expression.firstMatch(in: "on 2024-07")?.ranges == [3..<10, 3..<7, 9..<10, 9..<10, nil])
  }

  @Test("a group in a repetition has the place of its last turn")
  func repeatedGroup() throws {
    #expect(try RegularExpression("(?:(a)|b)*").firstMatch(in: "ab")?.ranges == [0..<2, 0..<1])
    #expect(try RegularExpression("(a|b)*").firstMatch(in: "ab")?.ranges == [0..<2, 1..<2])
    #expect(try RegularExpression("(|a)*").firstMatch(in: "aa")?.ranges == [0..<0, 0..<0])
    #expect(try RegularExpression("(|a)+").firstMatch(in: "aa")?.ranges == [0..<0, 0..<0])
    #expect(try RegularExpression("(a){0}b").firstMatch(in: "ab")?.ranges == [1..<2, nil])
  }

  @Test("a pattern is the same as another with the same text")
  func equality() throws {
    #expect(try RegularExpression("a+") == RegularExpression("a+"))
    #expect(try RegularExpression("a+") != RegularExpression("a*"))
  }
}
