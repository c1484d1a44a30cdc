import Foundation
import HearthModel
import HearthStore
import HearthWire
import TestSupport
import Testing

@testable import HearthCache

@Suite("Clearing, collecting and exporting a cache")
struct CacheMaintenanceTests {
  @Test("a cache with pending writes is deleted only if these are given up")
  func clear() throws {
    let folder = try InspectedFolder()
    let refusal = try inspectionError {
      _ = try CacheMaintenance.clear(folder: folder.path, discardsPendingWrites: false, discardsRejectedWrites: false)
    }
    let held = WriteCount(batches: 3, writes: 4)
    #expect(refusal == .pendingWrites(folder: folder.path, count: held) && "\(held)" == "4 writes in 3 batches")
    #expect(try folder.read { try $0.overview().pending.batches } == 3)
    #expect(
      try CacheMaintenance.clear(folder: folder.path, discardsPendingWrites: true, discardsRejectedWrites: false)
        .pending.batches == 3)
    #expect(try !folder.folder.names().contains { $0.hasPrefix("cache.sqlite") })
  }

  /// A cache with two refused writes and no pending ones.
  private func folderOfRefusedWrites() throws -> InspectedFolder {
    let folder = try InspectedFolder()
    let (cache, store) = try InspectedFolder.open(folder.folder)
    for batch in try store.pendingBatches() {
      _ = try store.reject(batch, StatusError(code: .notFound, message: "none"), at: time(7))
    }
    _ = try store.changeUser("alice")
    while try store.nextMutationBatch(after: -1) != nil { try store.acknowledgeNext(at: 900) }
    cache.close()
    return folder
  }

  @Test("a cache that keeps refused writes is deleted only if these are given up, and says which they are")
  func clearRefused() throws {
    let folder = try folderOfRefusedWrites()
    for discardsPending in [false, true] {
      let refusal = try inspectionError {
        _ = try CacheMaintenance.clear(
          folder: folder.path, discardsPendingWrites: discardsPending, discardsRejectedWrites: false)
      }
      let text = try #require(refusal).description
      #expect(text.contains("keeps 3 writes in 2 batches") && text.contains("--discard-rejected-writes"), "\(text)")
      #expect(text.contains("set cities/c1, delete cities/c2 (NOT_FOUND); set towns/t1 (NOT_FOUND)"), "\(text)")
    }
    #expect(try folder.read { try $0.overview().rejected.batches } == 2)
    let deleted = try CacheMaintenance.clear(
      folder: folder.path, discardsPendingWrites: false, discardsRejectedWrites: true)
    #expect(deleted.rejected == WriteCount(batches: 2, writes: 3) && deleted.pending.batches == 0)
    #expect(try !folder.folder.names().contains { $0.hasPrefix("cache.sqlite") })
  }

  @Test("a damaged cache that keeps refused writes is not deleted without a word")
  func clearDamagedRefused() throws {
    let folder = try folderOfRefusedWrites()
    let whole = try Data(contentsOf: URL(fileURLWithPath: folder.file))
    for page in 0..<whole.count / PageDamage.pageBytes {
      var bytes = whole
      PageDamage.overwritten.apply(to: &bytes, page: page)
      try bytes.write(to: URL(fileURLWithPath: folder.file))
      let refusal = try inspectionError {
        _ = try CacheMaintenance.clear(
          folder: folder.path, discardsPendingWrites: true, discardsRejectedWrites: false)
      }
      #expect(
        refusal?.description.contains("--discard-rejected-writes") == true,
        "page \(page + 1): \(String(describing: refusal))")
    }
  }

  @Test(
    "a cache with pending writes that has lost a row of a small table is not deleted without a word",
    arguments: [
      "DELETE FROM schema_versions WHERE component = 'store'", "DELETE FROM schema_versions WHERE component = 'cache'",
      "DELETE FROM schema_versions", "DELETE FROM cache_users",
    ])
  func clearWithLostRow(statement: String) throws {
    let folder = try InspectedFolder()
    let database = try Database(.file(path: folder.file))
    try database.execute("PRAGMA foreign_keys = OFF")
    try database.execute(statement)
    database.close()
    let refusal = try inspectionError {
      _ = try CacheMaintenance.clear(folder: folder.path, discardsPendingWrites: false, discardsRejectedWrites: true)
    }
    guard case .pendingWrites(folder.path, let count)? = refusal else {
      Issue.record("\(String(describing: refusal))")
      return
    }
    #expect(count.batches == 3)
    #expect(try folder.folder.names().contains("cache.sqlite"))
  }

  private func expectPendingWrite(in cache: TestCache) throws {
    let refusal = try inspectionError {
      _ = try CacheMaintenance.clear(
        folder: cache.folder.path, discardsPendingWrites: false, discardsRejectedWrites: true)
    }
    guard case .pendingWrites(cache.folder.path, let count)? = refusal else {
      Issue.record("\(String(describing: refusal))")
      return
    }
    #expect(count.batches == 1)
    #expect(try cache.folder.names().contains("cache.sqlite"))
  }

  @Test("a cache whose outbox looks empty in its index is not deleted without a word")
  func clearWithSwappedPages() throws {
    let cache = try TestCache(.file)
    try cache.store.write(.set(key("rooms/a"), [:]))
    try cache.swapPages("cache_mutation_batches_by_user", "cache_targets_by_canonical_id")
    try expectPendingWrite(in: cache)
  }

  @Test("a cache that a client has found damaged is not deleted for what it says in its tables")
  func clearMarked() throws {
    let cache = try TestCache(.file)
    try cache.store.write(.set(key("rooms/a"), [:]))
    try cache.database.execute("DELETE FROM cache_mutation_batches")
    cache.close()
    try CacheFiles(folder: cache.folder.path).mark("a page was damaged")
    try expectPendingWrite(in: cache)
  }

  @Test("a cache in use is neither deleted nor collected")
  func inUse() throws {
    let folder = try InspectedFolder(isOpen: true)
    let before = try folder.folder.names()
    #expect(
      try inspectionError {
        _ = try CacheMaintenance.clear(folder: folder.path, discardsPendingWrites: true, discardsRejectedWrites: false)
      }
        == .inUse(folder: folder.path))
    #expect(
      try inspectionError { _ = try CacheMaintenance.collect(folder: folder.path, newCacheID: "new") }
        == .inUse(folder: folder.path))
    #expect(try folder.folder.names() == before)
  }

  @Test("a folder without a cache gets no lock file")
  func noCache() throws {
    let folder = TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    #expect(
      try inspectionError {
        _ = try CacheMaintenance.clear(folder: folder.path, discardsPendingWrites: true, discardsRejectedWrites: false)
      }
        == .noCache(folder: folder.path))
    #expect(try folder.names().isEmpty)
  }

  @Test("collecting down to a size keeps pending writes and what they show, and nothing else")
  func collect() throws {
    let folder = try InspectedFolder()
    let report = try CacheMaintenance.collect(folder: folder.path, toBytes: 0, newCacheID: "new")
    #expect(report.removedTargetCount == 1 && report.removedDocumentCount > 0)
    let overview = try folder.read { try $0.overview() }
    #expect(overview.pending.batches == 3 && overview.cacheID == "inspected")
    let found = try folder.read { try $0.run(collection("cities"), as: .user(nil)).documents }
    #expect(found.map(\.key.id).contains("c1"))
    #expect(try CacheCheck.run(folder: folder.path).isSound)
  }

  private func export(_ folder: InspectedFolder, _ format: CacheExport.Format) throws -> (text: String, count: Int) {
    var text = ""
    let export = CacheExport(format: format, viewpoint: .user(nil), collection: path("cities"))
    let count = try export.run(
      folder: folder.path, createTime: time(1_000), line: { "\($0.key) \($1?.projectID ?? "unknown")" }
    ) { text += $0 }
    return (text, count)
  }

  @Test("an export in lines has a line for each document that the user sees, and names the database")
  func lines() throws {
    let (text, count) = try export(InspectedFolder(), .lines)
    let lines = text.split(separator: "\n")
    #expect(lines.count == 9 && count == 9)
    #expect(lines.contains { $0 == "cities/c1 \(TestCache.databaseID.projectID)" })
  }

  @Test("an exported bundle is read back with what the backend has confirmed")
  func bundle() throws {
    let (text, count) = try export(InspectedFolder(), .bundle)
    #expect(count == 10)
    var reader = BundleReader(databaseID: TestCache.databaseID)
    reader.append(text.utf8)
    var (documents, bytes, total): (Set<String>, Int, BundleMetadata?) = ([], 0, nil)
    while let element = try reader.next() {
      switch element.element {
      case .metadata(let metadata): total = metadata
      case .document(let document):
        documents.insert(document.key.canonicalString)
        bytes += element.byteCount
        #expect(document.version == version(50))
        if document.key.id == "c1" { #expect(document.values?["n"] == 1) }
      default: bytes += element.byteCount
      }
    }
    try reader.finish()
    #expect(documents.count == 10)
    #expect(total?.totalDocuments == 10 && total?.totalBytes == bytes)
  }
}
