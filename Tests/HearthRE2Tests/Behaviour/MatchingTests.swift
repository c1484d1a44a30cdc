import HearthRE2
import Testing

@Suite("Questions about texts")
struct MatchingTests {
  @Test("a whole text matches if any way through the pattern ends at its end")
  func whole() throws {
    let expression = try RegularExpression("a|ab|b*?")
    #expect(expression.matches("ab"))
    #expect(expression.matches("bbb"))
    #expect(expression.matches(""))
    #expect(!expression.matches("abc"))
    #expect(!expression.matches("xab"))
    #expect(try !RegularExpression("a$").matches("a\n"))
    #expect(try RegularExpression("(?m)a$\n").matches("a\n"))
  }

  @Test("the checks of typical security rules")
  func rules() throws {
    let address = try RegularExpression("^[a-z0-9._%+-]+@[a-z0-9.-]+\\.[a-z]{2,}$")
    #expect(address.matches("someone.else+tag@mail.example.org"))
    #expect(!address.matches("someone@example"))
    #expect(!address.matches("some one@example.org"))
    #expect(try RegularExpression(".*foo.*").matches("a foo b"))
    #expect(try !RegularExpression(".*foo.*").matches("a foo\nb"))
  }

  @Test("a string and its bytes have the same answers, at the same places")
  func stringsAndBytes() throws {
    let expression = try RegularExpression("(é)b")
    let text = "aéb"
    let bytes = Array(text.utf8)
    #expect(expression.contains(text) && expression.contains(bytes))
    #expect(!expression.matches(text) && !expression.matches(bytes))
    #expect(expression.firstMatch(in: text)?.ranges == [1..<4, 1..<3])
    #expect(expression.firstMatch(in: bytes)?.ranges == [1..<4, 1..<3])
  }

  @Test("a search from a place sees what stands before it")
  func start() throws {
    let text = Array("ab ab".utf8)
    #expect(try RegularExpression("a").firstMatch(in: text, from: 1)?.range == 3..<4)
    #expect(try RegularExpression("^a").firstMatch(in: text, from: 3) == nil)
    #expect(try RegularExpression("\\bb").firstMatch(in: text, from: 1) == nil)
    #expect(try RegularExpression("\\Bb").firstMatch(in: text, from: 1)?.range == 1..<2)
    #expect(try RegularExpression("b*").firstMatch(in: text, from: 5)?.range == 5..<5)
  }

  @Test("one expression answers many tasks at the same time")
  func concurrency() async throws {
    let expression = try RegularExpression("(\\w+)@(\\w+)\\.org")
    await withTaskGroup(of: Bool.self) { group in
      for number in 0..<200 {
        group.addTask {
          let name = String(repeating: "n", count: number + 1)
          let match = expression.firstMatch(in: "<\(name)@example.org>")
          return match?.ranges == [1..<number + 14, 1..<number + 2, number + 3..<number + 10]
            && expression.contains("<\(name)@example.org>") && !expression.matches("<\(name)@example.org>")
        }
      }
      for await isRight in group { #expect(isRight) }
    }
  }
}
