import Foundation
import HearthStore
import TestSupport
import Testing

@testable import Hearth

/// The folder, or files in it, are deleted or replaced under a running process.
@Suite("A cache folder that is deleted or replaced while it is used", .timeLimit(.minutes(1)))
struct LostFilesTests {
  private let cache: SharedCache

  init() throws {
    cache = try SharedCache()
  }

  private var folder: URL { cache.directory.appendingPathComponent("shared/demo-hearth/(default)") }

  private func client(_ host: String = "127.0.0.1:1") async throws -> Firestore {
    let settings = PersistentCacheSettings(directory: cache.directory)
    let db = try TestFirestore(name: try cache.name(), cache: settings, host: host).firestore
    try await db.disableNetwork()
    return db
  }

  private func write(_ path: String, _ db: Firestore, _ outcomes: Recorder<[String]>) {
    db.document(path).setData(["n": 1]) { error in
      outcomes.record([path, (error as NSError?).map { "\($0.code)" } ?? "committed"])
    }
  }

  private static let dataLoss = "\(FirestoreErrorCode.dataLoss.rawValue)"

  /// - Returns: the writes of the cache as a process sees them that opens it now.
  private func writesForOthers(_ host: String) async throws -> [String] {
    let other = try await client(host)
    let paths = try await other.pendingWrites().flatMap { $0.operations.map(\.documentPath) }
    try await other.terminate()
    return paths
  }

  @Test(
    "a write after the deletion is stored in a new folder, and the callers of those before it hear that they are lost")
  func deleted() async throws {
    try await TestBackend.run { host in
      let db = try await client(host)
      let outcomes = Recorder<[String]>()
      write("a/before", db, outcomes)
      #expect(try await db.pendingWrites().count == 1)
      try FileManager.default.removeItem(at: folder)
      write("a/after", db, outcomes)
      #expect(try await outcomes.next() == ["a/before", Self.dataLoss])
      #expect(try await db.pendingWrites().count == 1)
      #expect(try await writesForOthers(host) == ["a/after"])
      try await db.enableNetwork()
      #expect(try await outcomes.next() == ["a/after", "committed"])
      #expect(try await db.collection("a").getDocuments(source: .server).ids == ["after"])
      try await db.terminate()
    }
  }

  @Test(
    "a client that does nothing notices it too: its listeners and the callers of its writes get an error that names the file"
  )
  func idle() async throws {
    let db = try await client()
    let outcomes = Recorder<[String]>()
    write("a/before", db, outcomes)
    let (events, _) = db.collection("a").record()
    #expect(try await events.next().get().ids == ["before"])
    try FileManager.default.removeItem(at: folder)
    guard case .failure(let error) = try await events.next() else { return }
    #expect(error.code == FirestoreErrorCode.dataLoss.rawValue)
    #expect(error.localizedDescription.contains("cache.sqlite\" was deleted or replaced"), "\(error)")
    #expect(try await outcomes.next() == ["a/before", Self.dataLoss])
    try await db.terminate()
  }

  @Test("a folder that is put in its place is used, and what belongs to it stays")
  func replaced() async throws {
    let first = try await client()
    first.document("a/inCopy").setData(["n": 1], completion: nil)
    #expect(try await first.pendingWrites().count == 1)
    try await first.terminate()
    let copy = cache.directory.appendingPathComponent("copy")
    try FileManager.default.copyItem(at: folder, to: copy)

    let db = try await client()
    let outcomes = Recorder<[String]>()
    write("a/lost", db, outcomes)
    #expect(try await db.pendingWrites().count == 2)
    try FileManager.default.moveItem(at: folder, to: cache.directory.appendingPathComponent("old"))
    try FileManager.default.moveItem(at: copy, to: folder)
    let log = folder.appendingPathComponent("cache.sqlite-wal")
    // That of another process, by name.
    let other = try await client()
    // Its number is that of the write that is lost.
    write("a/other", other, outcomes)
    #expect(try await other.pendingWrites().count == 2)
    let identity = FileIdentity(path: log.path)
    write("a/after", db, outcomes)
    #expect(try await outcomes.next() == ["a/lost", Self.dataLoss])
    #expect(try await db.pendingWrites().count == 3)
    #expect(FileIdentity(path: log.path) == identity, "the log of another process was deleted")
    #expect(try await other.pendingWrites().count == 3)
    try await db.terminate()
    try await other.terminate()
  }

  @Test("a lock file that is deleted is created again, and nobody notices")
  func lockFile() async throws {
    let db = try await client()
    db.document("a/before").setData(["n": 1], completion: nil)
    let (events, _) = db.collection("a").record()
    #expect(try await events.next().get().ids == ["before"])
    try FileManager.default.removeItem(at: folder.appendingPathComponent("cache.lock"))
    db.document("a/after").setData(["n": 1], completion: nil)
    #expect(try await events.next().get().ids == ["after", "before"])
    // It is locked as before.
    #expect(throws: CocoaError.self) { _ = try HeldFolder(folder) }
    #expect(try await db.pendingWrites().count == 2)
    try await db.terminate()
  }

  @Test("a client whose own files are deleted creates them again, and stays one of the clients")
  func clientFiles() async throws {
    let (first, second) = (try await client(), try await client())
    let (events, _) = second.collection("a").record()
    #expect(try await events.next().get().isEmpty)
    #expect(try await first.pendingWrites().isEmpty)
    func names() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: folder.path)
        .filter { $0.hasPrefix("cache.client-") || $0.hasPrefix("cache.wake-") }.sorted()
    }
    let before = try names()
    #expect(before.count == 4)
    for name in before { try FileManager.default.removeItem(at: folder.appendingPathComponent(name)) }
    try await waitUntil { try names() == before }
    first.document("a/1").setData(["n": 1], completion: nil)
    #expect(try await events.next().get().ids == ["1"])
    // Each was taken for dead once at most.
    let database = try Database(.file(path: folder.appendingPathComponent("cache.sqlite").path))
    let highest = try database.firstRow("SELECT highest_client_id FROM cache_sharing") { try $0.int64(at: 0) }
    database.close()
    #expect(try #require(highest) <= 4)
    #expect(try names() == before)
    try await first.terminate()
    try await second.terminate()
  }

  @Test("the lease stays with one client although its file is deleted")
  func leaseFile() async throws {
    let (first, second) = (try await client(), try await client())
    for client in [first, second] { #expect(try await client.pendingWrites().isEmpty) }
    func leaseNumber() throws -> Int64? {
      let database = try Database(.file(path: folder.appendingPathComponent("cache.sqlite").path))
      defer { database.close() }
      return try database.firstRow("SELECT lease_number FROM cache_sharing") { try $0.int64(at: 0) }
    }
    let lease = folder.appendingPathComponent("cache.lease")
    try await waitUntil { FileManager.default.fileExists(atPath: lease.path) }
    let before = try #require(try leaseNumber())
    for _ in 0..<3 {
      try FileManager.default.removeItem(at: lease)
      try await waitUntil { FileManager.default.fileExists(atPath: lease.path) }
    }
    // A change of the lease wakes both clients, and each of them answers this after it.
    for client in [first, second, first, second] { _ = try await client.pendingWrites() }
    #expect(try #require(try leaseNumber()) - before <= 3)
    try await first.terminate()
    try await second.terminate()
  }
}
