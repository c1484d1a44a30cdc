import Foundation
import HearthModel
import HearthStore
import Testing

@testable import HearthCache

@Suite("Collection and the file")
struct CollectionFileTests {
  private static let everything = CollectionParameters(thresholdBytes: 0, percentile: 100)

  private func fill(_ cache: TestCache, _ count: Int) throws {
    let id = try cache.store.allocateTarget(collection("rooms").target).targetID
    for start in stride(from: 0, to: count, by: 500) {
      var event = RemoteEvent(snapshotVersion: version(Int64(start) + 1))
      for number in start..<min(start + 500, count) {
        let document = found("rooms/\(number)", 3, ["text": .string(String(repeating: "\(number) ", count: 300))])
        event.documentUpdates[document.key] = document
      }
      event.targetChanges[id] = TargetChange(
        resumeToken: [1], isCurrent: true, added: Set(event.documentUpdates.keys))
      _ = try cache.store.apply(event)
    }
    try cache.store.releaseTarget(id, keepPersistedTargetData: false)
  }

  private func sizes(_ cache: TestCache) throws -> (file: Int, log: Int) {
    func size(_ name: String) throws -> Int {
      let attributes = try FileManager.default.attributesOfItem(atPath: cache.folder.file(name))
      return try #require(attributes[.size] as? Int)
    }
    return (try size("cache.sqlite"), try size("cache.sqlite-wal"))
  }

  @Test("the file and its log become small when the documents go")
  func fileShrinks() throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    try fill(cache, 1_500)
    try cache.database.truncateLog()
    let before = try sizes(cache)
    #expect(before.file > 2_000_000)
    let report = try cache.store.collectGarbage(Self.everything) { _ in false }
    #expect(report.removedDocumentCount == 1_500)
    let after = try sizes(cache)
    #expect(after.file < 400_000 && after.log == 0)
    #expect(report.releasedBytes >= Int64(before.file - after.file))
    #expect(report.cacheBytesAfter == Int64(after.file))
    #expect(try cache.database.integrityProblems() == [])
  }

  @Test("a database in memory becomes small too")
  func memoryShrinks() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    try fill(cache, 1_000)
    #expect(try cache.database.fileSizeBytes > 1_000_000)
    _ = try cache.store.collectGarbage(Self.everything) { _ in false }
    #expect(try cache.database.fileSizeBytes < 400_000)
  }

  @Test("space that was left unused is given back below the threshold too")
  func unusedSpace() throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    try fill(cache, 1_000)
    try cache.store.documents.removeAll()
    let before = try cache.database.fileSizeBytes
    let report = try cache.store.collectGarbage(CollectionParameters(thresholdBytes: 100 << 20)) { _ in false }
    #expect(!report.hasCollected && report.releasedBytes > 1_000_000)
    #expect(try cache.database.fileSizeBytes == before - report.releasedBytes)
  }

  @Test("a reader of an older state does not stop the collection")
  func readerOnTheLog() throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    try fill(cache, 300)
    let reader = try Database(
      .file(path: cache.folder.file("cache.sqlite")), options: .init(isReadOnly: true, busyTimeout: .seconds(60)))
    defer { reader.close() }
    try reader.readTransaction("Hold a state") {
      let held = try reader.prepare("SELECT count(*) FROM documents")
      #expect(try held.step())
      let report = try cache.store.collectGarbage(Self.everything) { _ in false }
      #expect(report.removedDocumentCount == 300)
    }
  }

  @Test("a file of the first release learns what is unneeded, also without a note of its use")
  func firstRelease() throws {
    let folder = TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    let old = try Database(.file(path: folder.file("cache.sqlite")))
    try CacheSchema.schema.migrate(old)
    let documents = try DocumentStore(database: old)
    for name in ["held", "unneeded", "unnoted", "pending", "deep/rooms/x"] {
      try documents.set(found("rooms/\(name)", 3, [:]))
    }
    for statement in [
      "INSERT INTO cache_target_documents VALUES (2, 'rooms/held')",
      "INSERT INTO cache_users VALUES (1, '=alice', x'')",
      "INSERT INTO cache_batch_documents VALUES (1, 'rooms/pending', 1)",
      "INSERT INTO cache_document_uses VALUES ('rooms/held', 1), ('rooms/unneeded', 2), ('rooms/pending', 3)",
    ] {
      try old.execute(statement)
    }
    old.close()
    let opened = try CacheFile.open(folder: folder.path, databaseID: TestCache.databaseID)
    defer { opened.close() }
    #expect(opened.recovery == nil)
    let store = try LocalStore(
      database: opened.database, databaseID: TestCache.databaseID, garbageCollection: TestCache.lru, user: nil,
      newCacheID: "new")
    let unneeded = try store.uses.unneeded(after: .start, upTo: .max, limit: 10)
    #expect(
      unneeded.map(\.key.canonicalString) == ["rooms/deep/rooms/x", "rooms/unnoted", "rooms/unneeded"]
        && unneeded.map(\.position.sequenceNumber) == [0, 0, 2])
    #expect(try store.uses.lastUse(of: key("rooms/held")) == 1)
    let report = try store.collectGarbage(Self.everything) { _ in false }
    #expect(report.removedDocumentCount == 3)
    for (name, stays) in [("held", true), ("pending", true), ("unneeded", false), ("unnoted", false)] {
      #expect(try store.documents.document(for: key("rooms/\(name)")).isFound == stays, "\(name)")
    }
  }
}
