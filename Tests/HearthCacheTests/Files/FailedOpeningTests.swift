import Foundation
import HearthModel
import HearthStore
import Testing

@testable import HearthCache

/// A process gets the folder for itself after the others have given it back, and then cannot use it.
@Suite("A cache that another process cannot open")
struct FailedOpeningTests {
  private let folder = TemporaryFolder()
  private let full = StoreError(kind: .full, message: "the disk is full")

  /// - Parameters:
  ///   - failure: The error of the first transaction.
  ///   - start: Called when the client has taken its place among the others.
  private func open(
    _ sharing: CacheSharing = .shared, failure: StoreError? = nil, start: (LocalStore) throws -> Void = { _ in },
    report: (CacheRecovery) -> Void = { _ in }
  ) throws -> (cache: OpenedCache, store: LocalStore) {
    let endRequest = EndRequest()
    defer { endRequest.withdraw() }
    let options = CacheFile.Options(sharing: sharing, clientName: UUID().uuidString, endRequest: endRequest)
    return try CacheFile.openStore(
      folder: folder.path, databaseID: TestCache.databaseID, options: options, report: report
    ) {
      if let failure { throw failure }
      let store = try LocalStore(
        database: $0, databaseID: TestCache.databaseID, garbageCollection: TestCache.lru, user: nil,
        newCacheID: "cache", locks: $1)
      try start(store)
      return store
    }
  }

  /// The number that tells a holder whether another one had the folder for itself.
  private var number: Int? {
    get throws { Int(try String(contentsOfFile: folder.file("cache.lock"), encoding: .utf8)) }
  }

  /// Executes statements as another process would that has not opened the cache.
  private func execute(_ statements: String...) throws {
    let database = try Database(.file(path: folder.file("cache.sqlite")))
    defer { database.close() }
    for statement in statements { try database.execute(statement) }
  }

  private func expectFailure(_ kind: StoreError.Kind, _ body: () throws -> Void) throws {
    #expect(try #require(throws: StoreError.self) { try body() }.kind == kind)
  }

  @Test("a request whose file was removed with another request's is made again at the next call")
  func unlinkedRequest() throws {
    let (cache, _) = try open()
    defer { cache.close() }
    let request = EndRequest()
    defer { request.withdraw() }
    request.ask(clientsOf: folder.path)
    #expect(EndRequest.isOpen(in: folder.path))
    try FileManager.default.removeItem(atPath: folder.file(EndRequest.fileName))
    #expect(!EndRequest.isOpen(in: folder.path))
    request.ask(clientsOf: folder.path)
    #expect(EndRequest.isOpen(in: folder.path))
    request.withdraw()
    #expect(!EndRequest.isOpen(in: folder.path))
  }

  @Test("the disk is full before anything was stored: those who gave the folder back continue", arguments: 1...2)
  func fullDisk(_ failureCount: Int) throws {
    let (cache, store) = try open()
    defer { cache.close() }
    try store.write(.set(key("rooms/a"), [:]))
    cache.suspend()
    for _ in 0..<failureCount {
      try expectFailure(.full) { _ = try open(.takingOver, failure: full) }
    }
    #expect(try cache.resume())
    try store.write(.set(key("rooms/b"), [:]))
    #expect(try store.pendingBatchCount() == 2)
  }

  @Test("a migration that is rolled back leaves them their cache")
  func migration() throws {
    let (cache, store) = try open()
    defer { cache.close() }
    try store.write(.set(key("rooms/a"), [:]))
    // The tables of the release before; the migration cannot make a view that is there already.
    try execute(
      "ALTER TABLE index_definitions DROP COLUMN latest_use",
      "UPDATE schema_versions SET version = 2 WHERE component = 'store'", "CREATE VIEW migrated_tables AS SELECT 1")
    cache.suspend()
    for sharing in [CacheSharing.shared, .takingOver, .alone] { try expectFailure(.misuse) { _ = try open(sharing) } }
    #expect(try cache.resume())
    try store.write(.set(key("rooms/b"), [:]))
    #expect(try store.pendingBatchCount() == 2)
  }

