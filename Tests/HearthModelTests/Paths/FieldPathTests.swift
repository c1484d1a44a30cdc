import Testing

@testable import HearthModel

@Suite("Field paths")
struct FieldPathTests {
  @Test("a user's path is split at dots; backticks and backslashes are plain characters")
  func userFormat() throws {
    #expect(try FieldPath(parsingUserFormat: "a.b-c.d e").segments == ["a", "b-c", "d e"])
    #expect(try FieldPath(parsingUserFormat: "`a.b\\").segments == ["`a", "b\\"])
  }

  @Test("empty names in a user's path are rejected", arguments: ["", ".", ".a", "a.", "a..b"])
  func emptyNames(_ path: String) {
    let error = #expect(throws: ModelError.self) { try FieldPath(parsingUserFormat: path) }
    #expect(
      error?.description
        == "Invalid field path (\(path)). Paths must not be empty, begin with '.', end with '.', or contain '..'")
  }

  @Test("reserved characters in a user's path are rejected", arguments: ["a~b", "a*", "a/b", "[a", "a]"])
  func reserved(_ path: String) {
    let error = #expect(throws: ModelError.self) { try FieldPath(parsingUserFormat: path) }
    #expect(
      error?.description == "Invalid field path (\(path)). Paths must not contain '~', '*', '/', '[', or ']'")
  }

  @Test("given names may hold anything, but must not be empty or more than 100")
  func names() throws {
    #expect(try FieldPath(["a.b", "~*/[]"]).segments == ["a.b", "~*/[]"])
    #expect(throws: ModelError.self) { try FieldPath([]) }
    #expect(throws: ModelError.self) { try FieldPath(["a", ""]) }
    #expect(try FieldPath(Array(repeating: "a", count: 100)).segments.count == 100)
    #expect(throws: ModelError.self) { try FieldPath(Array(repeating: "a", count: 101)) }
    let long = Array(repeating: "a", count: 1_000_000).joined(separator: ".")
    let error = #expect(throws: ModelError.self) { try FieldPath(parsingServerFormat: long) }
    #expect((error?.description.utf8.count ?? 0) < 300)
  }

  @Test(
    "the server's form goes both ways",
    arguments: [
      (["a"], "a"), (["_a1", "B2"], "_a1.B2"), (["a.b", "c"], "`a.b`.c"), (["1a"], "`1a`"), (["a-b"], "`a-b`"),
      (["`"], "`\\``"), (["a\\b"], "`a\\\\b`"), (["caf\u{E9}"], "`caf\u{E9}`"), ([" "], "` `"),
      (["__name__"], "__name__"), (["\0"], "`\0`"),
    ])
  func serverFormat(_ segments: [String], _ text: String) throws {
    let path = try FieldPath(segments)
    #expect(path.canonicalString == text)
    #expect(try FieldPath(parsingServerFormat: text) == path)
  }

  @Test(
    "malformed server forms are rejected by name",
    arguments: ["", "a.", ".a", "a..b", "``", "a.``", "`a", "a`", "a\\", "`a`.", "`a\\`"])
  func malformedServerFormat(_ text: String) {
    let error = #expect(throws: ModelError.self) { try FieldPath(parsingServerFormat: text) }
    #expect(error?.description.contains("(\(text))") == true)
  }

  @Test("the server's form is lenient where it is not ambiguous")
  func lenient() throws {
    #expect(try FieldPath(parsingServerFormat: "a-b.c").segments == ["a-b", "c"])
    #expect(try FieldPath(parsingServerFormat: "a\\.b").segments == ["a.b"])
  }

  @Test("order is by segments and UTF-8 bytes")
  func order() throws {
    let ascending = try [
      ["a"], ["a", "a"], ["a", "b"], ["a!"], ["b"], ["cafe\u{301}"], ["caf\u{E9}"], ["\u{FFFF}"], ["\u{10000}"],
    ].map { try FieldPath($0) }
    for (i, a) in ascending.enumerated() {
      for (j, b) in ascending.enumerated() {
        #expect(FieldPath.compare(a, b) == Ordering(i, j))
        #expect((a == b) == (i == j))
      }
    }
    #expect(Set(ascending).count == ascending.count)
  }

  @Test("prefixes and children")
  func prefixes() throws {
    let path = try FieldPath(["a", "b"])
    #expect(try FieldPath(["a"]).isPrefix(of: path))
    #expect(path.isPrefix(of: path))
    #expect(!path.isPrefix(of: try FieldPath(["a"])))
    #expect(!(try FieldPath(["a", "c"]).isPrefix(of: path)))
    #expect(try FieldPath(["a"]).appending("b") == path)
  }

  @Test("the document key's pseudo-field is known")
  func documentKey() throws {
    #expect(FieldPath.documentKey.isDocumentKey)
    #expect(try FieldPath(parsingUserFormat: "__name__").isDocumentKey)
    #expect(!(try FieldPath(["__name__", "a"]).isDocumentKey))
  }

  @Test(
    "what a backend rejects as a field name",
    arguments: ["__x__", "____", "__id7__", String(repeating: "x", count: 1501)])
  func serverRules(_ name: String) throws {
    let path = try FieldPath(["a", name])
    #expect(throws: ModelError.self) { try path.validateServerLimits() }
  }

  @Test(
    "what a backend accepts as a field name",
    arguments: ["__x", "x__", ".", "a.b", String(repeating: "x", count: 1500)])
  func acceptedByServer(_ name: String) throws {
    try FieldPath([name]).validateServerLimits()
  }
}
