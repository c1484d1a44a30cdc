import Foundation
import HearthModel
import Testing

@testable import Hearth

@Suite("enablePersistence", .timeLimit(.minutes(1)))
struct PersistenceSwitchTests {
  /// A client that was not used yet, with the default cache.
  func fresh(name: String = UUID().uuidString) throws -> Firestore {
    let firestore = try TestFirestore(name: name).firestore
    let settings = FirestoreSettings()
    settings.host = "127.0.0.1:1"
    settings.isSSLEnabled = false
    settings.dispatchQueue = DispatchQueue(label: "test")
    firestore.settings = settings
    return firestore
  }

  func code(_ body: () async throws -> Void) async -> FirestoreErrorCode.Code? {
    let error = await thrown(body)
    #expect(error == nil || error?.domain == FirestoreErrorDomain)
    return error.flatMap { FirestoreErrorCode.Code(rawValue: $0.code) }
  }

  /// Expects a client that works and has its cache in memory.
  func expectMemoryClient(_ db: Firestore) async throws {
    try await db.disableNetwork()
    db.document("a/b").setData(["n": 1], completion: nil)
    #expect(try await db.document("a/b").getDocument(source: .cache)["n"] as? Int == 1)
    #expect(db.persistentCacheIndexManager == nil)
    #expect(db.settings.cacheSettings is MemoryCacheSettings)
  }

  @Test("starts a client whose writes outlive it")
  func works() async throws {
    let folder = try TemporaryFolder()
    let name = UUID().uuidString
    let db = try fresh(name: name)
    try await db.enablePersistence(directory: folder.url)
    try await db.disableNetwork()
    db.document("a/b").setData(["n": 1], completion: nil)
    _ = try await db.pendingWrites()
    #expect(db.persistentCacheIndexManager != nil)
    try await db.terminate()
    let again = try fresh(name: name)
    try await again.enablePersistence(directory: folder.url)
    #expect(try await again.pendingWrites().count == 1)
    try await again.terminate()
  }

