import Foundation
import HearthStore
import Testing

@testable import Hearth
@testable import HearthCache

/// Two releases of a program share a cache: an app is updated while a part of it runs.
@Suite("A cache that a newer release shares", .timeLimit(.minutes(1)))
struct NewerReleaseTests {
  private let cache: SharedCache

  init() throws {
    cache = try SharedCache()
  }

  private var folder: URL { cache.directory.appendingPathComponent("shared/demo-hearth/(default)") }

  private func client() async throws -> Firestore {
    try await TestFirestore.offline(name: cache.name(), cache: PersistentCacheSettings(directory: cache.directory))
  }

  /// The connection of another process.
  private func otherProcess() throws -> Database {
    try Database(.file(path: folder.appendingPathComponent("cache.sqlite").path))
  }

  private func expectNewerRelease(_ error: NSError?, mentions text: String) {
    #expect(error?.code == FirestoreErrorCode.failedPrecondition.rawValue, "\(String(describing: error))")
    #expect(error?.localizedDescription.contains(text) == true, "\(String(describing: error))")
  }

  @Test("a client whose file was migrated while it runs ends with an error, and changes nothing")
  func migratedWhileRunning() async throws {
    let db = try await client()
    let outcome = Recorder<NSError?>()
    db.document("a/saved").setData(["n": 1], completion: nil)
    #expect(try await db.pendingWrites().count == 1)
    db.collection("a").addSnapshotListener { _, error in if let error { outcome.record(error as NSError) } }
    let newer = try otherProcess()
    try newer.execute("UPDATE schema_versions SET version = 2 WHERE component = 'cache'")
    try newer.execute("ALTER TABLE cache_targets RENAME COLUMN sequence_number TO s")
    let before = try newer.dataVersion
    let error = await thrown { try await db.document("a/new").setData(["n": 2]) }
    expectNewerRelease(error, mentions: "Use the release that wrote it")
    expectNewerRelease(try await outcome.next(), mentions: "Use the release that wrote it")
    let read = await thrown { _ = try await db.document("a/saved").getDocument(source: .cache) }
    expectNewerRelease(read, mentions: "Use the release that wrote it")
    try? await db.terminate()
    #expect(try newer.dataVersion == before, "the client has written into the file")
    #expect(try newer.firstRow("SELECT count(s) FROM cache_targets") { try $0.int64(at: 0) } != nil)
    #expect(try newer.firstRow("SELECT count(*) FROM cache_mutation_batches") { try $0.int64(at: 0) } == 1)
    newer.close()
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
    #expect(!names.contains { $0.contains("damaged") || $0.contains("corrupt") }, "\(names)")
  }

  @Test("a migration asks the clients to leave, waits for them, and finds what they have written")
  func migration() async throws {
    let older = try await client()
    older.document("a/saved").setData(["n": 1], completion: nil)
    #expect(try await older.pendingWrites().count == 1)
    let (events, _) = older.collection("a").record()
    #expect(try await events.next().get().count == 1)
    try outdateTables(in: folder.path)
    let newer = try await client()
    #expect(try await newer.pendingWrites().count == 1)
    #expect(try await newer.collection("a").getDocuments(source: .cache).ids == ["saved"])
    guard case .failure(let error) = try await events.next(where: { (try? $0.get()) == nil }) else { return }
    // To this release the tables are those that it knows.
    expectNewerRelease(error, mentions: "taken it over")
    try await older.terminate()
    try await newer.terminate()
  }

  @Test("a migration that cannot take place, because a process is stopped, ends nobody")
  func migrationFails() async throws {
    let older = try await client()
    older.document("a/saved").setData(["n": 1], completion: nil)
    let (events, _) = older.collection("a").record()
    #expect(try await events.next().get().count == 1)
    #expect(try await older.pendingWrites().count == 1)
    let stopped = try FolderLock(folder: folder.path, mode: .shared)
    try outdateTables(in: folder.path)
    let settings = PersistentCacheSettings(directory: cache.directory)
    let newer = try TestFirestore(name: cache.name(), cache: settings).firestore
    let error = await thrown { try await newer.document("a/b").setData([:]) }
    #expect(error?.code == FirestoreErrorCode.failedPrecondition.rawValue)
    try await newer.terminate()
    older.document("a/later").setData(["n": 2], completion: nil)
    #expect(try await events.next().get().count == 2)
    #expect(try await older.pendingWrites().count == 2)
    stopped.release()
    try await older.terminate()
  }
}
