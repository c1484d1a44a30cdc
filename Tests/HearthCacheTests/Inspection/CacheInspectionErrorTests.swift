import Foundation
import HearthModel
import HearthStore
import TestSupport
import Testing

@testable import HearthCache

@Suite("Looking into what is no readable cache")
struct CacheInspectionErrorTests {
  /// The error of an overview, after which nothing in the folder has changed.
  private func refusal(_ folder: TemporaryFolder) throws -> CacheInspectionError? {
    let before = try? folder.names()
    defer { #expect((try? folder.names()) == before) }
    return try inspectionError { _ = try CacheInspection.read(folder: folder.path) { try $0.overview() } }
  }

  private func folder(_ file: Data?) throws -> TemporaryFolder {
    let folder = TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
    try file?.write(to: URL(fileURLWithPath: folder.file(CacheFile.fileName)))
    return folder
  }

  @Test("a missing folder, a file, an empty folder and an empty file are told apart")
  func nothing() throws {
    let missing = TemporaryFolder()
    #expect(try refusal(missing) == .noFolder(missing.path))
    let empty = try folder(nil)
    #expect(try refusal(empty) == .noCache(folder: empty.path))
    let unfinished = try folder(Data())
    #expect(try refusal(unfinished) == .unfinished(path: unfinished.file("cache.sqlite")))
    let file = unfinished.file("cache.sqlite")
    #expect(
      try inspectionError { _ = try CacheInspection.read(folder: file) { try $0.overview() } } == .notAFolder(file))
  }

  @Test("a database of another program, and one of the server, are refused as they are")
  func otherPrograms() throws {
    for applicationID in [Int32(77), 0, Database.hearthApplicationID] {
      let folder = try folder(nil)
      let database = try Database(
        .file(path: folder.file("cache.sqlite")), options: Database.Options(applicationID: applicationID))
      if applicationID == Database.hearthApplicationID {
        _ = try DocumentStore(database: database)
      } else {
        try database.execute("CREATE TABLE theirs (a INTEGER)")
      }
      database.close()
      guard case .notACache = try refusal(folder) else {
        Issue.record("application id \(applicationID): \(String(describing: try refusal(folder)))")
        continue
      }
    }
  }

  @Test(
    "a cache of a newer and of an older release is refused with its version", arguments: [(99, "newer"), (0, "older")])
  func otherReleases(_ version: Int, _ word: String) throws {
    let folder = try InspectedFolder()
    let database = try Database(.file(path: folder.file))
    try database.update("UPDATE schema_versions SET version = ? WHERE component = 'cache'", .integer(Int64(version)))
    database.close()
    let error = try #require(try refusal(folder.folder))
    guard case .otherRelease(_, "cache", Int64(version), _) = error else { return #expect(Bool(false), "\(error)") }
    #expect(error.description.contains(word) && error.description.contains("hearth"))
    #expect(throws: CacheInspectionError.self) { try CacheCheck.run(folder: folder.path) }
    #expect(throws: CacheInspectionError.self) {
      try CacheMaintenance.clear(folder: folder.path, discardsPendingWrites: true, discardsRejectedWrites: false)
    }
    #expect(try folder.folder.names().contains("cache.sqlite"))
  }

  @Test("a folder without permission is refused with the way out", .disabled(if: geteuid() == 0))
  func noPermission() throws {
    let folder = try InspectedFolder()
    try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: folder.file)
    defer { try? FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.file) }
    guard case .noPermission = try refusal(folder.folder) else { return #expect(Bool(false)) }
  }

  @Test("any damaged page gives an error or an answer, changes nothing, and check says what would be saved")
  func damagedPages() throws {
    let folder = try InspectedFolder()
    let whole = try Data(contentsOf: URL(fileURLWithPath: folder.file))
    var unsound = 0
    for damage in [PageDamage.overwritten, .zeroed, .truncated] {
      for page in 0..<whole.count / PageDamage.pageBytes {
        var bytes = whole
        damage.apply(to: &bytes, page: page)
        try bytes.write(to: URL(fileURLWithPath: folder.file))
        _ = try inspectionError {
          try folder.read {
            _ = try $0.overview()
            try $0.forEachPendingBatch { _ in true }
            _ = try $0.run(collection("cities"), as: .user(nil))
          }
        }
        // A file of no bytes is new.
        guard !bytes.isEmpty else { continue }
        let report = try CacheCheck.run(folder: folder.path)
        if !report.isSound { unsound += 1 }
        #expect(
          report.saved.batches + report.unreadableBatchCount == 3 || !report.isOutboxComplete, "\(damage) \(page)")
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder.file)) == bytes)
      }
    }
    #expect(unsound > 0)
  }
}
