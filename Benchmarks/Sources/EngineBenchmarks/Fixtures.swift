internal import BenchmarkKit
internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthStore

/// A cache that was filled through one listener, and the same documents in a bare SQLite file. Made once per size.
enum Fixtures {
  static func make(size: Int, folder: String) throws {
    let samples = SampleDocuments(size)
    let cache = try Cache(folder: folder + "/cache")
    let target = try cache.store.allocateTarget(SampleDocuments.everything.target)
    for start in stride(from: 0, to: size, by: 1_000) {
      let documents = try (start..<min(start + 1_000, size)).map { try samples.document($0) }
      _ = try cache.store.apply(.adding(documents, to: target.targetID, isCurrent: true))
    }
    try cache.store.releaseTarget(target.targetID)
    try cache.compactLog()
    cache.close()

    let raw = try RawDatabase(path: folder + "/raw.sqlite")
    try raw.makeTable()
    try raw.execute("BEGIN")
    for index in 0..<size { try raw.insert(id: samples.id(index), fields: samples.fields(index).bytes) }
    try raw.execute("COMMIT")
    try raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }
}

/// The client's cache in a folder, as the client opens it.
final class Cache {
  let store: LocalStore
  private let opened: OpenedCache

  /// - Parameter isShared: True if other clients may open it too.
  init(folder: String, isShared: Bool = false) throws {
    var options = CacheFile.Options()
    if isShared { options = CacheFile.Options(sharing: .shared, clientName: UUID().uuidString) }
    opened = try CacheFile.open(folder: folder, databaseID: SampleDocuments.database, options: options)
    store = try LocalStore(
      database: opened.database, databaseID: SampleDocuments.database,
      garbageCollection: .leastRecentlyUsed(thresholdBytes: .max), user: nil, newCacheID: "benchmark",
      locks: opened.client)
    try store.start()
  }

  /// The file without the log, whose size is the same whatever was in it.
  var fileSizeBytes: Int { get throws { Int(try opened.database.fileSizeBytes) } }

  /// Moves everything from the log into the file, so that a benchmark does not pay for what came before.
  func compactLog() throws { try opened.database.execute("PRAGMA wal_checkpoint(TRUNCATE)") }

  func close() { opened.close() }
}

extension Session {
  /// A cache with the documents of this size, which the benchmark may change.
  func openCopyOfCache(isShared: Bool = false) throws -> Cache {
    try Cache(folder: copyOfCache(), isShared: isShared)
  }

  func copyOfCache() throws -> String {
    let copy = try makeFolder() + "/cache"
    try FileManager.default.copyItem(atPath: fixtures + "/cache", toPath: copy)
    return copy
  }

  func openEmptyCache() throws -> Cache { try Cache(folder: makeFolder()) }

  /// A bare database with the same documents, which the floor may change.
  func openCopyOfRaw(synchronous: String = "NORMAL") throws -> RawDatabase {
    let copy = try makeFolder() + "/raw.sqlite"
    try FileManager.default.copyItem(atPath: fixtures + "/raw.sqlite", toPath: copy)
    return try RawDatabase(path: copy, synchronous: synchronous)
  }

  func openEmptyRaw(synchronous: String = "NORMAL") throws -> RawDatabase {
    let raw = try RawDatabase(path: try makeFolder() + "/raw.sqlite", synchronous: synchronous)
    try raw.makeTable()
    return raw
  }
}

extension RemoteEvent {
  static func adding(_ documents: [Document], to target: TargetID, isCurrent: Bool) -> RemoteEvent {
    let keys = Set(documents.map(\.key))
    return RemoteEvent(
      snapshotVersion: documents.first?.version ?? SampleDocuments.firstVersion,
      targetChanges: [target: TargetChange(resumeToken: [1], isCurrent: isCurrent, added: keys)],
      documentUpdates: Dictionary(documents.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first }))
  }
}
