import Foundation
import HearthCache
import HearthModel
import Testing

@testable import Hearth

/// The programs of the article "The cache on the device", and what they do.
@Suite("The article \"The cache on the device\"", .timeLimit(.minutes(2)))
struct OfflineCacheArticleTests {
  let article: Article
  let folder: URL
  private let temporary: TemporaryFolder

  init() throws {
    article = try Article("OfflineCache")
    temporary = try TemporaryFolder()
    folder = temporary.url
  }

  /// A client whose settings are the defaults, not started.
  private func fresh(name: String = UUID().uuidString) throws -> Firestore {
    FirebaseApp.configure(name: name, options: FirebaseOptions(projectID: "demo-hearth"))
    return Firestore.firestore(app: try #require(FirebaseApp.app(name: name)))
  }

  /// The client with a queue of its own, a backend that is not there, and the network off.
  private func start(_ db: Firestore) async throws {
    let settings = db.settings
    settings.host = "127.0.0.1:1"
    settings.isSSLEnabled = false
    settings.dispatchQueue = DispatchQueue(label: "test")
    db.settings = settings
    try await db.disableNetwork()
  }

  /// A client with its cache in the folder.
  private func open(_ name: String, in folder: URL) async throws -> Firestore {
    try await TestFirestore.offline(name: name, cache: PersistentCacheSettings(directory: folder))
  }

  /// A folder of the folder's that a client of this name keeps its cache in.
  private func cacheFolder(_ db: Firestore, in folder: URL) -> String {
    CacheFolder.path(
      base: folder, app: db.app.name, projectID: db.databaseID.projectID, database: db.databaseID.database,
      environment: [:])
  }

  @Test("shows code that is compiled and run here, and printed text that is checked here")
  func blocks() throws {
    #expect(try article.codeNotCompiled(in: #filePath) == [])
    #expect(try article.printedNotChecked(in: #filePath) == [])
  }

  @Test("the cache is on disk by default, on every platform, and cleaned up above 100 MiB")
  func defaults() throws {
    let db = try fresh()
    let print = Printout()

    if let cache = db.settings.cacheSettings as? PersistentCacheSettings {
      print("on disk, cleaned up above", cache.sizeBytes, "bytes")
    }

    #expect(print.lines == article.printed("On disk from the start"))
    #expect(try Article.text("Package.swift").contains(".watchOS("))
  }

  @Test("the cache is chosen before the first use, and not changed afterwards")
  func memory() async throws {
    let db = try fresh()

    let settings = db.settings
    settings.cacheSettings = MemoryCacheSettings()
    db.settings = settings

    try await start(db)
    #expect(db.cacheFolder == nil && db.persistentCacheIndexManager == nil)
    db.document("notes/1").setData(["text": "Buy milk"], completion: nil)
    #expect(try await db.document("notes/1").getDocument()["text"] as? String == "Buy milk")
    let message = await Misuse.message {
      let settings = db.settings
      settings.cacheSettings = PersistentCacheSettings()
      db.settings = settings
    }
    #expect(message?.contains("has already been started and its settings can no longer be changed") == true)
  }

  @Test("the older switches do the same")
  @available(*, deprecated)
  func legacy() async throws {
    let db = try fresh()

    let settings = db.settings
    settings.isPersistenceEnabled = false
    settings.cacheSizeBytes = 20 * 1024 * 1024
    db.settings = settings

    #expect(db.settings.isPersistenceEnabled == false && db.cacheFolder == nil)
    try await start(db)
    #expect(db.persistentCacheIndexManager == nil)
    settings.cacheSettings = PersistentCacheSettings()
    #expect(
      message { () throws(ProgrammingError) in _ = try settings.values() }?.contains("cannot be combined") == true)
  }

  @Test("the folder can be chosen, so that each program has its own")
  func folders() async throws {
    let db = try fresh()

    let settings = db.settings
    settings.cacheSettings = PersistentCacheSettings(directory: folder)
    db.settings = settings

    try await start(db)
    db.document("notes/1").setData(["text": "Buy milk"], completion: nil)
    #expect(try await db.pendingWrites().count == 1)
    #expect(FileManager.default.fileExists(atPath: cacheFolder(db, in: folder) + "/cache.sqlite"))
    try await db.terminate()
  }

  /// The program of the article; which line it prints depends on the folder.
  private func enable(_ db: Firestore, _ folder: URL, _ print: Printout) async throws {
    do {
      try await db.enablePersistence(directory: folder)
      print("what is read and written outlives the program")
    } catch FirestoreErrorCode.failedPrecondition {
      print("another process has this cache: going on in memory")
    } catch FirestoreErrorCode.unimplemented {
      print("nothing can be kept in this folder: going on in memory")
    }
  }

