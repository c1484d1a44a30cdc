import Foundation
import HearthModel
import HearthStore
import Testing

@testable import HearthCache

@Suite("Looking into a cache")
struct CacheInspectionTests {
  @Test("the overview names database, schema, sizes, users and pending writes")
  func overview() throws {
    let folder = try InspectedFolder()
    let overview = try folder.read { try $0.overview() }
    #expect(overview.databaseID == TestCache.databaseID)
    #expect(overview.cacheID == "inspected")
    #expect(overview.schema.map(\.name) == ["cache", "database", "store"])
    #expect(overview.fileBytes > 0 && overview.usedBytes <= overview.fileBytes)
    #expect(overview.users.map(\.id) == [nil, "alice"])
    #expect(overview.users.map(\.pending.batches) == [2, 1])
    #expect(overview.estimatedDocumentCount ?? 0 >= 10)
    #expect(overview.targetCount == 1)
    #expect(overview.exclusiveUse == nil && overview.clients.isEmpty)
  }

  @Test("the overview costs the same, however many documents there are")
  func overviewCost() throws {
    let folder = try InspectedFolder()
    func steps() throws -> Int {
      try folder.read { cache in
        var count = 0
        cache.database.injectFailure = { _ in
          count += 1
          return nil
        }
        _ = try cache.overview()
        return count
      }
    }
    let before = try steps()
    let (cache, store) = try InspectedFolder.open(folder.folder)
    var event = RemoteEvent(snapshotVersion: version(1_000))
    for number in 0..<2_000 {
      let document = found("cities/more\(number)", 900, ["n": .integer(Int64(number))])
      event.documentUpdates[document.key] = document
    }
    _ = try store.apply(event)
    cache.close()
    #expect(try folder.read { try $0.overview().estimatedDocumentCount ?? 0 } >= 2_000)
    #expect(try steps() == before && before < 100)
  }

  @Test("the documents of collections are counted exactly, also after a clearing, and without reading their fields")
  func counted() throws {
    let folder = try InspectedFolder()
    func counts(_ viewpoint: CacheInspection.Viewpoint) throws -> [String: Int] {
      try folder.read { cache in
        Dictionary(
          uniqueKeysWithValues: try cache.collections(as: viewpoint).map { ($0.path.canonicalString, $0.documentCount) }
        )
      }
    }
    #expect(try counts(.backend) == ["cities": 10])
    #expect(try counts(.user(nil)) == ["cities": 10, "towns": 0])
    _ = try CacheMaintenance.clear(
      folder: folder.path, scope: .document(key("cities/c5"), includesSubcollections: false), isSecure: false,
      clientName: "clear", progress: { _ in }, waitsForReaders: { true })
    #expect(try counts(.backend) == ["cities": 9])
    #expect(try folder.read { try $0.overview().estimatedDocumentCount } == 10)
    let database = try Database(.file(path: folder.file))
    try database.execute("UPDATE documents SET fields = x'FF' WHERE id = 'c4'")
    database.close()
    #expect(try counts(.backend) == ["cities": 9])
    let keys = try folder.read { try $0.documentKeys(in: collectionPath("cities"), as: .user(nil), limit: 100) }
    #expect(Set(keys.map(\.id)) == Set([0, 1, 3, 4, 6, 7, 8, 9].map { "c\($0)" }))
  }

  private func collectionPath(_ text: String) throws -> ResourcePath { try ResourcePath(parsing: text) }

