import Foundation
import HearthModel
import HearthStore
import Testing

@testable import HearthCache

/// Caches whose process was killed, so that the newest commits are in the write-ahead log only, and whose log is damaged then.
@Suite("Damaged logs")
struct DamagedLogTests {
  private static let writeCount: BatchID = 6
  private static let headerBytes = 32
  private static let frameHeaderBytes = 24
  private static let frameBytes = frameHeaderBytes + 8192

  private let folder = TemporaryFolder()

  private struct Files {
    var main: Data
    var log: Data

    /// The numbers of the frames that end a transaction, counted from 1.
    var commits: [Int] {
      let count = (log.count - headerBytes) / frameBytes
      return (1...count).filter { frame in
        let start = DamagedLogTests.start(ofFrame: frame) + 4
        return log[start..<start + 4].contains { $0 != 0 }
      }
    }

    mutating func flipBit(at offset: Int) { log[offset] ^= 1 }
  }

  private static func start(ofFrame frame: Int) -> Int { headerBytes + (frame - 1) * frameBytes }

  private func open() throws -> (cache: OpenedCache, store: LocalStore) {
    try CacheFile.openStore(folder: folder.path, databaseID: TestCache.databaseID) { database, _ in
      try LocalStore(
        database: database, databaseID: TestCache.databaseID, garbageCollection: TestCache.lru, user: "alice",
        newCacheID: "cache")
    }
  }

  /// The files of a client that was killed after some writes.
  private func filesOfKilledClient() throws -> Files {
    let (cache, store) = try open()
    defer { cache.close() }
    for number in 1...Self.writeCount { try store.write(.set(key("rooms/\(number)"), [:])) }
    let path = folder.file(CacheFile.fileName)
    return Files(
      main: try Data(contentsOf: URL(fileURLWithPath: path)),
      log: try Data(contentsOf: URL(fileURLWithPath: path + "-wal")))
  }

  private func put(_ files: Files) throws {
    for name in try folder.names() { try FileManager.default.removeItem(atPath: folder.file(name)) }
    let path = folder.file(CacheFile.fileName)
    try files.main.write(to: URL(fileURLWithPath: path))
    try files.log.write(to: URL(fileURLWithPath: path + "-wal"))
  }

  @Test("the writes behind a damaged frame are saved, and the file is set aside")
  func damagedFrames() throws {
    let files = try filesOfKilledClient()
    let commits = files.commits
    let last = try #require(commits.dropLast().last)
    // Not all of them: each recovery takes its time.
    for frame in stride(from: 0, to: last, by: 7) {
      var damaged = files
      damaged.flipBit(at: frame == 0 ? 17 : Self.start(ofFrame: frame) + Self.frameHeaderBytes + 4000)
      try put(damaged)
      let (cache, store) = try open()
      defer { cache.close() }
      let recovery = try #require(cache.recovery, "frame \(frame)")
      #expect(!recovery.isOutboxComplete && !recovery.areRejectedComplete)
      #expect(recovery.reason.contains(frame == 0 ? "the header" : "frame \(frame) "), "\(recovery.reason)")
      #expect(try store.pendingBatches().map(\.batchID) == Array(1...Self.writeCount), "frame \(frame)")
      #expect(try folder.names().filter { $0.contains("merged") || $0.contains("graft") } == [])
    }
  }

  @Test("a process that wants the cache for itself does not write into a damaged log that another one is about to save")
  func askedForWhileOpening() throws {
    var files = try filesOfKilledClient()
    files.flipBit(at: Self.start(ofFrame: files.commits[0]) + Self.frameHeaderBytes + 4000)
    try put(files)
    let opening = try FolderLock(folder: folder.path)
    let request = EndRequest()
    request.ask(clientsOf: folder.path)
    request.withdraw()
    opening.release()
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file(CacheFile.fileName + "-wal"))) == files.log)
    let (cache, store) = try open()
    defer { cache.close() }
    #expect(cache.recovery != nil)
    #expect(try store.pendingBatches().map(\.batchID) == Array(1...Self.writeCount))
  }

  @Test("what a client leaves that is killed during a commit is no damage", arguments: [true, false])
  func killedDuringCommit(isCutOff: Bool) throws {
    var files = try filesOfKilledClient()
    let commits = files.commits
    let last = try #require(commits.last)
    if isCutOff {
      files.log = files.log.prefix(Self.start(ofFrame: last) + 5000)
    } else {
      files.flipBit(at: Self.start(ofFrame: last) + 5000)
    }
    try put(files)
    let (cache, store) = try open()
    defer { cache.close() }
    #expect(cache.recovery == nil)
    #expect(try store.pendingBatches().map(\.batchID) == Array(1..<Self.writeCount))
  }

  @Test("what is left of an earlier use of the log is no damage")
  func earlierUse() throws {
    let (first, store) = try open()
    for number in 1...Self.writeCount { try store.write(.set(key("rooms/\(number)"), [:])) }
    // The log starts again over the former one.
    _ = try first.database.firstRow("PRAGMA wal_checkpoint(RESTART)") { try $0.int64(at: 0) }
    try store.write(.set(key("rooms/last"), [:]))
    let path = folder.file(CacheFile.fileName)
    let files = Files(
      main: try Data(contentsOf: URL(fileURLWithPath: path)),
      log: try Data(contentsOf: URL(fileURLWithPath: path + "-wal")))
    first.close()
    #expect(files.commits.count > Int(Self.writeCount))
    try put(files)
    let (cache, reopened) = try open()
    defer { cache.close() }
    #expect(cache.recovery == nil)
    #expect(try reopened.outbox.batchCount(of: "alice") == Int(Self.writeCount) + 1)
  }

  @Test("`hearth cache` says so, deletes nothing for what SQLite sees, and leaves the log to the client")
  func inspection() throws {
    var files = try filesOfKilledClient()
    files.flipBit(at: Self.start(ofFrame: 1) + 4000)
    try put(files)
    let report = try CacheCheck.run(folder: folder.path)
    #expect(!report.isSound && !report.isOutboxComplete && !report.isRejectedComplete)
    #expect(report.problems.contains { $0.contains("write-ahead log") }, "\(report.problems)")
    #expect(throws: CacheInspectionError.self) {
      try CacheMaintenance.clear(folder: folder.path, discardsPendingWrites: false, discardsRejectedWrites: true)
    }
    #expect(throws: CacheInspectionError.self) {
      try CacheMaintenance.collect(folder: folder.path, newCacheID: "new")
    }
    let (cache, store) = try open()
    defer { cache.close() }
    #expect(try store.pendingBatches().map(\.batchID) == Array(1...Self.writeCount))
  }
}