  @Test("persistence can be asked for, which says whether there is any")
  func enabling() async throws {
    let print = Printout()
    let (kept, second, nowhere) = (try fresh(), try fresh(), try fresh())
    try await enable(kept, folder, print)

    let other = try CacheFile.open(folder: cacheFolder(second, in: folder), databaseID: second.databaseID)
    try await enable(second, folder, print)
    other.close()

    let file = folder.appendingPathComponent("file")
    try Data().write(to: file)
    try await enable(nowhere, file, print)
    #expect(print.lines == article.printed("Ask whether it can be kept"))

    for (db, isKept) in [(kept, true), (second, false), (nowhere, false)] {
      try await db.disableNetwork()
      db.document("notes/1").setData(["text": "Buy milk"], completion: nil)
      #expect(try await db.document("notes/1").getDocument()["text"] as? String == "Buy milk")
      #expect((db.persistentCacheIndexManager != nil) == isKept)
      try await db.terminate()
    }
  }

  @Test("several processes can have a folder each")
  func workers() async throws {
    let base = folder
    for number in 1...2 {
      let db = try fresh()

      let settings = db.settings
      settings.cacheSettings = PersistentCacheSettings(directory: base.appendingPathComponent("worker-\(number)"))
      db.settings = settings

      try await start(db)
      db.document("notes/1").setData(["text": "Buy milk"], completion: nil)
      #expect(try await db.pendingWrites().count == 1)
    }
    #expect(Set(try FileManager.default.contentsOfDirectory(atPath: base.path)) == ["worker-1", "worker-2"])
  }

  @Test("the threshold can be chosen, with a least value of 1 MiB, and clean-up can be switched off")
  func size() async throws {
    let (db, unlimited) = (try fresh(), try fresh())

    let settings = db.settings
    settings.cacheSettings = PersistentCacheSettings(sizeBytes: 20 * 1024 * 1024 as NSNumber)
    db.settings = settings

    #expect((db.settings.cacheSettings as? PersistentCacheSettings)?.sizeBytes == 20_971_520)
    do {
      let db = unlimited
      let settings = db.settings

      settings.cacheSettings = PersistentCacheSettings(sizeBytes: NSNumber(value: FirestoreCacheSizeUnlimited))

      db.settings = settings
      #expect((db.settings.cacheSettings as? PersistentCacheSettings)?.sizeBytes == -1)
    }
    #expect(message { () throws(ProgrammingError) in try CacheSize.validate(1_048_576) } == nil)
    let tooSmall = await Misuse.message { _ = PersistentCacheSettings(sizeBytes: 1_048_575) }
    #expect(tooSmall?.contains("at least 1048576 bytes") == true)
  }