  @Test("resolved conflicts are listed and counted with their user, also those that cannot be read")
  func conflicts() throws {
    let folder = try InspectedFolder()
    func list(of user: String?? = nil) throws -> [ConflictEntry] {
      var entries: [ConflictEntry] = []
      try folder.read {
        try $0.forEachResolvedConflict(of: user) {
          entries.append($0)
          return true
        }
      }
      return entries
    }
    #expect(try list().isEmpty)
    #expect(try folder.read { try $0.overview().resolvedConflictCount } == 0)
    let (cache, store) = try InspectedFolder.open(folder.folder)
    // Reports are kept for writes that can be named.
    let id = try store.write(
      [.set(key("cities/c1"), ["n": 1])], localWriteTime: time(70), identity: BatchIdentity(high: 7, low: 1)
    ).batchID
    let batch = try #require(try store.pendingBatches().first { $0.batchID == id })
    let reports = [
      ConflictReport(
        key: key("cities/c1"), ending: .merged,
        fields: [.init(path: field("n"), base: 1, local: 100, remote: nil, kept: .remote)]),
      ConflictReport(key: key("cities/c2"), ending: .both(copy: key("cities/c2-1")), isDeletedLocally: true),
    ]
    let outcome = LocalStore.ConflictOutcome(
      mutations: batch.mutations, remote: [:], bases: LocalStore.BatchBases(bases: [:]), reports: reports)
    _ = try store.resolveConflict(batch, outcome, of: .activeUser, at: time(77))
    cache.close()
    let entries = try list()
    let listed = entries.compactMap { if case .conflict(let conflict) = $0.contents { conflict.report } else { nil } }
    #expect(listed == reports && entries.allSatisfy { $0.owner == .nobody })
    #expect(try list(of: .some(nil)) == entries)
    #expect(try list(of: .some("alice")).isEmpty)
    let lines = entries.map { $0.json { _ in "value" }.compact }
    #expect(
      lines.first?.hasSuffix(
        #""document":"cities/c1","outcome":"merged","isDeletedLocally":false,"isDeletedRemotely":false,"#
          + #""fields":[{"name":"n","base":"value","local":"value","kept":"remote"}]}"#) == true, "\(lines)")
    #expect(lines.last?.contains(#""outcome":"keptBoth","copy":"cities/c2-1","isDeletedLocally":true"#) == true)
    let database = try Database(.file(path: folder.file))
    try database.execute("UPDATE cache_resolved_conflicts SET conflict = x'FF' WHERE ordinal = 0")
    try database.execute("UPDATE cache_resolved_conflicts SET user_key = 'Nobody' WHERE ordinal = 1")
    database.close()
    let damaged = try list()
    #expect(damaged.map(\.owner) == [.nobody, nil])
    #expect(damaged.allSatisfy { if case .unreadable = $0.contents { true } else { false } })
    let overview = try folder.read { try $0.overview() }
    #expect(overview.resolvedConflictCount == 2 && overview.users.first?.resolvedConflictCount == 1)
  }

  @Test("refused batches are listed with their user, their error and the time")
  func rejected() throws {
    let folder = try InspectedFolder()
    let (cache, store) = try InspectedFolder.open(folder.folder)
    let batch = try #require(try store.pendingBatches().first)
    let error = StatusError(code: .permissionDenied, message: "no")
    _ = try store.reject(batch, error, at: time(77))
    cache.close()
    var entries: [RejectedEntry] = []
    func list(of user: String??) throws -> [RejectedEntry] {
      entries = []
      try folder.read {
        try $0.forEachRejectedBatch(of: user) {
          entries.append($0)
          return true
        }
      }
      return entries
    }
    let expected = RejectedEntry(
      batchID: batch.batchID, owner: .nobody, contents: .batch(batch), error: error, rejectedAt: time(77))
    #expect(try list(of: nil) == [expected])
    #expect(try list(of: .some(nil)) == [expected])
    #expect(try list(of: .some("alice")).isEmpty)
    #expect(expected.json { _ in .null }.compact.contains("\"code\":\"PERMISSION_DENIED\""))
  }

  /// A cache without targets that keeps one refused write and has nothing else with a name in it.
  private func makeRefused() throws -> TemporaryFolder {
    let folder = TemporaryFolder()
    let (cache, store) = try InspectedFolder.open(folder)
    defer { cache.close() }
    let id = try store.write(.patch(key("orders/1"), ["n": 3], mask: mask("n"))).batchID
    _ = try store.reject(store.batch(id), StatusError(code: .notFound, message: "none"), at: time(7))
    return folder
  }

  private func rejected(_ folder: TemporaryFolder) throws -> [OutboxEntry.Contents] {
    try CacheInspection.read(folder: folder.path) { cache in
      var contents: [OutboxEntry.Contents] = []
      try cache.forEachRejectedBatch {
        contents.append($0.contents)
        return true
      }
      return contents
    }
  }

  @Test(
    "the cache itself names its database, and a refused write is read with that", arguments: [true, false])
  func databaseName(_ isNamed: Bool) throws {
    let folder = try makeRefused()
    if !isNamed {
      // As a client of an earlier release has left it.
      let database = try Database(.file(path: folder.file(CacheFile.fileName)))
      try database.execute("DROP TABLE cache_database")
      try database.execute("DELETE FROM schema_versions WHERE component = 'database'")
      database.close()
    }
    guard case .batch(let batch) = try #require(try rejected(folder).first) else {
      return #expect(Bool(false), "unreadable")
    }
    #expect(batch.mutations.map(\.key) == [key("orders/1")])
    let overview = try CacheInspection.read(folder: folder.path) { try $0.overview() }
    #expect(overview.databaseID == TestCache.databaseID)
    #expect(overview.rejected.batches == 1 && overview.users.map(\.rejected.batches) == [1])
    #expect(overview.json.compact.contains("\"rejectedBatches\":1"))
  }