  @Test("an older release that takes a newer file over leaves it to the clients of the newer one")
  func olderRelease() throws {
    let (cache, _) = try open()
    defer { cache.close() }
    cache.suspend()
    try execute("UPDATE schema_versions SET version = 99 WHERE component = 'cache'")
    try expectFailure(.newerSchema) { _ = try open(.takingOver) }
    #expect(try cache.resume())
  }

  @Test("a client of an older release does not mark the file of a newer one as damaged")
  func markOfOlderRelease() throws {
    let (cache, _) = try open()
    defer { cache.close() }
    try execute("UPDATE schema_versions SET version = 99 WHERE component = 'cache'")
    try cache.markDamaged("a page")
    #expect(cache.markedDamage == nil)
  }

  @Test("a damaged cache that another client recovers is not taken from those who gave the folder back")
  func recovered() throws {
    let (cache, store) = try open()
    defer { cache.close() }
    try store.write(.set(key("rooms/a"), [:]))
    try cache.markDamaged("a page")
    cache.suspend()
    let (other, otherStore) = try open()
    defer { other.close() }
    #expect(other.recovery?.savedBatchCount == 1)
    #expect(try cache.resume())
    // It finds the new file by itself.
    #expect(cache.lostFiles != nil)
    #expect(throws: (any Error).self) { try store.write(.set(key("rooms/b"), [:])) }
    #expect(try otherStore.pendingBatchCount() == 1)
  }

  @Test("what a recovery has lost is reported also if the client ends before it has started")
  func reportBeforeFailure() throws {
    let (cache, store) = try open()
    try store.write(.set(key("rooms/a"), [:]))
    try cache.markDamaged("a page")
    cache.close()
    var reports: [CacheRecovery] = []
    var wasInPlace: [Bool] = []
    try expectFailure(.full) {
      _ = try open(
        failure: full,
        report: {
          reports.append($0)
          wasInPlace.append(!FileManager.default.fileExists(atPath: $0.setAsidePath))
        })
    }
    #expect(reports.map(\.savedBatchCount) == [1] && wasInPlace == [true])
    // The next one finds a file in order, and has nothing to report.
    let (next, nextStore) = try open(report: { reports.append($0) })
    defer { next.close() }
    #expect(reports.count == 1 && next.recovery == nil)
    #expect(try nextStore.pendingBatchCount() == 1)
  }

  @Test("one that stored something before it failed had the cache", arguments: [CacheSharing.alone, .takingOver])
  func changed(_ sharing: CacheSharing) throws {
    let (cache, _) = try open()
    defer { cache.close() }
    cache.suspend()
    try expectFailure(.full) {
      _ = try open(sharing) {
        try $0.write(.set(key("rooms/b"), [:]))
        throw full
      }
    }
    #expect(try !cache.resume())
  }

  @Test("one that has opened the cache had it, also if it stored nothing")
  func opened() throws {
    let (cache, _) = try open()
    defer { cache.close() }
    cache.suspend()
    try open(.alone).cache.close()
    #expect(try !cache.resume())
  }

  @Test("a number that gets a digit more is written back too")
  func digits() throws {
    let (cache, _) = try open()
    defer { cache.close() }
    cache.suspend()
    for _ in 0..<9 { try open(.alone).cache.close() }
    #expect(try number == 9)
    try expectFailure(.full) { _ = try open(.alone, failure: full) }
    #expect(try number == 9)
    try open(.alone).cache.close()
    #expect(try number == 10)
  }

  @Test("deleting that removes no database leaves the cache, and deleting one ends it")
  func deleting() throws {
    let (cache, _) = try open()
    defer { cache.close() }
    cache.suspend()
    try FolderLock(folder: folder.path).release()
    #expect(try cache.resume())
    cache.suspend()
    try CacheFile.delete(folder: folder.path)
    #expect(try !cache.resume())
  }
}
