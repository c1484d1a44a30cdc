import Foundation
import HearthModel
import HearthStore
import TestSupport
import Testing

@testable import HearthCache

/// The state of a cache is the one before the damage in its log, or the outbox is saved from what lies behind.
@Suite("The state behind a damaged write-ahead log")
struct DamagedLogStatesTests {
  private static let headerBytes = 32
  private static let frameBytes = 24 + PageDamage.pageBytes

  /// The files of a client that was killed.
  private struct Killed {
    var main: Data
    var log: Data

    init(_ folder: TemporaryFolder) throws {
      main = try Data(contentsOf: URL(fileURLWithPath: folder.file(CacheFile.fileName)))
      log = try Data(contentsOf: Self.log(folder))
    }

    private static func log(_ folder: TemporaryFolder) -> URL {
      URL(fileURLWithPath: folder.file(CacheFile.fileName + "-wal"))
    }

    /// Puts the files into a folder of their own.
    func place() throws -> TemporaryFolder {
      let folder = TemporaryFolder()
      try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
      try main.write(to: URL(fileURLWithPath: folder.file(CacheFile.fileName)))
      try log.write(to: Self.log(folder))
      return folder
    }
  }

  private func open(_ folder: TemporaryFolder, _ body: (OpenedCache, LocalStore) throws -> Void) throws {
    let (cache, store) = try CacheFile.openStore(folder: folder.path, databaseID: TestCache.databaseID) { database, _ in
      try LocalStore(
        database: database, databaseID: TestCache.databaseID, garbageCollection: TestCache.lru, user: nil,
        newCacheID: "new")
    }
    defer { cache.close() }
    try body(cache, store)
  }

