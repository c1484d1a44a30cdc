import Foundation
import HearthModel
import HearthStore
import Testing

@testable import HearthCache

@Suite("The cache's file")
struct CacheFileTests {
  private let folder = TemporaryFolder()

  private func open(checksWholeFile: Bool = false) throws -> OpenedCache {
    try CacheFile.open(
      folder: folder.path, databaseID: TestCache.databaseID,
      options: CacheFile.Options(checksWholeFile: checksWholeFile))
  }

  private func makeStore(_ cache: OpenedCache, user: String? = nil, newCacheID: String = "first") throws -> LocalStore {
    try LocalStore(
      database: cache.database, databaseID: TestCache.databaseID, garbageCollection: TestCache.lru, user: user,
      newCacheID: newCacheID)
  }

  private func error(_ body: () throws -> Void) throws -> StoreError {
    try #require(throws: StoreError.self) { try body() }
  }

  @Test("is made with its folders, and opened again")
  func create() throws {
    let deep = folder.path + "/a/b"
    for round in 0..<2 {
      let cache = try CacheFile.open(folder: deep, databaseID: TestCache.databaseID)
      #expect(cache.recovery == nil)
      let store = try makeStore(cache)
      #expect(try store.pendingBatchCount() == round)
      try store.write(.set(key("rooms/a"), [:]))
      cache.close()
    }
  }

  @Test("belongs to one opener at a time")
  func lock() throws {
    let cache = try open()
    let refused = try error { _ = try open() }
    #expect(refused.kind == .unavailable && refused.message.contains(folder.path))
    #expect(try error { try CacheFile.delete(folder: folder.path) }.kind == .unavailable)
    #expect(cache.database.isOpen)
    cache.close()
    try open().close()
  }

  @Test("cannot be where a file is, or where nobody may write")
  func unusableFolder() throws {
    try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    let file = folder.file("file")
    try Data("x".utf8).write(to: URL(fileURLWithPath: file))
    for place in [file, file + "/below"] {
      let refused = try error { _ = try CacheFile.open(folder: place, databaseID: TestCache.databaseID) }
      #expect(refused.kind == .cannotOpen && refused.message.contains(place))
      #expect(refused.message.contains("\"\(file)\" is a file, not a folder"), "\(refused.message)")
    }
    // A superuser may write everywhere; /proc refuses even that one.
    if FileManager.default.fileExists(atPath: "/proc/self") {
      let refused = try error { _ = try CacheFile.open(folder: "/proc/hearth", databaseID: TestCache.databaseID) }
      #expect(refused.kind == .cannotOpen && refused.message.contains("/proc/hearth"))
    }
  }

  @Test(
    "of a newer release, or from before the first one, is refused and left as it is",
    arguments: [
      ["UPDATE schema_versions SET version = 99 WHERE component = 'cache'"],
      ["UPDATE schema_versions SET version = 99 WHERE component = 'store'"],
      // The tables had components of their own, and "cache" had come to version 2.
      [
        "UPDATE schema_versions SET version = 2 WHERE component = 'cache'",
        """
        INSERT INTO schema_versions VALUES ('bundles', 1), ('collection', 2), ('indexes', 1), ('overlays', 1),
          ('unreadable batches', 1)
        """,
        "ALTER TABLE cache_users ADD COLUMN stream_token BLOB NOT NULL DEFAULT x''",
      ],
    ])
  func otherSchema(statements: [String]) throws {
    let cache = try open()
    try makeStore(cache).write(.set(key("rooms/a"), [:]))
    for statement in statements { try cache.database.execute(statement) }
    cache.close()
    let before = try Data(contentsOf: URL(fileURLWithPath: folder.file(CacheFile.fileName)))
    let refused = try error { _ = try open() }
    #expect(refused.kind == .newerSchema && refused.message.contains(folder.path), "\(refused.message)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file(CacheFile.fileName))) == before)
    #expect(try folder.names().filter { $0.contains("corrupt") } == [])
  }

  @Test("of a newer release is not recovered, although it is damaged", arguments: [true, false])
  func damagedFileOfNewerRelease(isMarked: Bool) throws {
    let cache = try open()
    try makeStore(cache).write(.set(key("rooms/a"), [:]))
    try cache.database.execute("UPDATE schema_versions SET version = 99 WHERE component = 'cache'")
    // A column that has another name in the newer release.
    try cache.database.execute("ALTER TABLE cache_targets RENAME COLUMN sequence_number TO s")
    if isMarked { try cache.markDamaged("a page was damaged") }
    cache.close()
    let before = try folder.names()
    #expect(try error { _ = try open() }.kind == .newerSchema)
    #expect(try folder.names() == before)
  }

  @Test("of a newer release is not recovered, although its list of tables is lost")
  func newerReleaseWithoutTableList() throws {
    let cache = try open()
    let store = try makeStore(cache)
    for path in ["cache/a", "store/a", "rooms/a"] { try store.write(.set(key(path), [:])) }
    try cache.database.execute("UPDATE schema_versions SET version = 2 WHERE component = 'cache'")
    cache.close()
    try loseTableList()
    let before = try Data(contentsOf: URL(fileURLWithPath: folder.file(CacheFile.fileName)))
    let refused = try error { _ = try open() }
    #expect(refused.kind == .newerSchema && refused.message.contains("\"cache\""), "\(refused.message)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file(CacheFile.fileName))) == before)
  }

