import Testing

@testable import HearthModel

@Suite("Resource paths")
struct ResourcePathTests {
  @Test(
    "one slash at either end is dropped",
    arguments: [
      ("a", ["a"]), ("/a/b", ["a", "b"]), ("a/b/", ["a", "b"]), ("/a/", ["a"]), ("a b/c.d", ["a b", "c.d"]),
    ])
  func parsing(_ path: String, _ segments: [String]) throws {
    let parsed = try ResourcePath(parsing: path)
    #expect(parsed.segments == segments)
    #expect(parsed.count == segments.count)
    #expect(parsed == ResourcePath(segments))
    #expect(try ResourcePath(canonical: parsed.canonicalString) == parsed)
  }

  @Test("empty paths and empty segments are rejected by name", arguments: ["", "/", "//", "a//b", "//a", "a//"])
  func rejected(_ path: String) {
    let error = #expect(throws: ModelError.self) { try ResourcePath(parsing: path) }
    #expect(error?.description.contains("(\(path))") == true)
  }

  @Test("the canonical form of the root is empty; slashes at the ends are not canonical")
  func canonical() throws {
    #expect(try ResourcePath(canonical: "") == ResourcePath())
    #expect(throws: ModelError.self) { try ResourcePath(canonical: "/a") }
    #expect(throws: ModelError.self) { try ResourcePath(canonical: "a/") }
    #expect(throws: ModelError.self) { try ResourcePath(canonical: "a//b") }
  }

  @Test("segments with slashes count as several, empty ones are left out")
  func untidySegments() {
    #expect(ResourcePath(["a/b", "", "/c/"]).canonicalString == "a/b/c")
  }

  @Test("parents, last segments and children")
  func family() {
    let root = ResourcePath()
    let path = ResourcePath(["a", "b", "c"])
    #expect(path.last == "c")
    #expect(path.parent == ResourcePath(["a", "b"]))
    #expect(ResourcePath(["a"]).parent == root)
    #expect(root.parent == root)
    #expect(root.last == nil)
    #expect(root.segments.isEmpty && root.isEmpty)
    #expect(root.appending("a").appending(ResourcePath(["b", "c"])) == path)
    #expect(path.appending(root) == path)
  }

  @Test("prefixes end at segments")
  func prefixes() {
    let path = ResourcePath(["a", "bc"])
    #expect(ResourcePath().isPrefix(of: path))
    #expect(ResourcePath(["a"]).isPrefix(of: path))
    #expect(path.isPrefix(of: path))
    #expect(!ResourcePath(["a", "b"]).isPrefix(of: path))
    #expect(!path.isPrefix(of: ResourcePath(["a"])))
    #expect(ResourcePath(["a"]).isImmediateParent(of: path))
    #expect(!ResourcePath().isImmediateParent(of: path))
    #expect(!path.isImmediateParent(of: path))
    #expect(ResourcePath().isImmediateParent(of: ResourcePath(["a"])))
  }

  static let ascending = [
    "", "__id-9223372036854775808__", "__id-2__", "__id0__", "__id07__", "__id7__", "__id7__/x", "__id12__",
    "__id9223372036854775807__", "!", "!/z", "__id", "__id+1__", "__id1", "__id1_", "__id1a__",
    "__id9223372036854775808__", "__id__", "a", "a/__id3__", "a/__id20__", "a/b", "a/b/c", "a/b!", "a/bb", "a!", "a!/b",
    "aa", "cafe\u{301}", "caf\u{E9}", "\u{FFFF}", "\u{10000}",
  ]

  @Test("paths are ordered by segments, numeric ids first and by number")
  func order() throws {
    let paths = try Self.ascending.map { try ResourcePath(canonical: $0) }
    for (i, a) in paths.enumerated() {
      for (j, b) in paths.enumerated() {
        #expect(ResourcePath.compare(a, b) == Ordering(i, j), "\(a) against \(b)")
        #expect((a == b) == (i == j))
        #expect((a < b) == (i < j))
      }
    }
  }

  @Test("canonically equivalent ids are different documents")
  func canonicalEquivalence() {
    #expect(Set([ResourcePath(["caf\u{E9}"]), ResourcePath(["cafe\u{301}"])]).count == 2)
  }

  @Test("a slash stays a separator when a combining mark follows it")
  func combiningMark() throws {
    let path = try ResourcePath(parsing: "a/\u{301}b/c/d")
    #expect(path.count == 4)
    #expect(path.segments[1].utf8.elementsEqual("\u{301}b".utf8))
    #expect(path.parent.parent.last?.utf8.elementsEqual("\u{301}b".utf8) == true)
    #expect(ResourcePath(["a", "\u{301}b", "c", "d"]) == path)
  }
}

