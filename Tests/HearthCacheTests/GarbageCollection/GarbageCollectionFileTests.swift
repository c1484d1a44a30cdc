import Foundation
import HearthModel
import HearthStore
import Testing

@testable import HearthCache

@Suite("Garbage collection and the file")
struct GarbageCollectionFileTests {
  private static let everything = GarbageCollectionParameters(thresholdBytes: 0, percentile: 100)

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
    try cache.store.releaseTarget(id)
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
    try cache.store.tables.documents.removeAll()
    let before = try cache.database.fileSizeBytes
    let report = try cache.store.collectGarbage(GarbageCollectionParameters(thresholdBytes: 100 << 20)) { _ in false }
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
}