  @Test("whose collections have the names of its components is recovered when its list of tables is lost")
  func collectionsNamedLikeComponents() throws {
    let cache = try open()
    let store = try makeStore(cache)
    for (version, name) in zip(Int64(1)..., ["a", "b", "c", "cache", "store"]) {
      try store.receive(found("\(name)/a", version, [:]), at: version)
    }
    try store.write(.set(key("rooms/a"), [:]))
    cache.close()
    try loseTableList()
    let reopened = try open()
    #expect(reopened.recovery?.savedBatchCount == 1)
    reopened.close()
  }

  /// Overwrites all pages on which the list of tables lies, but the header of the file.
  private func loseTableList() throws {
    let file = URL(fileURLWithPath: folder.file(CacheFile.fileName))
    var bytes = try Data(contentsOf: file)
    let pageBytes = 8192
    for page in 0..<bytes.count / pageBytes {
      let range = page * pageBytes + (page == 0 ? 100 : 0)..<(page + 1) * pageBytes
      guard page == 0 || bytes[range].range(of: Data("CREATE TABLE".utf8)) != nil else { continue }
      bytes.replaceSubrange(range, with: Data(repeating: 0xA5, count: range.count))
    }
    try bytes.write(to: file)
  }

  @Test("has its tables at the same pages as every other new one")
  func sameTables() throws {
    func tables(_ database: Database) throws -> [String] {
      var tables: [String] = []
      try database.forEachRow("SELECT name || ' ' || rootpage FROM sqlite_master ORDER BY rowid") {
        tables.append(try $0.string(at: 0))
        return true
      }
      return tables
    }
    let cache = try open()
    defer { cache.close() }
    let other = TemporaryFolder()
    let second = try CacheFile.open(folder: other.path, databaseID: TestCache.databaseID)
    defer { second.close() }
    #expect(try tables(cache.database) == tables(second.database))
    let components = try cache.database.firstRow("SELECT group_concat(component || version) FROM schema_versions") {
      try $0.string(at: 0)
    }
    #expect(components == "cache1,store3")
  }

  @Test("that is no database is set aside and replaced")
  func notADatabase() throws {
    try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    let text = Data(String(repeating: "This is a letter to my aunt. ", count: 400).utf8)
    for _ in 1...2 {
      try? FileManager.default.removeItem(atPath: folder.file(CacheFile.fileName))
      try text.write(to: URL(fileURLWithPath: folder.file(CacheFile.fileName)))
      let cache = try open()
      let recovery = try #require(cache.recovery)
      let aside = folder.file("cache.sqlite.corrupt")
      #expect(recovery.setAsidePath == aside && recovery.savedBatchCount == 0 && !recovery.isOutboxComplete)
      #expect(try Data(contentsOf: URL(fileURLWithPath: aside)) == text)
      try makeStore(cache).write(.set(key("rooms/a"), [:]))
      cache.close()
    }
  }

  @Test("that is damaged is set aside, and the outbox is saved from it under its old names")
  func salvage() throws {
    do {
      let cache = try open()
      let store = try makeStore(cache)
      try store.receive(found("rooms/a", 3, ["n": .integer(1)]), at: 3)
      try store.write(.patch(key("rooms/a"), ["m": .integer(2)], mask: mask("m"), precondition: .none))
      _ = try store.changeUser("alice")
      try store.write(.set(key("rooms/b"), ["by": .string("alice")]))
      let last = try store.write(.delete(key("rooms/c"))).batchID
      try store.write(.set(key("rooms/gone"), [:]))
      try cache.database.execute("UPDATE cache_mutation_batches SET batch = X'FFFF' WHERE batch_id = \(last)")
      try cache.database.execute("DROP TABLE cache_targets")
      cache.close()
    }
    let cache = try open()
    defer { cache.close() }
    let recovery = try #require(cache.recovery)
    #expect(recovery.savedBatchCount == 3 && recovery.setAsideBatchCount == 1 && recovery.isOutboxComplete)
    #expect(recovery.description.contains(recovery.setAsidePath))
    let store = try makeStore(cache, newCacheID: "second")
    #expect(store.cacheID == "first")
    #expect(try store.pendingBatches().map(\.batchID) == [1])
    #expect(try store.read("rooms/a").values == ["m": .integer(2)])
    _ = try store.changeUser("alice")
    #expect(try store.pendingBatches().map(\.batchID) == [2, 4])
    #expect(try store.found(collection("rooms")) == ["rooms/b", "rooms/gone"])
    #expect(try store.write(.set(key("rooms/new"), [:])).batchID == 5)
    #expect(try folder.names().contains("cache.sqlite.corrupt"))
  }

