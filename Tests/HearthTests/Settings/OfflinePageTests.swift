import Foundation
import HearthServer
import Logging
import Testing

@testable import Hearth

/// Runs the samples of the page "Access data offline".
@Suite("The page about offline data", .timeLimit(.minutes(1)))
struct OfflinePageTests {
  @Test("of two cache settings the last one counts: persistent, 100 MiB")
  func lastCacheCounts() throws {
    let settings = FirestoreSettings()
    settings.cacheSettings = MemoryCacheSettings(garbageCollectorSettings: MemoryLRUGCSettings())
    settings.cacheSettings = PersistentCacheSettings(sizeBytes: 100 * 1024 * 1024 as NSNumber)
    let db = try TestFirestore().firestore
    db.settings = settings
    let cache = try #require(db.settings.cacheSettings as? PersistentCacheSettings)
    #expect(cache.sizeBytes == 104_857_600)
    #expect(cache == PersistentCacheSettings())
    #expect(db.cacheFolder != nil)
  }

  @available(*, deprecated)
  @Test("the size of the cache cannot be changed after the first use, in the new way and in the old one")
  func sizeTooLate() async throws {
    let expected = """
      Firestore instance has already been started and its settings can no longer be changed. You can only set settings \
      before calling any other methods on a Firestore instance.
      """
    let folder = try TemporaryFolder()
    let db = try TestFirestore(cache: PersistentCacheSettings(directory: folder.url)).firestore
    _ = db.collection("cities")
    let changes: [@Sendable (FirestoreSettings) -> Void] = [
      { $0.cacheSettings = PersistentCacheSettings(sizeBytes: 200 * 1024 * 1024 as NSNumber) },
      { $0.cacheSettings = MemoryCacheSettings() },
    ]
    for change in changes {
      let message = await Misuse.message {
        let settings = db.settings
        change(settings)
        db.settings = settings
      }
      #expect(message == expected)
    }
    try await db.terminate()

    let old = try TestFirestore(cache: MemoryCacheSettings()).firestore
    let settings = FirestoreSettings()
    settings.host = "127.0.0.1:1"
    settings.isPersistenceEnabled = false
    old.settings = settings
    _ = old.collection("cities")
    let message = await Misuse.message {
      let settings = old.settings
      settings.cacheSizeBytes = FirestoreCacheSizeUnlimited
      old.settings = settings
    }
    #expect(message == expected)
    old.settings = old.settings
    try await old.terminate()
  }

  @Test("the index manager is nil with a memory cache, of either kind of settings")
  func indexManager() async throws {
    func text(_ db: Firestore) -> String {
      if let indexManager = db.persistentCacheIndexManager {
        indexManager.enableIndexAutoCreation()
        return "enabled"
      } else {
        return "indexManager is nil"
      }
    }
    let folder = try TemporaryFolder()
    let memory = try TestFirestore().firestore
    let persistent = try TestFirestore(cache: PersistentCacheSettings(directory: folder.url)).firestore
    #expect(text(memory) == "indexManager is nil")
    #expect(text(persistent) == "enabled")
    #expect(persistent.persistentCacheIndexManager === persistent.persistentCacheIndexManager)
    try await memory.terminate()
    try await persistent.terminate()
  }

  @available(*, deprecated)
  @Test("the index manager is nil when the old switch turned persistence off")
  func indexManagerOfOldSwitch() async throws {
    let db = try TestFirestore().firestore
    let settings = FirestoreSettings()
    settings.host = "127.0.0.1:1"
    settings.isPersistenceEnabled = false
    db.settings = settings
    #expect(db.persistentCacheIndexManager == nil)
    try await db.terminate()
  }

  @Test(
    "the printed index configuration, which is no JSON, is invalidArgument and stops nothing", arguments: [true, false])
  func indexConfiguration(isPersistent: Bool) async throws {
    let folder = try TemporaryFolder()
    let cache: any LocalCacheSettings & NSObjectProtocol =
      isPersistent ? PersistentCacheSettings(directory: folder.url) : MemoryCacheSettings()
    let db = try await TestFirestore.offline(cache: cache)
    let indexConfigJson = """
      {
        indexes: [
          ...
        ],
        fieldOverrides: [
          ...
        ]
      }
      """
    db.setIndexConfiguration(indexConfigJson, completion: nil)
    let error = await thrown { try await db.setIndexConfiguration(indexConfigJson) }
    #expect(error?.domain == FirestoreErrorDomain && error?.code == FirestoreErrorCode.invalidArgument.rawValue)
    #expect(error?.localizedDescription.hasPrefix("Invalid Json format.") == true)
    db.document("a/b").setData([:], completion: nil)
    #expect(try await db.document("a/b").getDocument(source: .cache).exists)
    try await db.terminate()
  }

  @Test("offline, the listener gets what is cached as added from the local cache, then each local write")
  func listenOffline() async throws {
    let db = try await TestFirestore.offline()
    db.document("cities/SF").setData(["state": "CA"], completion: nil)
    db.document("cities/NY").setData(["state": "NY"], completion: nil)
    let lines = Recorder<String>()
    let registration = db.collection("cities").whereField("state", isEqualTo: "CA")
      .addSnapshotListener(includeMetadataChanges: true) { querySnapshot, error in
        guard let snapshot = querySnapshot else {
          return lines.record("Error retreiving snapshot: \(error!)")
        }
        for diff in snapshot.documentChanges {
          lines.record("\(diff.type) \(diff.document.documentID) \(diff.document.metadata.hasPendingWrites)")
        }
        let source = snapshot.metadata.isFromCache ? "local cache" : "server"
        lines.record("Metadata: Data fetched from \(source)")
      }
    let cached = "Metadata: Data fetched from local cache"
    #expect(try await [lines.next(), lines.next()] == ["added SF true", cached])
    db.document("cities/LA").setData(["state": "CA"], completion: nil)
    #expect(try await [lines.next(), lines.next()] == ["added LA true", cached])
    db.document("cities/SF").setData(["state": "WA"], completion: nil)
    #expect(try await [lines.next(), lines.next()] == ["removed SF false", cached])
    registration.remove()
    try await db.terminate()
  }

  @Test("writes made while the network is disabled reach the backend when it is enabled again")
  func disabledNetwork() async throws {
    let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    let server = try await EmbeddedServer.start(port: 0, storage: .memory, logger: quiet)
    let db = try TestFirestore(host: "127.0.0.1:\(server.port)").firestore
    let steps = Recorder<String>()
    db.disableNetwork { (error) in steps.record("disabled \(error == nil)") }
    #expect(try await steps.next() == "disabled true")
    db.document("cities/SF").setData(["state": "CA"]) { error in steps.record("written \(error == nil)") }
    #expect(try await db.collection("cities").getDocuments().metadata.isFromCache)
    #expect(try await db.pendingWrites().count == 1)
    #expect(steps.events == ["disabled true"])
    db.enableNetwork { (error) in steps.record("enabled \(error == nil)") }
    #expect(try await steps.next() == "enabled true")
    #expect(try await steps.next() == "written true")
    try await db.waitForPendingWrites()
    #expect(try await db.pendingWrites().isEmpty)
    let snapshot = try await db.document("cities/SF").getDocument(source: .server)
    #expect(snapshot["state"] as? String == "CA" && !snapshot.metadata.hasPendingWrites)
    try await db.terminate()
    await server.shutdown()
  }
}
