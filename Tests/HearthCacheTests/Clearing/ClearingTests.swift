import Foundation
import HearthModel
import HearthStore
import Testing

@testable import HearthCache

@Suite("Clearing a part of the cache")
struct ClearingTests {
  private static let tiny = ClearingRun.StepLimits(targets: 1, keys: 1, documents: 1, documentBytes: 1, pages: 1)

  /// Two rooms and a message below one of them, of a query that nobody listens to any more, and a hall.
  private func makeCache(_ backing: Backing = .memory) throws -> TestCache {
    let cache = try TestCache(backing, user: "alice")
    let id = try cache.store.allocateTarget(collection("rooms").target).targetID
    try cache.store.receive(
      found("rooms/a", 3, ["n": 1]), found("rooms/b", 4, ["n": 2]), found("rooms/a/messages/m", 5, [:]),
      found("halls/h", 6, ["n": 1]), at: 10, for: [id], token: "t10")
    try cache.store.notifyLocalViewChanges([LocalViewChanges(targetID: id, isFromCache: false)])
    try cache.store.releaseTarget(id)
    return cache
  }

  @discardableResult
  private func clear(
    _ cache: TestCache, _ scope: ClearingScope, isSecure: Bool = false, _ limits: ClearingRun.StepLimits = .init(),
    isShown: (DocumentKey) -> Bool = { _ in false }
  ) throws -> ClearingReport {
    var run = ClearingRun(scope, isSecure: isSecure, limits: limits)
    while !run.isFinished {
      try cache.store.advance(&run, isShown: isShown)
      if run.awaitsReaders, run.report.stepCount > 1_000 { run.giveUpErasing() }
    }
    return run.report
  }

  private func paths(_ cache: TestCache) throws -> [String] {
    try cache.store.tables.documents.page(
      of: .everything(under: ResourcePath()), after: nil, limit: 100, byteLimit: .max
    )
    .documents.map(\.key.canonicalString)
  }

  @Test(
    "each scope takes its documents and no others",
    arguments: [
      (ClearingScope.everything, []),
      (.document(key("rooms/a"), includesSubcollections: false), ["halls/h", "rooms/b", "rooms/a/messages/m"]),
      (.document(key("rooms/a"), includesSubcollections: true), ["halls/h", "rooms/b"]),
      (.collection(path("rooms"), includesSubcollections: false), ["halls/h", "rooms/a/messages/m"]),
      (.collection(path("rooms"), includesSubcollections: true), ["halls/h"]),
      (.collectionGroup("messages"), ["halls/h", "rooms/a", "rooms/b"]),
      (
        .query(collection("rooms").with(filter: .field(FieldFilter(path: field("n"), op: .equal, value: 1)))),
        ["halls/h", "rooms/b", "rooms/a/messages/m"]
      ),
      (.documents([key("rooms/b"), key("rooms/none")]), ["halls/h", "rooms/a", "rooms/a/messages/m"]),
    ], [ClearingRun.StepLimits(), tiny])
  func scopes(_ expected: (scope: ClearingScope, left: [String]), _ limits: ClearingRun.StepLimits) throws {
    let cache = try makeCache()
    defer { cache.close() }
    let report = try clear(cache, expected.scope, limits)
    #expect(Set(try paths(cache)) == Set(expected.left))
    #expect(report.removedDocumentCount == 4 - expected.left.count)
  }

  @Test("after any step no resume token is ahead of the documents", arguments: [true, false])
  func tokens(_ isWhole: Bool) throws {
    for stepCount in 1...12 {
      let cache = try makeCache()
      defer { cache.close() }
      var run = ClearingRun(
        isWhole ? .everything : .collection(path("rooms"), includesSubcollections: true), isSecure: false,
        limits: Self.tiny)
      for _ in 0..<stepCount where !run.isFinished { try cache.store.advance(&run) { _ in false } }
      let data = try cache.store.targetData(for: collection("rooms").target)
      let stored = Set(try paths(cache))
      if let data, !data.resumeToken.isEmpty {
        #expect(stored.isSuperset(of: ["rooms/a", "rooms/b"]), "after \(stepCount) steps")
      }
      // A listen that begins then does not take its documents for the whole result.
      let again = try cache.store.allocateTarget(collection("rooms").target)
      #expect(stored.isSuperset(of: ["rooms/a", "rooms/b"]) || again.resumeToken.isEmpty)
      #expect(stored.isSuperset(of: ["rooms/a", "rooms/b"]) || again.lastLimboFreeSnapshotVersion == .none)
      #expect(try cache.store.confirmedKeys(for: again.targetID).allSatisfy { stored.contains($0.canonicalString) })
    }
  }

