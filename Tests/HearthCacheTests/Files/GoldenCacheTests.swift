import Foundation
import HearthModel
import HearthStore
import Testing

@testable import HearthCache

/// Files of caches as each version of the tables has left them, in Fixtures. Every later release has to open them all.
///
/// A change of the tables raises a version and gets a file of its own; the others stay:
///
///     HEARTH_GOLDEN_CACHE=write swift test --filter GoldenCacheTests
@Suite("Caches of all versions")
struct GoldenCacheTests {
  private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().appendingPathComponent("Fixtures")

  private static func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".cache") }.sorted()
  }

  private static let rooms = collection("rooms")
  private static let receipt = BatchIdentity(high: 7, low: 1)

  private static func open(_ folder: String, name: String) throws -> (cache: OpenedCache, store: LocalStore) {
    let opened = try CacheFile.openStore(
      folder: folder, databaseID: TestCache.databaseID,
      options: CacheFile.Options(checksWholeFile: true, sharing: .shared, clientName: name)
    ) { database, locks in
      let store = try LocalStore(
        database: database, databaseID: TestCache.databaseID, garbageCollection: TestCache.lru, user: nil,
        newCacheID: "golden", locks: locks)
      store.conflictRules = ConflictRules([ConflictRule(.collectionGroup("rooms"), .keepBoth)])
      return store
    }
    #expect(try opened.store.updateClient(wantsNetwork: true, isVisible: true) == .taken)
    return opened
  }

  // MARK: - Writing

  @Test("there is one for the present version")
  func present() throws {
    let temporary = TemporaryFolder()
    let (cache, store) = try Self.open(temporary.path, name: "writer")
    var versions: [String] = []
    try cache.database.forEachRow("SELECT component || '-' || version FROM schema_versions ORDER BY 1") {
      versions.append(try $0.string(at: 0))
      return true
    }
    let name = versions.joined(separator: "-") + ".cache"
    if ProcessInfo.processInfo.environment["HEARTH_GOLDEN_CACHE"] == "write" {
      try Self.fill(store)
      try store.leave()
      cache.close()
      try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
      let bytes = try Data(contentsOf: URL(fileURLWithPath: temporary.file(CacheFile.fileName)))
      try ZeroRuns.encode(bytes).write(to: Self.folder.appendingPathComponent(name))
    } else {
      cache.close()
    }
    #expect(try Self.names().contains(name), "Write it as the comment of this suite says.")
  }

  /// Something in every table that outlives its process.
  private static func fill(_ store: LocalStore) throws {
    try store.setIndexes([
      IndexDefinition(collectionGroup: "rooms", fields: [IndexDefinition.Field(path: field("n"), kind: .ascending)])
    ])
    let target = try store.allocateTarget(rooms.target).targetID
    try store.receive(
      found("rooms/a", 10, ["n": .integer(1)]), found("rooms/b", 10, ["n": .integer(2)]), at: 10, for: [target],
      token: "token")
    try store.receive(missing("rooms/gone", 10), at: 11)
    try store.releaseTarget(target)
    try store.pin(rooms)
    let bundled = BundledDocument(
      metadata: BundledDocumentMetadata(key: key("halls/a"), readTime: version(6), exists: true, queries: ["halls"]),
      document: found("halls/a", 6, ["n": .integer(7)]))
    _ = try store.apply(
      BundleMetadata(id: "bundle", createTime: version(6), version: 1, totalDocuments: 1, totalBytes: 1),
      documents: [bundled], queries: [NamedQuery(name: "halls", query: collection("halls"), readTime: version(6))])
    // An answered write with a receipt, and a refused one.
    let answered = LocalWrite(
      mutations: [.set(key("cellars/a"), ["n": .integer(8)])], localWriteTime: time(1), identity: receipt,
      keepsOutcome: true)
    _ = try store.write(many: [answered])
    try store.acknowledgeNext(at: 12)
    let refused = try store.write(.set(key("cellars/refused"), ["n": .integer(9)])).batchID
    _ = try store.reject(
      try store.batch(refused), StatusError(code: .permissionDenied, message: "the rules forbid it"), at: time(2))
    // The outboxes of two users. The first write may have been sent.
    let sent = try store.write(.set(key("rooms/a"), ["n": .integer(10)])).batchID
    try store.write(
      .patch(
        key("rooms/b"), [:], mask: .empty,
        transforms: [FieldTransform(path: field("n"), operation: .increment(.integer(5)))]))
    try store.write(.delete(key("halls/a")))
    _ = try store.noteSending(sent, reserving: 0)
    try store.noteSendingEnded(at: sent, reserved: sent, of: .activeUser)
    try store.noteFailedAttempt(at: [sent], StatusError(code: .unavailable, message: "no answer"))
    _ = try store.changeUser("alice")
    try store.write(.set(key("rooms/x"), ["n": .integer(3)]))
    _ = try store.changeUser(nil)
    while try store.advanceIndexFill() {}
  }

  // MARK: - Reading

  @Test("are opened, with all that is only in the cache, and go on", arguments: try Self.names())
  func golden(name: String) throws {
    let temporary = TemporaryFolder()
    try FileManager.default.createDirectory(atPath: temporary.path, withIntermediateDirectories: true)
    let bytes = try ZeroRuns.decode(try Data(contentsOf: Self.folder.appendingPathComponent(name)))
    try bytes.write(to: URL(fileURLWithPath: temporary.file(CacheFile.fileName)))
    let (cache, store) = try Self.open(temporary.path, name: "reader")
    #expect(cache.recovery == nil)
    try checkOutboxes(store)
    try checkDocuments(store)
    // It is written as well as read.
    let target = try store.allocateTarget(Self.rooms.target)
    #expect(target.resumeToken == Array("token".utf8) && target.snapshotVersion == version(10))
    try store.receive(found("rooms/d", 20, ["n": .integer(4)]), at: 20, for: [target.targetID])
    try store.acknowledgeNext(at: 21)
    try store.write(.set(key("rooms/new"), ["n": .integer(6)]))
    #expect(try store.found(Self.rooms) == ["rooms/a", "rooms/b", "rooms/d", "rooms/new"])
    _ = try store.collectGarbage(GarbageCollectionParameters(thresholdBytes: 0), isShown: { _ in false })
    #expect(store.reopening == nil)
    #expect(try cache.database.integrityProblems().isEmpty)
    try store.leave()
    cache.close()
  }

  private func checkOutboxes(_ store: LocalStore) throws {
    #expect(
      try store.pendingBatches().map { $0.keys.map(\.canonicalString) } == [["rooms/a"], ["rooms/b"], ["halls/a"]])
    #expect(try store.pendingBatches(of: .user("alice")).flatMap { $0.keys.map(\.canonicalString) } == ["rooms/x"])
    let sent = try #require(try store.pendingBatches().first).batchID
    #expect(try store.outbox.state(of: nil).sentThrough == sent)
    let refused = try store.outbox.rejectedBatches(of: nil)
    #expect(refused.map { $0.batch.keys.map(\.canonicalString) } == [["cellars/refused"]])
    #expect(refused.first?.error.code == .permissionDenied && refused.first?.rejectedAt == time(2))
    guard case .ended(.committed(version(12), _, _)) = try store.outbox.fate(of: Self.receipt) else {
      Issue.record("The outcome of the write with a receipt is not known.")
      return
    }
  }

  private func checkDocuments(_ store: LocalStore) throws {
    #expect(try store.read("rooms/a").values == ["n": .integer(10)])
    #expect(try store.read("rooms/b").values == ["n": .integer(7)])
    #expect(try store.read("rooms/gone").isMissing && store.read("halls/a").isMissing)
    #expect(try store.read("cellars/a").values == ["n": .integer(8)])
    #expect(try store.pinnedQueries() == [Self.rooms])
    #expect(try store.bundles.query(named: "halls")?.query == collection("halls"))
    #expect(try store.indexes.listings().map(\.definition.collectionGroup) == ["rooms"])
    #expect(try store.found(Self.rooms) == ["rooms/a", "rooms/b"])
    _ = try store.changeUser("alice")
    #expect(try store.found(Self.rooms) == ["rooms/a", "rooms/b", "rooms/x"])
    #expect(try store.read("rooms/b").values == ["n": .integer(2)])
    _ = try store.changeUser(nil)
  }
}

