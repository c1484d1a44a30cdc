import Foundation
import Testing

@testable import Hearth

/// The file of a damaged cache can be replaced only when every process has closed it.
@Suite("A damaged cache that others have open", .timeLimit(.minutes(1)))
struct SharedDamageTests {
  private let cache: SharedCache

  init() throws {
    cache = try SharedCache()
  }

  private var folder: URL { cache.directory.appendingPathComponent("shared/demo-hearth/(default)") }
  private var file: String { folder.appendingPathComponent("cache.sqlite").path }

  private func client(_ host: String) async throws -> Firestore {
    let settings = PersistentCacheSettings(directory: cache.directory)
    let db = try TestFirestore(name: try cache.name(), cache: settings, host: host).firestore
    try await db.disableNetwork()
    return db
  }

  /// Leaves a cache with a document of a query, and a damaged page that only readers of documents meet.
  private func prepare(_ host: String, damaging table: String = "documents") async throws {
    let db = try await client(host)
    try await db.enableNetwork()
    try await db.document("a/known").setData(["n": 1])
    #expect(try await db.collection("a").getDocuments(source: .server).ids == ["known"])
    try await db.terminate()
    try TablePages.overwrite(table, in: file)
  }

  private func write(_ path: String, _ db: Firestore, _ outcomes: Recorder<[String]>) {
    db.document(path).setData(["n": 1]) { error in
      outcomes.record([path, (error as NSError?).map { "\($0.code)" } ?? "committed"])
    }
  }

  /// The read that meets the damage.
  private func meetDamage(_ db: Firestore) async {
    let error = await thrown { _ = try await db.collection("a").getDocuments(source: .cache) }
    #expect(error?.code == FirestoreErrorCode.dataLoss.rawValue, "\(String(describing: error))")
  }

  @Test("the client comes back by itself, with its writes, when the others have closed it")
  func comesBack() async throws {
    try await TestBackend.run { host in
      try await prepare(host)
      let db = try await client(host)
      let outcomes = Recorder<[String]>()
      write("b/saved", db, outcomes)
      #expect(try await db.pendingWrites().count == 1)
      let other = try HeldFolder(folder, isShared: true)
      await meetDamage(db)
      write("b/meanwhile", db, outcomes)
      db.enableNetwork { _ in }
      DispatchQueue.global().asyncAfter(deadline: .now() + 0.3) { other.giveBack() }
      #expect(try await outcomes.next() == ["b/saved", "committed"])
      #expect(!other.isHeld)
      #expect(try await outcomes.next() == ["b/meanwhile", "committed"])
      #expect(try await db.collection("b").getDocuments(source: .server).ids == ["meanwhile", "saved"])
      try await db.terminate()
    }
  }

  @Test("reads fail after five seconds, writes go on waiting, and nothing has to be called for the client to come back")
  func comesBackLate() async throws {
    try await TestBackend.run { host in
      try await prepare(host)
      let db = try await client(host)
      let outcomes = Recorder<[String]>()
      write("b/saved", db, outcomes)
      #expect(try await db.pendingWrites().count == 1)
      let other = try HeldFolder(folder, isShared: true)
      await meetDamage(db)
      db.enableNetwork { _ in }
      write("b/first", db, outcomes)
      let error = await thrown { _ = try await db.pendingWrites() }
      #expect(error?.localizedDescription.contains("not free within 5 seconds") == true, "\(String(describing: error))")
      // This one does not wait any more.
      #expect(await thrown { _ = try await db.pendingWrites() } != nil)
      write("b/second", db, outcomes)
      #expect(other.isHeld && outcomes.events.isEmpty)
      other.giveBack()
      for path in ["b/saved", "b/first", "b/second"] { #expect(try await outcomes.next() == [path, "committed"]) }
      try await db.terminate()
    }
  }

  @Test("two clients that have it open both come back, whichever meets the damage")
  func twoClients() async throws {
    try await TestBackend.run { host in
      try await prepare(host)
      let (first, second) = (try await client(host), try await client(host))
      let outcomes = Recorder<[String]>()
      write("b/first", first, outcomes)
      #expect(try await first.pendingWrites().count == 1)
      write("b/second", second, outcomes)
      #expect(try await second.pendingWrites().count == 2)
      let (events, _) = second.collection("b").record()
      #expect(try await events.next().get().ids == ["first", "second"])
      await meetDamage(first)
      first.enableNetwork { _ in }
      let ends = [try await outcomes.next(), try await outcomes.next()].map { $0.joined(separator: " ") }.sorted()
      #expect(ends == ["b/first committed", "b/second committed"])
      guard case .failure(let error) = try await events.next(where: { (try? $0.get()) == nil }) else { return }
      #expect(error.code == FirestoreErrorCode.dataLoss.rawValue)
      #expect(try await second.collection("b").getDocuments(source: .server).ids == ["first", "second"])
      try await first.terminate()
      try await second.terminate()
    }
  }

  /// A client on a file that is damaged where a write meets it, and another process that has it open.
  private func clientBesideOther(_ host: String) async throws -> (db: Firestore, other: HeldFolder) {
    try await prepare(host, damaging: "cache_batch_documents")
    let db = try await client(host)
    #expect(try await db.pendingWrites().isEmpty)
    return (db, try HeldFolder(folder, isShared: true))
  }

  @Test("a write that meets the damage is stored when the others have closed it")
  func writeMeetsDamage() async throws {
    try await TestBackend.run { host in
      let (db, other) = try await clientBesideOther(host)
      let outcomes = Recorder<[String]>()
      write("b/first", db, outcomes)
      write("b/second", db, outcomes)
      db.enableNetwork { _ in }
      DispatchQueue.global().asyncAfter(deadline: .now() + 0.2) { other.giveBack() }
      for path in ["b/first", "b/second"] { #expect(try await outcomes.next() == [path, "committed"]) }
      #expect(FileManager.default.fileExists(atPath: file + ".corrupt"))
      try await db.terminate()
    }
  }

  @Test("a client that is terminated before says which writes are not saved")
  func terminated() async throws {
    try await TestBackend.run { host in
      let (db, other) = try await clientBesideOther(host)
      let outcomes = Recorder<[String]>()
      write("b/unsaved", db, outcomes)
      #expect(await thrown { try await db.terminate() }?.code == FirestoreErrorCode.unavailable.rawValue)
      #expect(try await outcomes.next() == ["b/unsaved", "\(FirestoreErrorCode.cancelled.rawValue)"])
      other.giveBack()
    }
  }
}
