import HearthModel
import Testing

@testable import HearthSync

@Suite("Loading bundles")
struct BundleScenarioTests {
  private let rooms = collection("rooms")
  private static let root = TestClient.database.documentsName

  private func time(_ microseconds: Int64) -> String {
    "{\"seconds\":\"\(microseconds / 1_000_000)\",\"nanos\":\(microseconds % 1_000_000 * 1000)}"
  }

  /// A bundle of the documents (a nil field means that the document does not exist), and of one query named "all" that all of
  /// them belong to. Elements of the kind `without` are left out.
  private func bundle(
    id: String = "b", at createTime: Int64, _ documents: (id: String, version: Int64, n: Int?)...,
    queryAt: Int64? = nil, total: Int? = nil, without kind: String? = nil
  ) -> [UInt8] {
    var body = ""
    func add(_ element: String) {
      if let kind, element.hasPrefix("{\"\(kind)\"") { return }
      body += "\(element.utf8.count)\(element)"
    }
    if let queryAt {
      add(
        #"{"namedQuery":{"name":"all","readTime":\#(time(queryAt)),"bundledQuery":{"parent":"\#(Self.root)","#
          + #""structuredQuery":{"from":[{"collectionId":"rooms"}]}}}}"#)
    }
    for document in documents {
      let name = "\(Self.root)/rooms/\(document.id)"
      add(
        #"{"documentMetadata":{"name":"\#(name)","readTime":\#(time(document.version)),"#
          + #""exists":\#(document.n != nil),"queries":["all"]}}"#)
      if let n = document.n {
        add(
          #"{"document":{"name":"\#(name)","updateTime":\#(time(document.version)),"#
            + #""fields":{"n":{"integerValue":"\#(n)"}}}}"#)
      }
    }
    let metadata =
      #"{"metadata":{"id":"\#(id)","createTime":\#(time(createTime)),"version":1,"#
      + #""totalDocuments":\#(total ?? documents.count),"totalBytes":\#(body.utf8.count)}}"#
    return Array("\(metadata.utf8.count)\(metadata)\(body)".utf8)
  }

  @discardableResult
  private func load(_ bytes: [UInt8], into client: TestClient, piece: Int = .max) -> [BundleProgress] {
    let before = client.answers.count
    let id = client.newRequestID()
    var rest = bytes[...]
    while rest.count > piece, !client.hasEnded(id) {
      client.post(.bundleBytes(id, Array(rest.prefix(piece))))
      rest = rest.dropFirst(piece)
    }
    if !client.hasEnded(id) { client.post(.bundleBytes(id, Array(rest))) }
    if !client.hasEnded(id) { client.post(.bundleEnded(id, nil)) }
    return client.answers.dropFirst(before).compactMap { action in
      if case .bundleProgress(_, let progress) = action { progress } else { nil }
    }
  }

  @Test("documents appear in listeners, and progress is told after each of them", arguments: [1, 50, .max])
  func progress(_ piece: Int) throws {
    let client = try TestClient()
    client.setNetwork(isEnabled: false)
    let listener = client.listen(rooms).rawValue
    _ = client.takeTold()
    let bytes = bundle(at: 5, ("a", 1, 1), ("b", 2, nil), ("c", 3, 3))
    let steps = load(bytes, into: client, piece: piece)
    #expect(steps.map(\.documentsLoaded) == [0, 1, 2, 3, 3])
    #expect(steps.map(\.state) == [.inProgress, .inProgress, .inProgress, .inProgress, .success])
    #expect(steps.allSatisfy { $0.totalDocuments == 3 })
    #expect(steps.first?.bytesLoaded == 0 && steps.last?.bytesLoaded == steps.last?.totalBytes)
    #expect(client.takeTold() == ["listener \(listener): cache [a c] +a +c", "request 2: OK"])
  }

  @Test("a bundle that was loaded before, or an older one, is a success that changes nothing")
  func loadedBefore() throws {
    let client = try TestClient(durable: true)
    load(bundle(at: 5, ("a", 1, 1)), into: client)
    try client.restart()
    client.setNetwork(isEnabled: false)
    let listener = client.listen(rooms).rawValue
    _ = client.takeTold()
    for createTime in [5, 4] as [Int64] {
      let steps = load(bundle(at: createTime, ("a", 9, 9), ("b", 9, 9)), into: client, piece: 7)
      #expect(steps.map(\.state) == [.success])
      #expect(steps.map(\.documentsLoaded) == [2])
    }
    #expect(client.takeTold().filter { $0.hasPrefix("listener") } == [])
    load(bundle(at: 6, ("b", 9, 9)), into: client)
    load(bundle(id: "other", at: 1, ("c", 9, 9)), into: client)
    #expect(
      client.takeTold().filter { $0.hasPrefix("listener") } == [
        "listener \(listener): cache [a b] +b", "listener \(listener): cache [a b c] +c",
      ])
  }

  @Test("older contents do not replace newer ones, and local writes stay on top")
  func newerWins() throws {
    let client = try TestClient()
    let listener = client.listen(rooms).rawValue
    try client.fill(2, [found("rooms/a", 10, ["n": 10]), found("rooms/b", 10, ["n": 10])], at: 20)
    client.write(.set(key("rooms/b"), ["n": 99]))
    _ = client.takeTold()
    load(bundle(at: 30, ("a", 5, 5), ("b", 15, 15)), into: client)
    #expect(client.takeTold().filter { $0.hasPrefix("listener") } == [])
    load(bundle(at: 31, ("a", 15, 15)), into: client)
    #expect(client.takeTold().first == "listener \(listener): server pending [a b] ~a")
  }

  @Test("a named query finds its documents again, and asks the backend for what changed since the bundle")
  func namedQuery() throws {
    let client = try TestClient(durable: true)
    load(bundle(at: 500, ("a", 100, 1), queryAt: 400), into: client)
    try client.restart()
    client.request(.readNamedQuery("all"))
    guard case .answer(_, .query(let query?))? = client.answers.last else {
      Issue.record("the named query is not known")
      return
    }
    #expect(query == rooms)
    let listener = client.listen(query).rawValue
    #expect(client.takeTold() == ["listener \(listener): cache [a] +a"])
    let request = try #require(client.addRequests.last)
    #expect(request.resumeToken.isEmpty && request.readTime == version(400) && request.expectedCount == 1)
    client.request(.readNamedQuery("none"))
    guard case .answer(_, .query(nil))? = client.answers.last else {
      Issue.record("a query was found that nobody named")
      return
    }
  }

  @Test("a listener to the cache is there already when the backend is asked for what changed since the bundle")
  func namedQueryWithView() throws {
    let client = try TestClient()
    let cached = client.listen(rooms, ListenOptions(source: .cache)).rawValue
    load(bundle(at: 5, ("a", 1, 1), queryAt: 8), into: client)
    _ = client.takeTold()
    let listener = client.listen(rooms).rawValue
    #expect(client.takeTold() == ["listener \(listener): cache [a] +a"])
    // The backend has nothing newer.
    try client.fill(2, [], at: 10)
    #expect(client.takeTold() == ["listener \(listener): server [a] "])
    _ = cached
  }

  @Test("a query that the backend is asked for keeps the result that it was asked with, and shows a bundle's documents")
  func watchedQuery() throws {
    let client = try TestClient(durable: true)
    load(bundle(at: 500, queryAt: 400), into: client)
    let id = client.listen(rooms)
    let listener = id.rawValue
    let request = try #require(client.addRequests.last)
    #expect(request.readTime == version(400) && request.expectedCount == 0)
    load(bundle(id: "later", at: 600, ("a", 450, 1), queryAt: 500), into: client)
    #expect(client.takeTold().contains("listener \(listener): cache [a] +a"))
    // The document was made and deleted since the first bundle: the backend has nothing to say of it.
    try client.fill(request.targetID, [], at: 550)
    #expect(client.engine.activeLimboDocuments.keys.map(\.id) == ["a"])
    try client.fill(1, [], at: 560)
    #expect(client.takeTold().last == "listener \(listener): server [] -a")
    client.post(.unlisten(id))
    client.listen(rooms)
    #expect(client.addRequests.last?.expectedCount == 0)
  }

  @Test("a query with listeners to the cache alone is not asked for any more, and takes the result of a bundle")
  func queryWithoutWatch() throws {
    let client = try TestClient(durable: true)
    let watching = client.listen(rooms)
    client.listen(rooms, ListenOptions(source: .cache))
    try client.fill(2, [found("rooms/a", 100, ["n": 1])], at: 200)
    client.post(.unlisten(watching))
    load(bundle(at: 500, ("b", 300, 2), queryAt: 400), into: client)
    client.listen(rooms)
    let request = try #require(client.addRequests.last)
    #expect(request.resumeToken.isEmpty && request.readTime == version(400))
  }

  @Test("a listener that resumes from an earlier result sees the bundle's documents, however old they are")
  func earlierResult() throws {
    let client = try TestClient(durable: true)
    let query = rooms.filtered("n", .greaterThan, 0)
    let first = client.listen(query)
    try client.fill(2, [found("rooms/a", 100, ["n": 1])], at: 2_000_000)
    client.post(.unlisten(first))
    client.setNetwork(isEnabled: false)
    load(bundle(at: 500, ("b", 50, 2)), into: client)
    _ = client.takeTold()
    let second = client.listen(query).rawValue
    #expect(client.takeTold() == ["listener \(second): cache [a b] +a +b"])
  }

  @Test("a new document that a synced query does not confirm is looked up")
  func limbo() throws {
    let client = try TestClient()
    client.listen(rooms)
    try client.fill(2, [found("rooms/a", 10)], at: 20)
    load(bundle(at: 30, ("b", 15, 15)), into: client)
    #expect(client.engine.activeLimboDocuments.keys.map(\.id) == ["b"])
  }

  @Test("what is wrong with a bundle is told, and the cache stays as it was")
  func malformed() throws {
    let good = bundle(at: 5, ("a", 1, 1), ("b", 1, 1))
    let cases: [(bytes: [UInt8], code: StatusCode, reason: String)] = [
      ([], .unknown, "empty"), (Array("hello".utf8), .invalidArgument, "element 1, at byte 0: its length"),
      (Array(good.dropLast()), .invalidArgument, "element 5"), (good + good, .invalidArgument, "metadata twice"),
      (bundle(at: 5, ("a", 1, 1), total: 2), .invalidArgument, "ends after 1 documents"),
      (bundle(at: 5, ("a", 1, 1), without: "document"), .invalidArgument, "element 3"),
      (bundle(at: 5, ("a", 1, 1), ("b", 1, 1), without: "document"), .invalidArgument, "element 3"),
      (bundle(at: 5, ("a", 1, 1), without: "documentMetadata"), .invalidArgument, "element 2"),
      (Array(good.drop { $0 != UInt8(ascii: "}") }), .invalidArgument, "element 1"),
    ]
    for (bytes, code, reason) in cases {
      let client = try TestClient()
      let steps = load(bytes, into: client, piece: 31)
      #expect(steps.last?.state == .failed)
      #expect(client.takeTold().last?.hasSuffix("\(code)") == true)
      #expect(client.logs.last?.1.contains(reason) == true, "\(client.logs.last?.1 ?? "")")
      client.request(.readDocument(key("rooms/a")))
      guard case .answer(_, .document(let document))? = client.answers.last else { continue }
      #expect(document.isUnknown)
    }
  }

  @Test("a storage failure is told, and the bundle can be loaded again")
  func storageFailure() throws {
    let client = try TestClient()
    client.failing = ["Apply bundle documents"]
    let steps = load(bundle(at: 5, ("a", 1, 1)), into: client)
    #expect(steps.map(\.state) == [.inProgress, .inProgress, .failed])
    #expect(steps.map(\.documentsLoaded) == [0, 1, 1])
    #expect(client.takeTold() == ["request 1: UNAVAILABLE"])
    client.failing = []
    #expect(load(bundle(at: 5, ("a", 1, 1)), into: client).last?.state == .success)
  }

  @Test("the progress that came before an error is told, however the bytes came", arguments: [1, 50, .max])
  func progressBeforeError(_ piece: Int) throws {
    let client = try TestClient()
    let steps = load(bundle(at: 5, ("a", 1, 1), ("b", 2, nil), total: 3), into: client, piece: piece)
    #expect(steps.map(\.documentsLoaded) == [0, 1, 2, 2])
    #expect(steps.map(\.state) == [.inProgress, .inProgress, .inProgress, .failed])
    let second = load(bundle(at: 6, ("a", 1, 1), ("b", 2, 2)) + Array("x".utf8), into: client, piece: piece)
    #expect(second.map(\.documentsLoaded) == [0, 1, 2, 2])
    #expect(second.last?.state == .failed)
    #expect(load(Array("2{}".utf8), into: client, piece: piece) == [.failed])
  }

  @Test("a source that fails ends the loading with its error")
  func sourceFails() throws {
    let client = try TestClient()
    let id = client.newRequestID()
    client.post(.bundleBytes(id, Array(bundle(at: 5, ("a", 1, 1)).prefix(200))))
    client.post(.bundleEnded(id, error(.unknown)))
    #expect(client.takeTold() == ["request \(id.rawValue): UNKNOWN"])
  }
}