  @Test("pending writes of any user and what is listened to stay, and are counted")
  func spared() throws {
    let cache = try makeCache()
    defer { cache.close() }
    let store = cache.store
    try store.write(.patch(key("rooms/a"), ["n": 9], mask: mask("n")))
    _ = try store.changeUser(nil)
    let inUse = try store.allocateTarget(Query(path: path("halls/h")).target).targetID
    try store.receive(found("halls/h", 6, ["n": 1]), at: 12, for: [inUse], token: "t12")
    let report = try clear(cache, .everything) { $0 == key("rooms/a/messages/m") }
    #expect(try Set(paths(cache)) == ["halls/h", "rooms/a", "rooms/a/messages/m"])
    #expect((report.removedDocumentCount, report.pendingDocumentCount, report.listenedDocumentCount) == (1, 1, 2))
    #expect(try store.targetData(for: Query(path: path("halls/h")).target)?.resumeToken == [UInt8]("t12".utf8))
    _ = try store.changeUser("alice")
    #expect(try store.read("rooms/a").values == ["n": 9])
    #expect(try store.acknowledgeNext(at: 20)[key("rooms/a")]?.values == ["n": 9])
  }

  @Test(
    "documents that only the outboxes hold are counted once each, whoever has written them",
    arguments: [ClearingRun.StepLimits(), tiny])
  func writtenOnly(_ limits: ClearingRun.StepLimits) throws {
    let cache = try makeCache()
    defer { cache.close() }
    let store = cache.store
    try store.write(.set(key("users/alice"), ["n": 1]))
    try store.write(.set(key("users/alice/notes/1"), ["n": 1]))
    try store.write(.set(key("users/alice/notes/1"), ["n": 2]))
    _ = try store.changeUser("bob")
    try store.write(.set(key("users/alice/notes/1"), ["n": 3]))
    try store.write(.set(key("users/bob"), ["n": 1]))
    _ = try store.changeUser(nil)
    func pending(_ scope: ClearingScope) throws -> Int { try clear(cache, scope, limits).pendingDocumentCount }
    #expect(try pending(.document(key("users/alice"), includesSubcollections: true)) == 2)
    #expect(try pending(.document(key("users/alice"), includesSubcollections: false)) == 1)
    #expect(try pending(.collectionGroup("notes")) == 1)
    #expect(try pending(.collection(path("rooms"), includesSubcollections: true)) == 0)
    func query(_ value: Int64) -> ClearingScope {
      .query(
        collection("users/alice/notes").with(
          filter: .field(FieldFilter(path: field("n"), op: .equal, value: .integer(value)))))
    }
    #expect(try pending(query(3)) == 1)
    #expect(try pending(query(1)) == 0)
    #expect(try pending(.everything) == 3)
  }

  @Test("an age spares what the backend has confirmed since, also without sending it")
  func age() throws {
    let cache = try makeCache()
    defer { cache.close() }
    let store = cache.store
    try store.receive(found("rooms/old", 1, [:]), at: 11)
    try store.receive(found("rooms/young", 2, [:]), at: 40)
    let again = try store.allocateTarget(collection("rooms").target).targetID
    try store.receive(at: 400_000_000, for: [again], token: "t400")
    try store.releaseTarget(again)
    var scope = ClearingScope.collection(path("rooms"), includesSubcollections: true)
    scope.confirmedBefore = version(30)
    try clear(cache, scope)
    #expect(Set(try paths(cache)) == ["halls/h", "rooms/a", "rooms/a/messages/m", "rooms/b", "rooms/young"])
  }

