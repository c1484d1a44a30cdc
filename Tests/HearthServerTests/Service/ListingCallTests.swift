import GRPCCore
import HearthModel
import HearthTransport
import HearthWire
import Synchronization
import TestSupport
import Testing

@testable import HearthServer

@Suite("Lists of documents and collections", .everyStorage)
struct ListingCallTests {
  private func page(
    _ fixture: ServerFixture, size: Int32 = 0, token: String = "", order: String = "", showMissing: Bool = false
  ) async throws -> (ids: [String], token: String, documents: [EncodedDocument]) {
    var request = Google_Firestore_V1_ListDocumentsRequest()
    request.parent = ServerFixture.database.documentsName
    request.collectionID = "c"
    request.pageSize = size
    request.pageToken = token
    request.orderBy = order
    request.showMissing = showMissing
    let response: Google_Firestore_V1_ListDocumentsResponse = try await fixture.unary(
      Method.ListDocuments.descriptor, request)
    let documents = try response.documents.map { try EncodedDocument(parsing: [UInt8]($0)) }
    return (documents.map { String($0.name.split(separator: "/").last ?? "") }, response.nextPageToken, documents)
  }

  @Test("pages join without gap or repetition")
  func paging() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.commit((0..<7).map { .set(key("c/d\($0)"), ["n": (7 - $0).value]) })
      var ids: [String] = []
      var token = ""
      repeat {
        let page = try await page(fixture, size: 3, token: token)
        #expect(page.ids.count <= 3)
        ids += page.ids
        token = page.token
      } while !token.isEmpty
      #expect(ids == (0..<7).map { "d\($0)" })
    }
  }

  @Test(
    "a page has 1 MiB at most, however many documents were asked for, and the list goes on behind it",
    arguments: [false, true])
  func largeDocuments(showMissing: Bool) async throws {
    try await ServerFixture.withServer { fixture in
      let text = Value.string(String(repeating: "x", count: 300_000))
      for number in 0..<13 { try await fixture.commit([.set(key("c/d\(10 + number)"), ["t": text])]) }
      try await fixture.commit([.set(key("c/d115/below/x"), [:]), .set(key("c/z/below/x"), [:])])
      var pages: [[String]] = []
      var token = ""
      repeat {
        let page = try await page(fixture, size: 1_000_000, token: token, showMissing: showMissing)
        #expect(page.documents.reduce(0) { $0 + $1.fields.bytes.count } <= 1 << 20)
        pages.append(page.ids)
        token = page.token
      } while !token.isEmpty
      let stored = (0..<13).map { "d\(10 + $0)" }
      let expected = showMissing ? stored[...1] + ["d115"] + stored[2...] + ["z"] : stored[...]
      #expect(pages.flatMap { $0 } == Array(expected))
      #expect(pages.count == 5, "three documents fit into 1 MiB")
    }
  }

  @Test("an order leaves out documents without the field and continues over pages")
  func order() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.commit([
        .set(key("c/a"), ["n": 1.value]), .set(key("c/b"), ["n": 2.value]), .set(key("c/x"), [:]),
        .set(key("c/c"), ["n": 2.value]),
      ])
      let first = try await page(fixture, size: 2, order: "n desc")
      #expect(first.ids == ["c", "b"])
      let second = try await page(fixture, size: 2, token: first.token, order: "n desc")
      #expect(second.ids == ["a"] && second.token.isEmpty)
    }
  }

  @Test("show_missing lists documents that exist only as the parents of others, with a name and nothing else")
  func showMissing() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.set("c/b/sub/x", ["a": 1.value])
      try await fixture.set("c/a")
      #expect(try await page(fixture).ids == ["a"])
      let all = try await page(fixture, showMissing: true)
      #expect(all.ids == ["a", "b"])
      #expect(all.documents[1].createTime == nil && all.documents[1].updateTime == nil)
      let first = try await page(fixture, size: 1, showMissing: true)
      #expect(try await page(fixture, size: 1, token: first.token, showMissing: true).ids == ["b"])
    }
  }

  @Test("a page with missing documents is of one version, and looks at no more ids than it shows")
  func missingPages() async throws {
    let fixture = try StorageFixture()
    for start in stride(from: 1_000, to: 4_000, by: 1_000) {
      let writes = (start..<start + 1_000).map { Mutation.set(key("c/d\($0)/below/x"), [:]) }
      _ = try await fixture.storage.commit(CommitRequest(mutations: writes))
    }
    let looked = Mutex(0)
    let reads = Mutex(0)
    let storage = ObservedStorage(
      fixture.storage,
      before: {
        let count = reads.withLock { count in
          count += 1
          return count
        }
        // A document that is written behind those of the page is not there.
        guard count == 2 else { return }
        _ = try? await fixture.set("c/d1003")
        _ = try? await fixture.set("c/d1000a/below/x")
      }, afterIDs: { ids in looked.withLock { $0 += ids.count } })
    let database = HostedDatabase(
      id: ServerFixture.database, storage: storage, limits: DatabaseLimits(), clock: fixture.clock.clock)
    let list = DocumentList(
      query: Query(path: path("c")), showsMissing: true, database: database.session,
      plan: try await ReadPlan.prepare(.latest, for: .list(Query(path: path("c"))), in: database.session), pageSize: 10)
    let page = try await list.page(after: "")
    #expect(page.documents.map(\.key.id) == (1_000..<1_010).map { "d\($0)" })
    #expect(page.documents.allSatisfy { !$0.isFound })
    #expect(looked.withLock { $0 } <= 11)
    #expect(try await fixture.storage.documents(for: [key("c/d1003")], at: nil).documents.first?.isFound == true)
    let next = try await list.page(after: page.nextToken)
    #expect(next.documents.map(\.key.id) == (1_010..<1_020).map { "d\($0)" })
  }

  @Test("pages join without gap or repetition, at the present and in the past", arguments: SeededGenerator.seeds(10))
  func generatedPages(seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed)
    let fixture = try StorageFixture()
    let (ids, collections) = (["a", "a!", "a0", "b", "__id7__", "__id10__", "é"], ["c", "c!", "d", "e"])
    var present: Set<DocumentKey> = []
    func write() async throws {
      for _ in 0..<40 {
        let path = (0...generator.below(2)).map { _ in "\(generator.element(collections))/\(generator.element(ids))" }
        let key = key(path.joined(separator: "/"))
        let isSet = generator.chance(60)
        try await fixture.commit(isSet ? .set(key, [:]) : .delete(key))
        if isSet { present.insert(key) } else { present.remove(key) }
      }
    }
    func check(_ keys: Set<DocumentKey>, at version: SnapshotVersion?) async throws {
      for parent in ["", "c", "c/a", "c!", "c/a/d"] {
        let parent = parent.isEmpty ? ResourcePath() : path(parent)
        let depth = parent.count + (parent.count.isMultiple(of: 2) ? 1 : 2)
        let below = keys.map(\.path).filter { parent.isPrefix(of: $0) && $0.count >= depth }
        let expected = Set(below.map { $0.segments[parent.count] }).sorted { PathSegment.compare($0, $1) == .ascending }
        var listed: [String] = []
        var page: [String]
        repeat {
          page = try await fixture.storage.collectionIDs(under: parent, after: listed.last, limit: 2, at: version)
          listed += page
        } while page.count == 2
        #expect(listed == expected, "seed \(seed), below \"\(parent)\"")
      }
    }
    try await write()
    let (version, past) = (try fixture.storage.currentVersion(), present)
    try await write()
    try await check(present, at: nil)
    try await check(past, at: version)
  }

  @Test("a page of names is no larger than a message, however many were asked for", arguments: [false, true])
  func manyNames(areMissing: Bool) async throws {
    let fixture = try StorageFixture()
    let id = String(repeating: "x", count: 1_400)
    for start in stride(from: 1_000, to: 4_000, by: 1_000) {
      let writes = (start..<start + 1_000).map {
        Mutation.set(key("c/\(id)\($0)\(areMissing ? "/below/x" : "")"), [:])
      }
      _ = try await fixture.storage.commit(CommitRequest(mutations: writes))
    }
    let list = DocumentList(
      query: Query(path: path("c")), showsMissing: areMissing, database: fixture.database.session,
      plan: try await ReadPlan.prepare(.latest, for: .list(Query(path: path("c"))), in: fixture.database.session),
      pageSize: 1_000_000)
    var (ids, token, pages): ([String], String, Int) = ([], "", 0)
    repeat {
      let page = try await list.page(after: token)
      #expect(page.documents.reduce(0) { $0 + $1.key.id.utf8.count } < 1 << 20)
      ids += page.documents.map(\.key.id)
      token = page.nextToken
      pages += 1
    } while !token.isEmpty
    #expect(ids == (1_000..<4_000).map { "\(id)\($0)" })
    #expect(pages == 5)
  }

  @Test("bad requests are named")
  func errors() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.set("c/a")
      #expect(await failure { try await page(fixture, size: -1).ids }?.message == "Page size must be nonnegative.")
      #expect(await failure { try await page(fixture, token: "what").ids }?.message == "invalid page token")
      let mixed = await failure { try await page(fixture, order: "n", showMissing: true).ids }
      #expect(mixed?.message == "cannot specify an order when show_missing is true")
      #expect(await failure { try await page(fixture, order: "n upwards").ids }?.code == .invalidArgument)
    }
  }

  @Test("a token of another list is refused")
  func foreignToken() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.commit([.set(key("c/a"), ["n": 1.value]), .set(key("c/b"), ["n": 1.value])])
      let token = try await page(fixture, size: 1).token
      #expect(await failure { try await page(fixture, token: token, order: "n").ids }?.message == "invalid page token")
    }
  }

  @Test("collection ids are sorted and paged")
  func collectionIDs() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.commit(["b/1", "a/1", "a/1/sub/1", "c/1/deep/1"].map { .set(key($0), [:]) })
      var request = Google_Firestore_V1_ListCollectionIdsRequest()
      request.parent = ServerFixture.database.documentsName
      request.pageSize = 2
      let first: Google_Firestore_V1_ListCollectionIdsResponse = try await fixture.unary(
        Method.ListCollectionIds.descriptor, request)
      #expect(first.collectionIds == ["a", "b"])
      request.pageToken = first.nextPageToken
      let second: Google_Firestore_V1_ListCollectionIdsResponse = try await fixture.unary(
        Method.ListCollectionIds.descriptor, request)
      #expect(second.collectionIds == ["c"] && second.nextPageToken.isEmpty)
    }
  }
}
