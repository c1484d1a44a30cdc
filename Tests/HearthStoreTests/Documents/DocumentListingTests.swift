import HearthModel
import HearthStore
import TestSupport
import Testing

@Suite("Listing collections and documents")
struct DocumentListingTests {
  let store: DocumentStore
  init() throws { store = try DocumentStore(database: Database(.memory)) }

  @Test("collection ids under a path include those that are only on the way to a document")
  func collectionIDs() throws {
    try store.setAll(
      found("a/1"), found("a/1/x/1"), found("a/1/x!/1"), found("a/1/y/1/z/1"), found("b!/1"), found("b/1/c/1/d/1"),
      missing("gone/1", 5), missing("half/1", 5), found("half/2/k/1"))
    #expect(try store.childIDs(under: path("")) == ["a", "b", "b!", "half"])
    #expect(try store.childIDs(under: path("a/1")) == ["x", "x!", "y"])
    #expect(try store.childIDs(under: path("b/1")) == ["c"])
    #expect(try store.childIDs(under: path("b")) == ["1"], "under a collection these are document ids")
    #expect(try store.childIDs(under: path("a/2")) == [])
  }

  @Test("documents that exist only as parents are known")
  func parents() throws {
    try store.setAll(found("a/1"), found("a/2/x/1"), found("a/2/y/1"), found("a/__id10__/x/1"), found("a/__id9__/x/1"))
    #expect(try store.childIDs(under: path("a")) == ["__id9__", "__id10__", "2"])
  }

  @Test("lists of any size, behind any id, are those of all keys", arguments: SeededGenerator.seeds(40))
  func childIDPages(seed: UInt64) throws {
    // Ids whose paths the table orders in another way, and ids that begin alike.
    let ids = [
      "a", "a!", "a!b", "a-", "a0", "aa", "b", "__id7__", "__id-3__", "__id10__", "__id", "__ie", "é", "\u{1}",
    ]
    var generator = SeededGenerator(seed: seed)
    var keys: Set<DocumentKey> = []
    for _ in 0..<generator.element([5, 40, 150]) {
      let path = (0..<2 * (1 + generator.below(3))).map { _ in generator.element(ids) }.joined(separator: "/")
      if generator.chance(80) {
        keys.insert(key(path))
        try store.set(found(path))
      } else if !keys.contains(key(path)) {
        try store.set(missing(path, 1))
      }
    }
    for _ in 0..<60 {
      let segments = (0..<generator.below(5)).map { _ in generator.element(ids) }
      let parent = ResourcePath(segments)
      let below = keys.map(\.path).filter {
        parent.isPrefix(of: $0) && $0.count > parent.count + (parent.count.isMultiple(of: 2) ? 0 : 1)
      }
      let all = Set(below.map { $0.segments[parent.count] }).sorted { PathSegment.compare($0, $1) == .ascending }
      let last = generator.chance(50) ? generator.element(ids) : nil
      let limit = generator.element([1, 2, 5, 100])
      let expected = all.filter { id in last.map { PathSegment.compare(id, $0) == .descending } ?? true }.prefix(limit)
      #expect(
        try store.childIDs(under: parent, after: last, limit: limit) == Array(expected),
        "seed \(seed), below \"\(parent)\" behind \(last ?? "nothing")")
    }
  }

  @Test("pages follow the order of keys, numeric ids first by number, and hold existing documents only")
  func pages() throws {
    let ids = ["__id-3__", "__id7__", "__id12__", "A", "__ia", "__id", "__id12", "__idx__", "a", "é", "漢", "😀"]
    for id in ids.reversed() { try store.set(found("c/\(id)")) }
    try store.setAll(missing("c/__id8__", 1), missing("c/B", 1), found("d/__id1__"), found("c/a/s/__id2__"))
    let expected = ids.map { key("c/\($0)") }.sorted().map(\.id)
    for limit in 1...ids.count + 1 {
      var read: [String] = []
      while true {
        let page = try store.documents(in: path("c"), after: read.last, limit: limit)
        #expect(page.count <= limit)
        read += page.map(\.key.id)
        if page.count < limit { break }
      }
      #expect(read == expected, "limit \(limit)")
    }
    #expect(try store.documents(in: path("c"), after: "__id8__", limit: 1).map(\.key.id) == ["__id12__"])
    #expect(try store.documents(in: path("c"), after: "B", limit: 1).map(\.key.id) == ["__ia"])
    #expect(try store.documents(in: path("c"), limit: 0) == [])
    #expect(try store.documents(in: path("nothing"), limit: 9) == [])
    #expect(try store.count(in: path("c")) == ids.count)
    #expect(try store.count(in: path("nothing")) == 0)
  }
}