  @Test(
    "above the threshold what was unused longest goes, never what is waiting; without one nothing goes")
  func cleanUp() async throws {
    let name = UUID().uuidString
    let db = try await open(name, in: folder)
    for collection in ["old", "new"] {
      let documents = (0..<20).map { (id: "\($0)", fields: #""n":{"integerValue":"\#($0)"}"#) }
      _ = try await db.loadBundle(TestBundle.of(db, collection: collection, documents))
    }
    db.document("old/1").updateData(["n": 100], completion: nil)
    #expect(try await db.pendingWrites().count == 1)
    try await db.terminate()

    func opened(_ sizeBytes: Int64) throws -> OpenCache {
      try OpenCache(
        ClientConfiguration(
          databaseID: db.databaseID, endpoint: try Endpoint(host: "127.0.0.1:1", usesTLS: false),
          cache: .file(folder: cacheFolder(db, in: folder), sizeBytes: sizeBytes), callbackQueue: .global()),
        userID: nil)
    }
    let unlimited = try opened(FirestoreCacheSizeUnlimited)
    #expect(unlimited.localStore.garbageCollectionParameters == nil)
    unlimited.close()

    // The clean-up as it runs later, with a larger share than a tenth of the entries.
    let limited = try opened(1_048_576)
    #expect(limited.localStore.garbageCollectionParameters?.thresholdBytes == 1_048_576)
    #expect(try limited.localStore.updateClient(wantsNetwork: true, isVisible: true) != .notHeld)
    func collect(_ bytes: Int64) throws -> GarbageCollectionReport {
      try limited.localStore.collectGarbage(GarbageCollectionParameters(thresholdBytes: bytes, percentile: 50)) { _ in
        false
      }
    }
    #expect(try !collect(1_048_576).hasCollected, "the file is smaller")
    #expect(try collect(0).removedDocumentCount == 19)
    limited.close()

    let again = try await open(name, in: folder)
    #expect(try await again.collection("old").getDocuments().ids == ["1"])
    #expect(try await again.collection("new").getDocuments().count == 20)
    try await again.terminate()
  }

  @Test("a cache in memory keeps what was used last, or only what is in use", arguments: [true, false])
  func memoryCollectors(isEager: Bool) async throws {
    try await ArticleCities.run { _, _, host in
      let db = try TestFirestore(host: host).firestore
      if isEager {
        let settings = db.settings

        settings.cacheSettings = MemoryCacheSettings(garbageCollectorSettings: MemoryEagerGCSetting())

        db.settings = settings
      }
      #expect(try await db.document("cities/SF").getDocument().exists)
      try await db.disableNetwork()
      let error = await thrown { try await db.document("cities/SF").getDocument() }
      #expect(error?.code == (isEager ? FirestoreErrorCode.unavailable.rawValue : nil))
      try await db.terminate()
    }
  }

  @Test("the cache outlives the program and its users, until it is cleared")
  func trust() async throws {
    let name = UUID().uuidString
    let print = Printout()
    let first = try await open(name, in: folder)
    first.document("notes/1").setData(["text": "Buy milk"], completion: nil)
    try await first.terminate()
    let db = try await open(name, in: folder)

    let note = try await db.document("notes/1").getDocument(source: .cache)
    print(note["text"] ?? "", "waits:", note.metadata.hasPendingWrites)

    print("not sent, and lost:", try await db.cacheReport().pendingWriteCount)
    try await db.terminate()
    try await db.clearPersistence()

    #expect(print.lines == article.printed("A device that others use"))
    let milk = Data("Buy milk".utf8)
    #expect(temporary.contents().values.allSatisfy { $0.range(of: milk) == nil })
    let successor = try await open(name, in: folder)
    let error = await thrown { try await successor.document("notes/1").getDocument(source: .cache) }
    #expect(error?.code == FirestoreErrorCode.unavailable.rawValue)
    #expect(try await successor.pendingWrites().isEmpty)
    let refusal = await thrown { try await successor.clearPersistence() }
    #expect(refusal?.code == FirestoreErrorCode.failedPrecondition.rawValue)
    try await successor.terminate()
  }

  @Test("each user has an outbox, and sees what others have read")
  func users() async throws {
    let print = Printout()
    let db = try fresh()
    let settings = db.settings
    settings.cacheSettings = MemoryCacheSettings()
    let credentials = IDTokenCredentials(userID: "alice") { _ in nil }
    settings.credentials = credentials
    db.settings = settings
    try await start(db)
    _ = try await db.loadBundle(TestBundle.of(db, collection: "cities", [(id: "SF", fields: "")]))

    db.document("notes/1").setData(["text": "Buy milk"], completion: nil)
    print("alice waits for", try await db.pendingWrites().count)
    credentials.setUser("bob")
    print("bob waits for", try await db.pendingWrites().count)
    print("notes that bob sees:", try await db.collection("notes").getDocuments().count)
    credentials.setUser("alice")
    print("alice waits for", try await db.pendingWrites().count)

    #expect(print.lines == article.printed("Several users"))
    credentials.setUser("bob")
    #expect(try await db.document("cities/SF").getDocument().exists, "what alice had in the cache")
  }

  /// The files are copied while the client runs, as a kill at that moment would leave them.
  @Test("what was written before the outbox was asked for is on disk")
  func kill() async throws {
    let name = UUID().uuidString
    let db = try await open(name, in: folder)

    db.document("notes/1").setData(["text": "Buy milk"], completion: nil)
    _ = try await db.pendingWrites()  // when this returns, everything written so far is on disk

    let copy = try TemporaryFolder()
    let successor = UUID().uuidString
    try FileManager.default.copyItem(
      at: folder.appendingPathComponent(name), to: copy.url.appendingPathComponent(successor))
    let survivor = try await open(successor, in: copy.url)
    #expect(try await survivor.document("notes/1").getDocument()["text"] as? String == "Buy milk")
    #expect(try await survivor.pendingWrites().count == 1)
    try await survivor.terminate()
    try await db.terminate()
  }

  @Test("storage that cannot be used is an error of every operation, and stops nothing")
  func storageErrors() async throws {
    let print = Printout()
    let file = folder.appendingPathComponent("file")
    try Data().write(to: file)
    let db = try TestFirestore(cache: PersistentCacheSettings(directory: file)).firestore

    do {
      try await db.document("notes/1").setData(["text": "Buy milk"])
    } catch FirestoreErrorCode.failedPrecondition {
      print("the cache's folder cannot be used")
    } catch FirestoreErrorCode.resourceExhausted {
      print("the disk is full: nothing was saved")
    }

    #expect(print.lines == article.printed("When storage fails"))
    try await db.terminate()
  }
}