  @Test("with overwritten pages opens without a crash, and keeps what can be read of the outbox")
  func damagedPages() throws {
    let written = 16
    do {
      let cache = try open()
      let store = try makeStore(cache)
      for index in 0..<written {
        try store.write(.set(key("rooms/\(index)"), ["text": .string(String(repeating: "x", count: 3000))]))
      }
      cache.close()
    }
    let file = folder.file(CacheFile.fileName)
    let healthy = try Data(contentsOf: URL(fileURLWithPath: file))
    let pageBytes = 8192
    for page in 0..<healthy.count / pageBytes {
      for name in try folder.names() where name != "cache.lock" {
        try FileManager.default.removeItem(atPath: folder.file(name))
      }
      var damaged = healthy
      // In the first page everything behind the header of the file.
      let start = page * pageBytes + (page == 0 ? 100 : 0)
      damaged.replaceSubrange(start..<(page + 1) * pageBytes, with: Data(repeating: 0xA5, count: 64))
      damaged.append(Data(repeating: 0xA5, count: healthy.count - damaged.count))
      try damaged.write(to: URL(fileURLWithPath: file))
      let cache = try open(checksWholeFile: true)
      let recovery = try #require(cache.recovery, "page \(page)")
      let store = try makeStore(cache)
      let kept = try store.pendingBatches()
      #expect(kept.count == recovery.savedBatchCount && kept.count <= written)
      for batch in kept {
        let name = try #require(batch.keys.first)
        #expect(name == key("rooms/\(batch.batchID - 1)"))
        #expect(try store.readDocument(name).hasLocalMutations)
      }
      cache.close()
    }
  }

  @Test("a recovery that was cut off goes on where it was")
  func interruptedRecovery() throws {
    do {
      let cache = try open()
      try makeStore(cache).write(.set(key("rooms/a"), [:]))
      cache.close()
    }
    let files = CacheFiles(folder: folder.path)
    // Cut off while the new file was being made: the old one is still what counts.
    try Data("unfinished".utf8).write(to: URL(fileURLWithPath: files.replacement))
    do {
      let cache = try open()
      #expect(cache.recovery == nil)
      #expect(try makeStore(cache).pendingBatchCount() == 1)
      cache.close()
    }
    // Cut off after the old one was set aside: the new one takes its place, and the old one's log does not.
    try FileManager.default.copyItem(atPath: files.main, toPath: files.replacement)
    try FileManager.default.moveItem(atPath: files.main, toPath: files.main + ".corrupt")
    try Data("old log".utf8).write(to: URL(fileURLWithPath: files.main + "-wal"))
    let cache = try open()
    #expect(cache.recovery == nil)
    #expect(try makeStore(cache).pendingBatchCount() == 1)
    cache.close()
    #expect(try folder.names().filter { $0.contains(".new") } == [])
  }

  @Test(
    "a recovery whose new file still needs its log sets nothing aside, and starts again at the next opening",
    arguments: [StoreError.Kind.full, .unavailable])
  func replacementWithLog(failure: StoreError.Kind) throws {
    do {
      let cache = try open()
      try makeStore(cache).write(.set(key("rooms/a"), [:]))
      try cache.database.execute("DROP TABLE cache_targets")
      cache.close()
    }
    let files = CacheFiles(folder: folder.path)
    let before = try Data(contentsOf: URL(fileURLWithPath: files.main))
    let replacement = try Database(.file(path: files.replacement))
    try SalvagedOutbox(reading: files.main, databaseID: TestCache.databaseID)
      .save(to: replacement, databaseID: TestCache.databaseID)
    let reader = try Database(.file(path: files.replacement), options: Database.Options(isReadOnly: true))
    try reader.readTransaction("Read new file") {
      _ = try reader.firstRow("SELECT count(*) FROM cache_users") { try $0.int64(at: 0) }
      if failure == .full {
        let full = StoreError(kind: .full, message: "the disk is full")
        replacement.injectFailure = { $0 == .statement("PRAGMA wal_checkpoint(TRUNCATE)") ? full : nil }
      }
      #expect(try error { try files.replaceMain(by: replacement) {} }.kind == failure)
    }
    reader.keepLogAtClose()
    reader.close()
    #expect(try Data(contentsOf: URL(fileURLWithPath: files.main)) == before)
    #expect(try folder.names().filter { $0.hasPrefix("cache.sqlite.corrupt") } == [])
    let cache = try open()
    defer { cache.close() }
    #expect(cache.recovery?.savedBatchCount == 1)
    #expect(try makeStore(cache).pendingBatchCount() == 1)
    #expect(try folder.names().filter { $0.contains(".new") } == [])
  }

  @Test("is deleted with everything that was set aside, and only when it is closed")
  func delete() throws {
    try CacheFile.delete(folder: folder.path)
    let cache = try open()
    try makeStore(cache).write(.set(key("rooms/a"), [:]))
    cache.close()
    try Data().write(to: URL(fileURLWithPath: folder.file("cache.sqlite.corrupt")))
    try Data().write(to: URL(fileURLWithPath: folder.file("mine.txt")))
    try CacheFile.delete(folder: folder.path)
    #expect(try folder.names() == ["cache.lock", "mine.txt"])
    let again = try open()
    defer { again.close() }
    #expect(try makeStore(again, newCacheID: "new").cacheID == "new")
  }
}
