import Testing

@testable import HearthRE2

@Suite("The size of programs")
struct ProgramLimitTests {
  @Test(
    "a pattern whose program would be too large is refused before it takes the memory",
    arguments: [
      String(repeating: "a", count: 200_000), String(repeating: "(?:ab|cd){1000}", count: 100),
      String(repeating: "(?:){1000}", count: 20_000), String(repeating: "()", count: 100_000),
      String(repeating: "|", count: 200_000), "\\Q" + String(repeating: "*", count: 200_000),
      (0..<1000).map { "[\\pL\\x{2190}-\\x{\(String(0x2191 + $0, radix: 16))}]" }.joined(),
      String(repeating: "(a)", count: 1000) + String(repeating: "b", count: 5000),
      String(repeating: "(a)", count: 3000),
    ])
  func tooLarge(pattern: String) throws {
    let error = try #require(throws: RegularExpressionError.self) { try RegularExpression(pattern) }
    #expect(error.kind == .tooLarge)
    #expect(error.fragment.utf8.count <= RegularExpressionError.longestFragment)
  }

  @Test("the caller may set a lower limit")
  func lowerLimit() throws {
    #expect(try RegularExpression("a{100}", programLimit: 200).programSize == 101)
    #expect(throws: RegularExpressionError.self) { try RegularExpression("a{300}", programLimit: 200) }
    #expect(throws: RegularExpressionError.self) { try RegularExpression("\\pL", programLimit: 200) }
  }

  @Test("a class takes no more memory than its set, however long it is")
  func longClass() throws {
    let pattern = "[" + String(repeating: "\\W\\PL\\d[:^alpha:]z-\\x{10FFFF}a-c", count: 20_000) + "]"
    #expect(try RegularExpression(pattern).matches("日"))
    #expect(try RegularExpression("(?i)" + pattern).matches("日"))
    #expect(try RegularExpression("[" + String(repeating: "[:", count: 100_000) + "a]").matches(":"))
  }

  @Test("an alphabet has one class for scalars that nothing tells apart")
  func alphabet() throws {
    func count(_ pattern: String) throws -> Int? {
      let tree = try Parser.parse(pattern, limit: 100_000)
      return Compiler.compile(tree, .forwards, limit: 100_000).flatMap { Alphabet($0)?.count }
    }
    #expect(try count("[a-c]|x") == 3)
    #expect(try count("\\pL+") == 2)
    #expect(try count("(?s).*") == 1)
    #expect(try count("\\ba") == 3)
    #expect(try count("(?m)^a") == 3)
  }
}
