import HearthModel
import HearthStore
import Testing

@Suite("Listing collections and documents")
struct ListingTests {
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