  @Test("an empty cache has its name from its first start, and exports a bundle")
  func emptyCache() throws {
    let folder = TemporaryFolder()
    try InspectedFolder.open(folder).0.close()
    #expect(try CacheInspection.read(folder: folder.path) { $0.databaseID } == TestCache.databaseID)
    // A tool that opens it changes nothing of that.
    _ = try CacheMaintenance.collect(folder: folder.path, newCacheID: "new")
    #expect(try CacheInspection.read(folder: folder.path) { $0.databaseID } == TestCache.databaseID)
    var text = ""
    let export = CacheExport(format: .bundle, viewpoint: .backend, collection: nil)
    #expect(try export.run(folder: folder.path, createTime: time(1), line: { _, _ in "" }) { text += $0 } == 0)
    #expect(text.contains("\"totalDocuments\":0"))
  }

  @Test("a name that is not a database's is replaced at the next start", arguments: ["''", "'a/b'", "x'FF'", "7"])
  func damagedName(_ value: String) throws {
    let folder = try makeRefused()
    let database = try Database(.file(path: folder.file(CacheFile.fileName)))
    try database.execute("UPDATE cache_database SET project = \(value)")
    database.close()
    try InspectedFolder.open(folder).0.close()
    #expect(try CacheInspection.read(folder: folder.path) { $0.databaseID } == TestCache.databaseID)
  }

  @Test("a document whose writes are all acknowledged is not pending, for every reader and every way to look")
  func acknowledged() throws {
    let folder = try InspectedFolder()
    let (cache, store) = try InspectedFolder.open(folder.folder)
    while try store.nextMutationBatch(after: -1) != nil { try store.acknowledgeNext(at: 900) }
    cache.close()
    func documents(_ viewpoint: CacheInspection.Viewpoint) throws -> [Document] {
      try folder.read { cache in
        var documents: [Document] = []
        try cache.forEachDocument(in: .everything(under: ResourcePath()), as: viewpoint) { documents.append($0) }
        documents += try cache.run(collection("cities"), as: viewpoint).documents
        documents.append(try cache.document(for: key("towns/t1"), as: viewpoint))
        return documents
      }
    }
    for viewpoint in [CacheInspection.Viewpoint.backend, .user(nil)] {
      let documents = try documents(viewpoint)
      #expect(documents.count > 15 && !documents.contains(where: \.hasLocalMutations))
    }
    // The other user's write still waits.
    #expect(try documents(.user("alice")).contains(where: \.hasLocalMutations))
  }

  @Test("nothing in the folder changes, and no file is made in it")
  func readsOnly() throws {
    let folder = try InspectedFolder()
    let before = try folder.contents()
    try folder.read {
      _ = try $0.overview()
      _ = try $0.indexes()
      try $0.forEachPendingBatch { _ in true }
    }
    #expect(try CacheCheck.run(folder: folder.path).isSound)
    #expect(try folder.contents() == before)
  }

  @Test("a cache that a client has open and writes is read, with all that is committed")
  func whileInUse() throws {
    let folder = TemporaryFolder()
    let (cache, store) = try InspectedFolder.open(folder)
    defer { cache.close() }
    for number in 1...5 {
      try store.write(.set(key("cities/c\(number)"), ["n": .integer(Int64(number))]))
      let (overview, count) = try CacheInspection.read(folder: folder.path) {
        (try $0.overview(), try $0.run(collection("cities"), as: .user(nil)).documents.count)
      }
      #expect(overview.exclusiveUse != nil && overview.pending.batches == number && count == number)
    }
  }