@Suite("Document keys")
struct DocumentKeyTests {
  @Test("a key knows its id and its collection")
  func parts() throws {
    let key = try DocumentKey(parsing: "rooms/r1/messages/m1")
    #expect(key.id == "m1")
    #expect(key.collectionGroup == "messages")
    #expect(key.collectionPath == ResourcePath(["rooms", "r1", "messages"]))
    #expect(key.canonicalString == "rooms/r1/messages/m1")
  }

  @Test("an odd number of segments is rejected with path and count")
  func parity() {
    let error = #expect(throws: ModelError.self) { try DocumentKey(parsing: "a/b/c") }
    #expect(
      error?.description
        == "Invalid document reference. Document references must have an even number of segments, but a/b/c has 3")
    #expect(throws: ModelError.self) { try DocumentKey(ResourcePath()) }
  }

  @Test(
    "what a backend rejects as a name",
    arguments: [
      "a/.", "a/..", "a/__x__", "__id7__/a", "a/____", "a/__id__", "a/__id7x__",
      "a/" + String(repeating: "x", count: 1501), String(repeating: "c/d/", count: 101),
      String(repeating: String(repeating: "x", count: 1400) + "/", count: 6),
    ])
  func serverRules(_ path: String) throws {
    let key = try DocumentKey(parsing: path)
    let error = #expect(throws: ModelError.self) { try key.validateServerLimits() }
    #expect((error?.description.utf8.count ?? 0) < 400)
  }

  @Test(
    "what a backend accepts as a name",
    arguments: [
      "a/b", "a/__id7__", "a/...", "a/__x", "a/___", "a/" + String(repeating: "x", count: 1500),
      String(repeating: "c/d/", count: 100),
    ])
  func acceptedByServer(_ path: String) throws {
    try DocumentKey(parsing: path).validateServerLimits()
  }
}

@Suite("Resource names")
struct DatabaseIDTests {
  let database = DatabaseID(projectID: "p")

  @Test("names of databases and documents go both ways")
  func names() throws {
    #expect(database.resourceName == "projects/p/databases/(default)")
    #expect(try DatabaseID(resourceName: database.resourceName) == database)
    let key = try DocumentKey(parsing: "a/b")
    #expect(database.name(of: key) == "projects/p/databases/(default)/documents/a/b")
    #expect(try database.key(fromName: database.name(of: key)) == key)
    #expect(try database.path(fromName: database.documentsName) == ResourcePath())
    #expect(try database.path(fromName: database.name(of: ResourcePath(["a"]))) == ResourcePath(["a"]))
    #expect(try ReferenceValue(name: database.name(of: key)) == ReferenceValue(database: database, key: key))
  }

  @Test(
    "names of other databases, of no document and malformed ones are rejected by name",
    arguments: [
      "", "a/b", "projects/p/databases/(default)/documents", "projects/p/databases/(default)/documents/",
      "projects/p/databases/(default)/documents/a", "projects/p/databases/(default)/documents/a//b",
      "projects/p/databases/(default)/documents/a/b/", "projects/p/databases/(default)/documentsa/b",
      "projects/q/databases/(default)/documents/a/b", "/projects/p/databases/(default)/documents/a/b",
    ])
  func rejected(_ name: String) {
    let error = #expect(throws: ModelError.self) { try database.key(fromName: name) }
    #expect(error?.description.contains("(\(name))") == true)
    if !name.contains("/q/") {
      #expect(throws: ModelError.self) { try ReferenceValue(name: name) }
    }
  }

  @Test("a slash is a separator also where a combining mark follows it")
  func combiningMarkAfterSlash() {
    let path = ResourcePath(["c", "/\u{301}x"])
    #expect(path.segments == ["c", "\u{301}x"])
    #expect(path.count == 2)
    #expect(path.parent == ResourcePath(["c"]))
    #expect(ResourcePath(["c"]).appending("x/\u{301}").count == 3)
  }

  @Test(
    "malformed names of databases are rejected",
    arguments: [
      "", "p", "projects/p", "projects//databases/d", "projects/p/databases/", "projects/p/databases/d/documents",
    ])
  func rejectedDatabases(_ name: String) {
    #expect(throws: ModelError.self) { try DatabaseID(resourceName: name) }
  }
}