  @Test("keeps the size that was set the old way")
  @available(*, deprecated)
  func legacySize() async throws {
    let folder = try TemporaryFolder()
    let db = try fresh()
    let settings = db.settings
    settings.isPersistenceEnabled = false
    settings.cacheSizeBytes = 2_000_000
    db.settings = settings
    try await db.enablePersistence(directory: folder.url)
    #expect(
      db.settings.cacheSettings.isEqual(
        PersistentCacheSettings(directory: folder.url, sizeBytes: 2_000_000, processes: .single)))
    try await db.terminate()
  }

  @Test("is refused after the first use, and after another choice, and changes nothing then")
  func tooLate() async throws {
    let used = try TestFirestore().firestore
    _ = used.collection("a")
    var error = await thrown { try await used.enablePersistence() }
    #expect(error?.code == FirestoreErrorCode.failedPrecondition.rawValue)
    #expect(error?.localizedDescription.hasPrefix("Firestore has already been started and persistence") == true)

    let chosen = try TestFirestore().firestore
    error = await thrown { try await chosen.enablePersistence() }
    #expect(error?.code == FirestoreErrorCode.failedPrecondition.rawValue)
    #expect(error?.localizedDescription == "SDK cache is already specified.")
    #expect(!chosen.isRunning)
  }

  @Test("says that another client has the cache, and goes on in memory")
  func taken() async throws {
    let folder = try TemporaryFolder()
    let db = try fresh()
    let path = CacheFolder.path(
      base: folder.url, app: db.app.name, projectID: db.databaseID.projectID, database: db.databaseID.database,
      environment: [:])
    let other = try OpenCache(
      ClientConfiguration(
        databaseID: db.databaseID, endpoint: try Endpoint(host: "127.0.0.1:1", usesTLS: false),
        cache: .file(folder: path, sizeBytes: -1), callbackQueue: .global()),
      userID: nil)
    #expect(await code { try await db.enablePersistence(directory: folder.url) } == .failedPrecondition)
    try await expectMemoryClient(db)
    other.close()
    try await db.terminate()
  }

  @Test("says that nothing can be kept where no folder can be made, and goes on in memory")
  func unusable() async throws {
    let folder = try TemporaryFolder()
    let file = folder.url.appendingPathComponent("file")
    try Data().write(to: file)
    let db = try fresh()
    let error = await thrown { try await db.enablePersistence(directory: file) }
    #expect(error?.code == FirestoreErrorCode.unimplemented.rawValue)
    #expect(error?.localizedDescription.contains(file.path) == true)
    try await expectMemoryClient(db)
    try await db.terminate()
  }

  @Test("several processes share a cache if all of them say so, and see each other's writes")
  func several() async throws {
    let cache = try SharedCache()
    let (db, other) = (try fresh(name: try cache.name()), try fresh(name: try cache.name()))
    try await db.enablePersistence(directory: cache.directory, synchronizeProcesses: true)
    try await other.enablePersistence(directory: cache.directory, synchronizeProcesses: true)
    #expect(other.persistentCacheIndexManager != nil)
    try await db.disableNetwork()
    try await other.disableNetwork()
    db.document("a/b").setData(["n": 1], completion: nil)
    #expect(try await db.pendingWrites().count == 1)
    #expect(try await other.document("a/b").getDocument(source: .cache)["n"] as? Int == 1)
    #expect(try await other.pendingWrites().count == 1)
    try await other.terminate()
    try await db.terminate()
  }

  @Test("a process that does not share gets no shared cache, and one that shares gets none that is not")
  func mixed() async throws {
    for isShared in [true, false] {
      let cache = try SharedCache()
      let (db, other) = (try fresh(name: try cache.name()), try fresh(name: try cache.name()))
      try await db.enablePersistence(directory: cache.directory, synchronizeProcesses: isShared)
      let result = await code {
        try await other.enablePersistence(directory: cache.directory, synchronizeProcesses: !isShared)
      }
      #expect(result == .failedPrecondition)
      try await expectMemoryClient(other)
      try await db.disableNetwork()
      db.document("a/b").setData(["n": 1], completion: nil)
      #expect(try await db.pendingWrites().count == 1)
      try await other.terminate()
      try await db.terminate()
    }
  }

  @Test("a process takes the cache, with its outbox, from those that share it; these report it and do not disturb it")
  func takingOver() async throws {
    let cache = try SharedCache()
    let (db, other) = (try fresh(name: try cache.name()), try fresh(name: try cache.name()))
    try await db.enablePersistence(directory: cache.directory, synchronizeProcesses: true)
    try await db.disableNetwork()
    db.document("a/b").setData(["n": 1], completion: nil)
    #expect(try await db.pendingWrites().count == 1)
    try await other.enablePersistence(directory: cache.directory, forceOwnership: true)
    #expect(other.persistentCacheIndexManager != nil)
    #expect(await code { _ = try await db.pendingWrites() } == .failedPrecondition)
    #expect(await code { try await db.document("a/c").setData([:]) } == .failedPrecondition)
    try await other.disableNetwork()
    #expect(try await other.pendingWrites().count == 1)
    try await db.terminate()
    #expect(try await other.document("a/b").getDocument(source: .cache)["n"] as? Int == 1)
    try await other.terminate()
  }

  @Test("taking a cache over and sharing it exclude each other")
  func contradiction() async throws {
    let folder = try TemporaryFolder()
    let db = try fresh()
    let result = await code {
      try await db.enablePersistence(directory: folder.url, synchronizeProcesses: true, forceOwnership: true)
    }
    #expect(result == .invalidArgument)
    #expect(!db.isRunning && folder.contents().isEmpty)
  }

  @Test("settings differ if the number of processes does")
  func equality() {
    let all: [CacheProcesses] = [.single, .singleForcingOwnership, .multiple]
    for a in all {
      for b in all {
        #expect((PersistentCacheSettings(processes: a) == PersistentCacheSettings(processes: b)) == (a == b))
      }
    }
    #expect(PersistentCacheSettings().processes == .multiple)
  }

  @Test("the form with a completion calls it on the settings' queue")
  func completion() async throws {
    let folder = try TemporaryFolder()
    let db = try fresh()
    let results = Recorder<Int?>()
    db.enablePersistence(directory: folder.url) { results.record(($0 as NSError?)?.code) }
    #expect(try await results.next() == nil)
    db.enablePersistence { results.record(($0 as NSError?)?.code) }
    #expect(try await results.next() == FirestoreErrorCode.failedPrecondition.rawValue)
    try await db.terminate()
  }
}