  @Test("a bundle can be loaded again after its documents were cleared")
  func bundles() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    let metadata = BundleMetadata(id: "b", createTime: version(50), version: 1, totalDocuments: 1, totalBytes: 1)
    func load() throws -> DocumentMap {
      try cache.store.apply(
        metadata,
        documents: [
          BundledDocument(
            metadata: BundledDocumentMetadata(key: key("rooms/a"), readTime: version(50), exists: true, queries: []),
            document: found("rooms/a", 3, [:]))
        ], queries: [])
    }
    #expect(try load().count == 1)
    #expect(try load().isEmpty)
    try clear(cache, .collectionGroup("rooms"))
    #expect(try paths(cache).isEmpty)
    #expect(try load().count == 1)
  }

  @Test("index entries go with the documents")
  func indexEntries() throws {
    let cache = try makeCache(.file)
    defer { cache.close() }
    try cache.store.setIndexes([
      IndexDefinition(collectionGroup: "rooms", fields: [IndexDefinition.Field(path: field("n"), kind: .ascending)])
    ])
    while try cache.store.advanceIndexFill() {}
    try clear(cache, .collection(path("rooms"), includesSubcollections: false))
    let query = collection("rooms").with(filter: .field(FieldFilter(path: field("n"), op: .equal, value: 1)))
    #expect(try cache.store.found(query) == [])
    #expect(try cache.dump().filter { $0.hasPrefix("index_entries") }.isEmpty)
    #expect(try cache.database.integrityProblems() == [])
  }

  @Test("a run that fails at any statement can be continued, and leaves no token ahead of the documents")
  func failures() throws {
    let count = try {
      let cache = try makeCache(.file)
      defer { cache.close() }
      return try cache.statementSteps { try clear(cache, .everything, isSecure: true) }
    }()
    for index in stride(from: 0, to: count, by: 3) {
      let cache = try makeCache(.file)
      defer { cache.close() }
      var run = ClearingRun(.everything, isSecure: true)
      func finish() throws {
        while !run.isFinished { try cache.store.advance(&run) { _ in false } }
      }
      let hasFailed = cache.failing(atStatement: index) { try finish() }
      #expect(hasFailed || run.report.isErased)
      try finish()
      #expect(try paths(cache).isEmpty && run.report.isErased)
      #expect(run.report.removedDocumentCount == 4)
    }
  }

  // MARK: - Secure clearing

  private func occurrences(of text: String, in folder: TemporaryFolder) throws -> [String] {
    try folder.names().filter { name in
      let data = FileManager.default.contents(atPath: folder.file(name)) ?? Data()
      return data.range(of: Data(text.utf8)) != nil
    }
  }

  @Test("nothing of what was cleared is left in the files, nor of what was deleted before")
  func secure() throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    let store = cache.store
    try store.setIndexes([
      IndexDefinition(collectionGroup: "rooms", fields: [IndexDefinition.Field(path: field("text"), kind: .ascending)])
    ])
    let id = try store.allocateTarget(collection("rooms").target).targetID
    func receive(_ texts: [String], at microseconds: Int64) throws {
      for (number, text) in texts.enumerated() {
        // Some are larger than a page.
        let rest = String(repeating: "x", count: number % 10 == 0 ? 20_000 : 300)
        try store.receive(
          found("rooms/\(text)", microseconds, ["text": .string(text), "rest": .string(text + rest)]),
          at: microseconds, for: [id], token: "t")
      }
    }
    try receive((0..<120).map { "earlier-secret-\($0)" }, at: 10)
    while try store.advanceIndexFill() {}
    // Deleted by the backend in the ordinary way, half of them, so that pages are merged; and written before, with an overlay.
    for number in stride(from: 0, to: 120, by: 2) {
      try store.receive(missing("rooms/earlier-secret-\(number)", 20), at: 20, for: [id], token: "t")
    }
    try store.write(.set(key("rooms/pending-secret"), ["text": "pending-secret"]))
    try store.acknowledgeNext(at: 25)
    try receive((0..<60).map { "later-secret-\($0)" }, at: 30)
    try store.receive(found("halls/kept", 40, ["text": "kept-text"]), at: 40)
    try store.releaseTarget(id)
    #expect(try !occurrences(of: "secret", in: cache.folder).isEmpty)

    let report = try clear(cache, .collection(path("rooms"), includesSubcollections: true), isSecure: true)
    #expect(report.isErased && report.removedDocumentCount > 100)
    #expect(try occurrences(of: "secret", in: cache.folder) == [])
    #expect(try occurrences(of: "kept-text", in: cache.folder) == ["cache.sqlite"])
    #expect(try store.read("halls/kept").isFound)
    #expect(try cache.database.integrityProblems() == [])
    try cache.restart()
    #expect(try cache.store.read("halls/kept").isFound)
  }

  @Test(
    "nor of what the backend has answered to writes, whose outcomes stay known",
    arguments: [ClearingRun.StepLimits(), tiny])
  func secureOutcomes(_ limits: ClearingRun.StepLimits) throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    let store = cache.store
    func write(_ number: UInt64, _ mutation: Mutation) throws -> BatchIdentity {
      let identity = BatchIdentity(high: 7, low: number)
      let write = LocalWrite(
        mutations: [mutation], localWriteTime: .epoch, identity: identity, keepsOutcome: true)
      _ = try store.write(many: [write])
      return identity
    }
    let sum = FieldTransform(path: field("n"), operation: .increment(.double(1)))
    let counted = try write(.max, .patch(key("rooms/a"), [:], mask: .empty, precondition: .none, transforms: [sum]))
    // As bytes the text "a secret".
    let secret = Double(bitPattern: [UInt8]("a secret".utf8).reversed().reduce(0) { $0 << 8 | UInt64($1) })
    try store.acknowledgeNext(at: 20, transformResults: [[.double(secret)]])
    let refused = try write(1, .set(key("rooms/a secret"), [:]))
    let batch = try #require(try store.nextMutationBatch(after: -1))
    _ = try store.reject(batch, StatusError(code: .permissionDenied, message: "not at rooms/a secret"))
    try store.discardRejected(nil, of: nil)
    #expect(try !occurrences(of: "a secret", in: cache.folder).isEmpty)
    let report = try clear(cache, .collection(path("rooms"), includesSubcollections: true), isSecure: true, limits)
    #expect(report.isErased && report.removedDocumentCount == 1)
    #expect(try occurrences(of: "a secret", in: cache.folder) == [])
    #expect(try store.outbox.fate(of: counted) == .ended(.committed(version(20), [])))
    #expect(try store.outbox.fate(of: refused) == .ended(.failed(StatusError(code: .permissionDenied, message: ""))))
  }

  @Test("while another connection reads an older state the log cannot be emptied, which the report says")
  func readerInTheWay() throws {
    let cache = try makeCache(.file)
    defer { cache.close() }
    let snapshot = try PinnedSnapshot(of: cache.database)
    var run = ClearingRun(.everything, isSecure: true)
    while !run.awaitsReaders { try cache.store.advance(&run) { _ in false } }
    try cache.store.advance(&run) { _ in false }
    #expect(run.awaitsReaders && !run.report.isErased)
    snapshot.close()
    try cache.store.advance(&run) { _ in false }
    #expect(run.isFinished && run.report.isErased)
  }

  @Test("the outbox is saved from a file that was rewritten and whose list of tables is lost later")
  func damageAfterRewriting() throws {
    let folder = TemporaryFolder()
    for isShared in [false, true] {
      let place = folder.file("\(isShared)")
      func open() throws -> (OpenedCache, LocalStore) {
        let opened = try CacheFile.openStore(
          folder: place, databaseID: TestCache.databaseID,
          options: CacheFile.Options(sharing: isShared ? .shared : .alone, clientName: isShared ? "c" : nil)
        ) { database, files in
          try LocalStore(
            database: database, databaseID: TestCache.databaseID, garbageCollection: TestCache.lru, user: nil,
            newCacheID: "c", locks: files)
        }
        return (opened.cache, opened.store)
      }
      let (opened, store) = try open()
      for number in 0..<20 { try store.write(.set(key("rooms/\(number)"), [:])) }
      var run = ClearingRun(.everything, isSecure: true)
      while !run.isFinished { try store.advance(&run) { _ in false } }
      #expect(run.report.pendingDocumentCount == 20 && run.report.isErased)
      opened.close()
      // The rows of the list of tables, behind the header of the file.
      let file = place + "/" + CacheFile.fileName
      let handle = try #require(FileHandle(forWritingAtPath: file))
      try handle.seek(toOffset: 100)
      try handle.write(contentsOf: Data(repeating: 0xAB, count: 8_000))
      try handle.close()
      let (recovered, again) = try open()
      #expect(recovered.recovery?.savedBatchCount == 20, "\(isShared)")
      #expect(try again.pendingBatchCount() == 20)
      recovered.close()
    }
  }
}