/// Bytes that are mostly zeros, as runs: the number of zeros, the number of other bytes, and those bytes.
private enum ZeroRuns {
  /// Fewer zeros take less space as they are.
  private static let shortestRun = 16

  static func encode(_ bytes: Data) -> Data {
    var result = Data()
    var place = 0
    while place < bytes.count {
      let zeros = bytes[place...].prefix { $0 == 0 }.count
      place += zeros
      let start = place
      var end = place
      while place < bytes.count, place - end < shortestRun {
        place += 1
        if bytes[place - 1] != 0 { end = place }
      }
      place = end
      append(zeros, to: &result)
      append(end - start, to: &result)
      result += bytes[start..<end]
    }
    return result
  }

  static func decode(_ runs: Data) throws -> Data {
    var result = Data()
    var rest = runs[...]
    while !rest.isEmpty {
      let zeros = try number(&rest)
      let count = try number(&rest)
      guard rest.count >= count else { throw CocoaError(.fileReadCorruptFile) }
      result += Data(count: zeros)
      result += rest.prefix(count)
      rest = rest.dropFirst(count)
    }
    return result
  }

  private static func append(_ number: Int, to data: inout Data) {
    for shift in [24, 16, 8, 0] { data.append(UInt8(truncatingIfNeeded: number >> shift)) }
  }

  private static func number(_ data: inout Data.SubSequence) throws -> Int {
    guard data.count >= 4 else { throw CocoaError(.fileReadCorruptFile) }
    defer { data = data.dropFirst(4) }
    return data.prefix(4).reduce(0) { $0 << 8 | Int($1) }
  }
}
