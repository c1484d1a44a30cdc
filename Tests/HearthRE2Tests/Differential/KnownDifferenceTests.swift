import HearthRE2
import Testing

/// Where RE2, Go and this module differ, with the reasons. Generated pairs leave these out.
@Suite("Differences from RE2 and Go")
struct KnownDifferenceTests {
  struct Difference: Sendable, CustomTestStringConvertible {
    let pattern: String
    let text: [UInt8]
    /// Nil if the pattern is refused.
    let contains: Bool?
    let others: String
    let reason: String

    var testDescription: String { "\(pattern): \(others)" }
  }

  static let differences = [
    Difference(
      pattern: "(?<name>a)", text: [0x61], contains: true,
      others: "RE2 before 2023 and Go before 1.22 refuse it",
      reason: "newer versions of both take it, and so does the table of RE2's syntax"),
    Difference(
      pattern: "\\C", text: [0x61], contains: nil,
      others: "RE2 matches a single byte; Go refuses it",
      reason: "half a scalar in a match would make an invalid string of it"),
    Difference(
      pattern: ".", text: [0xFF], contains: true,
      others: "RE2 matches an invalid byte with nothing; Go with what matches U+FFFD",
      reason: "texts come from protocol buffers and are valid; for other bytes there is one rule, and it is Go's"),
    Difference(
      pattern: "\\B", text: Array("céa".utf8), contains: false,
      others: "RE2 finds it between the bytes of é; Go does not",
      reason: "a match within a scalar would make an invalid string of it"),
    Difference(
      pattern: "(?P<é>a)", text: [0x61], contains: nil,
      others: "RE2 takes letters of all scripts in names; Go those of ASCII",
      reason: "the rule of the syntax table; no name of another kind can be asked for in rules or pipelines"),
    Difference(
      pattern: "(?P<n>a)|(?P<n>b)", text: [0x61], contains: nil,
      others: "Go before 1.22 takes it",
      reason: "a name would mean two groups; the rules of Google's emulator refuse it"),
    Difference(
      pattern: "a{100000000000}", text: Array("a{100000000000}".utf8), contains: nil,
      others: "RE2 reads a bound of more than 99,999,999 as text; Go refuses it",
      reason: "it is as wrong as the bound 1001, which all three refuse"),
    Difference(
      pattern: "\\pL{1000}", text: [0x61], contains: false,
      others: "RE2 refuses it as too large; Go takes it",
      reason: "RE2's program has an instruction for each range of bytes, ours has one for each set of scalars"),
    Difference(
      pattern: "(?:abcdefghijklmnopqrstuvwxyz){1000}" + "(?:abcdefghijklmnopqrstuvwxyz0123456789){1000}"
        + "(?:abcdefghijklmnopqrstuvwxyz0123456789!?()){1000}", text: [0x61], contains: nil,
      others: "Go takes programs with some three million instructions; RE2 some hundred thousand",
      reason: "a server compiles what its clients send, and the time for a byte of text depends on it"),
    Difference(
      pattern: "\\x{1C89}|\\p{Lu}", text: Array("\u{1C8A}\u{1C89}".utf8), contains: true,
      others: "the tables of each are of another version of Unicode",
      reason: "categories come from Swift's standard library, scripts and case folding from Unicode 15"),
  ]

  @Test("each difference is as the table says", arguments: differences)
  func difference(_ difference: Difference) {
    let expression = try? RegularExpression(difference.pattern)
    #expect(expression.map { $0.contains(difference.text) } == difference.contains)
  }
}