  private func write(_ paths: String..., in store: LocalStore) throws {
    for path in paths {
      _ = try store.write(many: [
        LocalWrite(
          mutations: [.set(key(path), [:])], localWriteTime: time(1),
          identity: BatchIdentity(high: 1, low: UInt64(path.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) })))
      ])
    }
  }

  /// Commits that the backend can repeat.
  private func change(_ cache: TestCache, times count: Int) throws {
    // A page that stays as it was would not be written.
    for _ in 0..<count {
      try cache.database.execute("UPDATE cache_globals SET highest_sequence_number = highest_sequence_number + 1")
    }
  }

  private func logBytes(_ cache: TestCache) throws -> Int { try Killed(cache.folder).log.count }

  private func paths(_ store: LocalStore) throws -> [String] {
    try store.pendingBatches().flatMap { $0.keys.map(\.canonicalString) }
  }

  @Test(
    "one bit of the header hides no write, however few commits the log holds",
    arguments: [1, 3], [0, 3, 8, 16, 24, 31])
  func header(writes: Int, byte: Int) throws {
    let cache = try TestCache(.file)
    try cache.restart()
    for number in 1...writes { try write("rooms/\(number)", in: cache.store) }
    var killed = try Killed(cache.folder)
    cache.close()
    killed.log[byte] ^= 1
    try open(try killed.place()) { cache, store in
      #expect(cache.recovery?.reason.contains("the header") == true)
      let count = try paths(store).count
      #expect(count == writes)
    }
  }

  @Test("a batch that may have been sent does not count as one that was not", arguments: 0...1, [false, true])
  func sentMark(changesBefore: Int, isMigrated: Bool) throws {
    let cache = try TestCache(.file)
    if isMigrated { try makeTablesOfReleaseBefore(cache.database) }
    try write("rooms/1", in: cache.store)
    // The bytes of the mark itself, or of the frame before it.
    let place = try logBytes(cache)
    try change(cache, times: changesBefore)
    _ = try cache.store.noteSending(1, reserving: SentMarks.reservation)
    try change(cache, times: 2)
    var killed = try Killed(cache.folder)
    cache.close()
    killed.log[place + 500] ^= 1
    try open(try killed.place()) { _, store in
      let pending = try paths(store)
      #expect(pending == ["rooms/1"])
      #expect(throws: CacheError.self) {
        try store.withdraw(1, evenIfSent: false, StatusError(code: .cancelled, message: ""), at: .epoch)
      }
    }
  }

  @Test("a batch counts as sent if the conditions are damaged that it was sent with")
  func damagedGuards() throws {
    let cache = try TestCache(.file)
    cache.store.conflictRules = ConflictRules([ConflictRule(.collectionGroup("rooms"), .keepBoth)])
    try write("rooms/1", "rooms/2", in: cache.store)
    var batch = try cache.store.batch(2)
    batch.guards = [key("rooms/2"): .exists(false)]
    let place = try logBytes(cache)
    try cache.store.keepGuards(of: batch)
    #expect(try cache.store.outbox.lastBatchThatMayBeSent() == 0)
    try change(cache, times: 2)
    var killed = try Killed(cache.folder)
    cache.close()
    killed.log[place + 500] ^= 1
    try open(try killed.place()) { _, store in
      let (pending, last) = (try paths(store), try store.outbox.lastBatchThatMayBeSent())
      #expect(pending == ["rooms/1", "rooms/2"] && last == 2)
    }
  }

  @Test("a batch is sent again with the conditions that it was sent with")
  func guards() throws {
    let cache = try TestCache(.file)
    cache.store.conflictRules = ConflictRules([ConflictRule(.collectionGroup("rooms"), .keepBoth)])
    try write("rooms/1", in: cache.store)
    _ = try cache.store.noteSending(1, reserving: SentMarks.reservation)
    let place = try logBytes(cache)
    try change(cache, times: 1)
    var batch = try cache.store.batch(1)
    batch.guards = [key("rooms/1"): .exists(false)]
    try cache.store.keepGuards(of: batch)
    #expect(try cache.store.batch(1).guards == batch.guards)
    try change(cache, times: 2)
    var killed = try Killed(cache.folder)
    cache.close()
    killed.log[place + 500] ^= 1
    try open(try killed.place()) { _, store in
      let guards = try store.batch(1).guards
      #expect(guards == batch.guards)
    }
  }

  @Test("what a loss of power has left behind a gap does not come back over later writes")
  func openedWhileRead() throws {
    let cache = try TestCache(.file)
    try write("rooms/1", in: cache.store)
    let place = try logBytes(cache)
    try change(cache, times: 40)
    // It was never finished.
    try write("rooms/unfinished", in: cache.store)
    var killed = try Killed(cache.folder)
    cache.close()
    killed.log[place + 500] ^= 1
    let folder = try killed.place()

    // Another program reads the file when the client starts.
    let reader = try Database(.file(path: folder.file(CacheFile.fileName)))
    defer { reader.close() }
    func writeNew() throws -> Killed {
      var second: Killed?
      try open(folder) { _, store in
        try write("rooms/new", "rooms/cancelled", in: store)
        _ = try store.withdraw(3, evenIfSent: false, StatusError(code: .cancelled, message: ""), at: .epoch)
        second = try Killed(folder)
      }
      return try #require(second)
    }
    let second = try reader.readTransaction("Read") {
      _ = try reader.firstRow("SELECT highest_batch_id FROM cache_globals") { try $0.int64(at: 0) }
      return try? writeNew()
    }
    try open(try (second ?? writeNew()).place()) { cache, store in
      let pending = try paths(store)
      #expect(pending == ["rooms/1", "rooms/new"])
      #expect(cache.recovery == nil)
    }
  }

  private func makeTablesOfReleaseBefore(_ database: Database) throws {
    try database.execute("ALTER TABLE index_definitions DROP COLUMN latest_use")
    try database.execute("UPDATE schema_versions SET version = 2 WHERE component = 'store'")
  }

  @Test("tables are migrated only when the log behind a gap is empty")
  func migratedWhileRead() throws {
    let cache = try TestCache(.file)
    try makeTablesOfReleaseBefore(cache.database)
    try write("rooms/1", in: cache.store)
    let place = try logBytes(cache)
    try change(cache, times: 4)
    var killed = try Killed(cache.folder)
    cache.close()
    killed.log[place + 500] ^= 1
    let folder = try killed.place()

    let reader = try Database(.file(path: folder.file(CacheFile.fileName)))
    defer { reader.close() }
    func version() throws -> Int64? {
      try reader.firstRow("SELECT version FROM schema_versions WHERE component = 'store'") { try $0.int64(at: 0) }
    }
    try reader.readTransaction("Read") {
      _ = try version()
      #expect(throws: StoreError.self) { try open(folder) { _, _ in } }
    }
    #expect(try version() == 2)
    try open(folder) { cache, store in
      let pending = try paths(store)
      #expect(pending == ["rooms/1"] && cache.recovery == nil)
    }
    #expect(try version() == 3)
  }

  @Test("a resume token is not ahead of the documents if what lies behind the damage is in the file already")
  func movedIntoFile() throws {
    let cache = try TestCache(.file)
    let target = try cache.store.allocateTarget(collection("rooms").target).targetID
    try cache.store.receive(found("rooms/1", 10, ["n": .integer(1)]), at: 10, for: [target], token: "a")
    try cache.database.truncateLog()
    // The document, for another query.
    try cache.store.receive(found("rooms/1", 20, ["n": .integer(2)]), at: 20)
    let place = try logBytes(cache)
    for step in Int64(3)...6 {
      try cache.store.receive(
        found("rooms/1", step * 10, ["n": .integer(step)]), at: step * 10, for: [target], token: "\(step)")
    }
    _ = try cache.database.firstRow("PRAGMA wal_checkpoint(PASSIVE)") { try $0.int64(at: 0) }
    var killed = try Killed(cache.folder)
    cache.close()
    killed.log[place + 500] ^= 1
    try open(try killed.place()) { cache, store in
      guard cache.recovery == nil else { return }
      let document = try store.readDocument(key("rooms/1"))
      let token = try cache.database.firstRow("SELECT resume_token FROM cache_targets") { try $0.bytes(at: 0) }
      #expect(token == Array("a".utf8) || document.version >= version(60), "\(document), \(token ?? [])")
    }
  }

  @Test("no write is lost that was stored before the damage, although its row was moved to another page")
  func movedRows() throws {
    let cache = try TestCache(.file)
    let count = 9
    var frames: [Int] = []
    for number in 1...count {
      let write = LocalWrite(
        mutations: [.set(key("rooms/\(number)"), ["text": .string(String(repeating: "x", count: 1_500))])],
        localWriteTime: time(1), identity: BatchIdentity(high: 7, low: UInt64(number)))
      _ = try cache.store.write(many: [write])
      frames.append((try logBytes(cache) - Self.headerBytes) / Self.frameBytes)
    }
    let killed = try Killed(cache.folder)
    cache.close()
    // The sixth write does not fit into the page of those before it.
    for frame in frames[4]..<frames[6] {
      var damaged = killed
      damaged.log[Self.headerBytes + frame * Self.frameBytes + 24 + 4_000] ^= 1
      let before = try #require(frames.lastIndex { $0 <= frame }) + 1
      try open(try damaged.place()) { cache, store in
        let found = Set(try store.pendingBatches().map(\.batchID))
        let lost = (1...BatchID(before)).filter { !found.contains($0) }
        #expect(lost.isEmpty, "frame \(frame): \(lost) of \(before), \(cache.recovery?.description ?? "-")")
      }
    }
  }
}
