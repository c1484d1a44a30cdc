import Foundation
import HearthModel
import HearthStore
import TestSupport
import Testing

@testable import HearthCache

/// A process that was killed leaves its writes in the log, and SQLite reads a log only up to the first damage.
@Suite("A write-ahead log that is damaged anywhere")
struct DamagedLogPlacesTests {
  private static let frameBytes = 24 + PageDamage.pageBytes
  private static let writeCount = 12

  /// The files of a client that was killed after its writes.
  private struct Killed {
    let main: Data
    let log: Data
    /// The frames in the log at the end of each write.
    var frames: [Int] = []

    /// Puts the files into a folder of their own.
    func place(_ log: Data) throws -> TemporaryFolder {
      let folder = TemporaryFolder()
      try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
      try main.write(to: URL(fileURLWithPath: folder.file(CacheFile.fileName)))
      try log.write(to: URL(fileURLWithPath: folder.file(CacheFile.fileName + "-wal")))
      return folder
    }
  }

  private func makeKilled() throws -> Killed {
    let cache = try TestCache(.file)
    defer { cache.close() }
    let log = URL(fileURLWithPath: cache.folder.file(CacheFile.fileName + "-wal"))
    var frames: [Int] = []
    for number in 1...Self.writeCount {
      let write = LocalWrite(
        mutations: [.set(key("rooms/\(number)"), ["text": .string(String(repeating: "x", count: 400))])],
        localWriteTime: time(1), identity: BatchIdentity(high: 7, low: UInt64(number)))
      _ = try cache.store.write(many: [write])
      frames.append((try Data(contentsOf: log).count - 32) / Self.frameBytes)
    }
    return Killed(main: try cache.bytes(), log: try Data(contentsOf: log), frames: frames)
  }

  private func open(
    _ folder: TemporaryFolder, _ options: CacheFile.Options = CacheFile.Options(),
    _ body: (OpenedCache, LocalStore) throws -> Void
  ) throws {
    let (cache, store) = try CacheFile.openStore(
      folder: folder.path, databaseID: TestCache.databaseID, options: options
    ) { database, client in
      try LocalStore(
        database: database, databaseID: TestCache.databaseID, garbageCollection: TestCache.lru, user: nil,
        newCacheID: "new", locks: client)
    }
    defer { cache.close() }
    try body(cache, store)
  }

  private func flipped(_ log: Data, at offset: Int) -> Data {
    var log = log
    log[offset] ^= 0x10
    return log
  }

  @Test("hides no write that it holds, wherever it is damaged")
  func anywhere() throws {
    let killed = try makeKilled()
    let all = Array(BatchID(1)...BatchID(Self.writeCount))
    let last = killed.frames[Self.writeCount - 2]
    var offsets = [0, 5, 10, 13, 17, 21, 25, 31]
    for frame in 0..<killed.frames[Self.writeCount - 1] {
      // Page number, size, salt, checksum, and three places of the page.
      let places = [2, 6, 9, 18, 24 + 3, 24 + 4_000 + 13 * frame, 24 + 8_100]
      offsets.append(32 + frame * Self.frameBytes + places[frame % places.count])
    }
    for (index, offset) in offsets.enumerated() {
      let folder = try killed.place(flipped(killed.log, at: offset))
      // From the frame that ends the last commit but one.
      let isInLast = offset >= 32 + (last - 1) * Self.frameBytes
      let options = CacheFile.Options(sharing: index.isMultiple(of: 2) ? .alone : .shared, clientName: "a")
      try open(folder, options) { cache, store in
        let found = try store.pendingBatches().map(\.batchID)
        let lost = cache.recovery.map { $0.lostBatchCount + $0.setAsideBatchCount } ?? 0
        // Damage at the end cannot be told from an interruption. A page that is lost was counted.
        let isKept = found == all || isInLast && (found == all.dropLast() || found == all.dropLast(2))
        #expect(isKept || found.count + lost >= all.count, "\(offset): \(found), \(lost) lost")
        #expect(isInLast == (cache.recovery == nil), "\(offset)")
      }
    }
  }

  @Test("is not one that ends where a process was stopped")
  func interrupted() throws {
    let killed = try makeKilled()
    for (index, frames) in killed.frames.enumerated() {
      for more in [0, 1, 23, 24, 25, Self.frameBytes - 1] {
        let end = 32 + frames * Self.frameBytes + more
        guard end <= killed.log.count else { continue }
        let folder = try killed.place(killed.log.prefix(end))
        try open(folder) { cache, store in
          let count = try store.pendingBatches().count
          #expect(cache.recovery == nil && count == index + 1)
        }
      }
    }
  }

  @Test("is no damage if nothing of the outbox lies behind it, as after a loss of power")
  func documentsOnly() throws {
    let cache = try TestCache(.file)
    _ = try cache.store.write(many: [
      LocalWrite(
        mutations: [.set(key("rooms/1"), [:])], localWriteTime: time(1), identity: BatchIdentity(high: 1, low: 1))
    ])
    let path = cache.folder.file(CacheFile.fileName + "-wal")
    let place = try Data(contentsOf: URL(fileURLWithPath: path)).count
    for number in 1...4 { try cache.database.execute("UPDATE cache_globals SET highest_sequence_number = \(number)") }
    let main = try cache.bytes()
    let log = try Data(contentsOf: URL(fileURLWithPath: path))
    cache.close()
    #expect(log.count > place + Self.frameBytes)
    let folder = try Killed(main: main, log: log).place(flipped(log, at: place + 500))
    try open(folder) { cache, store in
      let count = try store.pendingBatches().count
      #expect(cache.recovery == nil && count == 1)
    }
  }
}