  @Test("what a client writes while an inspection reads is not part of what it reads, and the client does not wait")
  func oneState() throws {
    let folder = TemporaryFolder()
    let (cache, store) = try InspectedFolder.open(folder)
    defer { cache.close() }
    try store.write(.set(key("cities/c1"), ["n": 1]))
    let counts = try CacheInspection.read(folder: folder.path) { inspection in
      let before = try inspection.overview().pending.batches
      try store.write(.set(key("cities/c2"), ["n": 2]))
      return (before, try inspection.overview().pending.batches)
    }
    #expect(counts == (1, 1))
    #expect(try CacheInspection.read(folder: folder.path) { try $0.overview().pending.batches } == 2)
  }

  @Test("a client that opens a closed cache while it is read makes the reading begin again")
  func openedMeanwhile() throws {
    let folder = try InspectedFolder()
    var (calls, opened): (Int, OpenedCache?) = (0, nil)
    let pending = try folder.read { inspection in
      calls += 1
      if calls == 1 {
        let (cache, store) = try InspectedFolder.open(folder.folder)
        opened = cache
        try store.write(.set(key("cities/c9"), ["n": 9]))
      }
      return try inspection.overview().pending.batches
    }
    #expect(calls == 2 && pending == 4)
    opened?.close()
  }

  @Test(
    "a cache whose process was killed is read with what is only in its log, and the log stays",
    arguments: [true, false])
  func killed(_ hasLogIndex: Bool) throws {
    let folder = TemporaryFolder()
    let (cache, store) = try InspectedFolder.open(folder)
    defer { cache.close() }
    try store.write(.set(key("cities/c1"), ["n": 1]))
    // The files that a process leaves if it ends now.
    let copy = TemporaryFolder()
    try FileManager.default.createDirectory(atPath: copy.path, withIntermediateDirectories: true)
    let names = ["cache.sqlite", "cache.sqlite-wal"] + (hasLogIndex ? ["cache.sqlite-shm"] : [])
    for name in names { try FileManager.default.copyItem(atPath: folder.file(name), toPath: copy.file(name)) }
    func bytes(_ name: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: copy.file(name))) }
    let before = try [bytes("cache.sqlite"), bytes("cache.sqlite-wal")]
    #expect(before[1].count > 0)
    for _ in 0..<2 {
      #expect(try CacheInspection.read(folder: copy.path) { try $0.overview().pending.batches } == 1)
    }
    #expect(try CacheCheck.run(folder: copy.path).saved.batches == 1)
    #expect(try [bytes("cache.sqlite"), bytes("cache.sqlite-wal")] == before)
  }

  @Test("clients of a shared cache are listed with their user, alive or not")
  func clients() throws {
    let folder = TemporaryFolder()
    let (first, firstStore) = try InspectedFolder.open(folder, .shared, client: "first")
    let (second, _) = try InspectedFolder.open(folder, .shared, client: "second")
    _ = try firstStore.changeUser("alice")
    var clients = try CacheInspection.read(folder: folder.path) { try $0.overview().clients }
    #expect(clients.map(\.name) == ["first", "second"])
    #expect(clients.map(\.user) == ["alice", nil] && clients.allSatisfy(\.isAlive))
    // Where the system tells it.
    if LockHolder.processID(path: folder.file("cache.client-first")) != nil {
      #expect(clients.map(\.processID) == [getpid(), getpid()])
    }
    second.client?.suspend()
    clients = try CacheInspection.read(folder: folder.path) { try $0.overview().clients }
    #expect(clients.map(\.isAlive) == [true, false])
    #expect(clients[1].processID == nil)
    #expect(try folder.names().contains("cache.client-second"), "an inspection buries nobody")
    second.close()
    first.close()
  }

  @Test("the outbox lists the batches of all users, or of one, in order")
  func outbox() throws {
    let folder = try InspectedFolder()
    func entries(_ user: String??) throws -> [OutboxEntry] {
      try folder.read {
        var entries: [OutboxEntry] = []
        try $0.forEachPendingBatch(of: user) {
          entries.append($0)
          return true
        }
        return entries
      }
    }
    #expect(try entries(nil).map(\.batchID) == [1, 2, 3])
    #expect(try entries("alice").map(\.batchID) == [3])
    #expect(try entries(.some(nil)).map(\.batchID) == [1, 2])
    guard case .batch(let batch) = try entries(nil)[0].contents else { return #expect(Bool(false), "unreadable") }
    #expect(batch.mutations.map(\.operationName) == ["set", "delete"])
  }

  @Test("a batch that cannot be read is listed with the reason, and the others too")
  func unreadableBatch() throws {
    let folder = try InspectedFolder()
    let database = try Database(.file(path: folder.file))
    try database.execute("UPDATE cache_mutation_batches SET batch = x'0801ff' WHERE batch_id = 2")
    database.close()
    var lines: [String] = []
    try folder.read {
      try $0.forEachPendingBatch {
        lines.append($0.json { _ in .null }.compact)
        return true
      }
    }
    #expect(lines.count == 3 && lines[1].contains("\"unreadable\":"))
    let report = try CacheCheck.run(folder: folder.path)
    #expect(report.problems.contains { $0.contains("Batch 2") })
    #expect(report.saved.batches == 2 && report.unreadableBatchCount == 1)
    #expect(try "\(folder.read { try $0.overview().pending })" == "3 writes in 3 batches, 1 of them unreadable")
  }

  @Test("documents are shown as a user sees them, or as the backend has confirmed them")
  func viewpoints() throws {
    let folder = try InspectedFolder()
    func n(_ path: String, _ viewpoint: CacheInspection.Viewpoint) throws -> Value? {
      try folder.read { try $0.document(for: key(path), as: viewpoint) }.values?["n"]
    }
    #expect(try n("cities/c1", .user(nil)) == 100)
    #expect(try n("cities/c1", .backend) == 1)
    #expect(try n("cities/c2", .user(nil)) == nil)
    #expect(try n("cities/c3", .user("alice")) == 33)
    #expect(try n("cities/c3", .user("bob")) == 3)
    #expect(try folder.read { try $0.document(for: key("cities/none"), as: .backend) }.isUnknown)
    let mine = try folder.read { try $0.collectionPaths(as: .user(nil)) }
    #expect(mine.map(\.canonicalString) == ["cities", "towns"])
    #expect(try folder.read { try $0.collectionPaths(as: .backend) }.map(\.canonicalString) == ["cities"])
    var exported: [String] = []
    try folder.read {
      try $0.forEachDocument(in: .everything(under: ResourcePath()), as: .user(nil)) {
        exported.append($0.key.canonicalString)
      }
    }
    #expect(exported.sorted() == (0..<10).filter { $0 != 2 }.map { "cities/c\($0)" } + ["towns/t1"])
  }

  @Test("a query gives the documents and the plan of a client")
  func queries() throws {
    let folder = try InspectedFolder()
    let query = collection("cities").with(filter: .field(field("n"), .greaterThanOrEqual, 8))
      .with(order: OrderBy(path: field("n"), direction: .descending))
    let (documents, execution) = try folder.read { try $0.run(query, as: .user(nil), clock: { .zero }) }
    #expect(documents.map(\.key.id) == ["c1", "c9", "c8"])
    let (cache, store) = try InspectedFolder.open(folder.folder)
    defer { cache.close() }
    let expected = try store.queries.explain(query, clock: { .zero })
    #expect(execution == expected)
    #expect(try folder.read { try $0.indexes() } == store.indexes.listings())
  }

  @Test("a result that leaves out what the waiting write of another user is about is no beginning for a query")
  func waitingWriteOfAnother() throws {
    let folder = TemporaryFolder()
    let query = collection("cities").with(
      filter: .field(FieldFilter(path: field("n"), op: .greaterThanOrEqual, value: 0)))
    let (cache, store) = try InspectedFolder.open(folder)
    for number in 0..<4 { try store.receive(found("cities/c\(number)", 50, ["n": 1]), at: 100) }
    _ = try store.changeUser("alice")
    try store.write(.patch(key("cities/c3"), ["n": 33], mask: mask("n")))
    // Her view shows c3 although the backend has not sent it; for her that is in order.
    let target = try store.allocateTarget(query.target).targetID
    for number in 0..<3 {
      try store.receive(found("cities/c\(number)", 60, ["n": 2]), at: 200, for: [target], token: "t")
    }
    try store.notifyLocalViewChanges([LocalViewChanges(targetID: target, isFromCache: false)])
    try store.releaseTarget(target)
    cache.close()
    for viewpoint in [CacheInspection.Viewpoint.user("alice"), .user("bob"), .user(nil), .backend] {
      let (documents, execution) = try CacheInspection.read(folder: folder.path) { try $0.run(query, as: viewpoint) }
      #expect(documents.map(\.key.id).sorted() == ["c0", "c1", "c2", "c3"], "\(viewpoint): \(execution)")
    }
  }
}
