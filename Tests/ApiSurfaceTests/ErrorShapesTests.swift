import Foundation
import Hearth
import Testing

/// Errors of every surface, in every shape in which applications look at them. The file is part of a target of either language
/// mode.
@Suite("Shapes of errors", .timeLimit(.minutes(2)))
struct ErrorShapesTests {
  /// A file, so that no cache folder can be made there.
  static let file = URL(fileURLWithPath: #filePath)

  /// A client without a network and with a cache in memory, or one whose cache cannot be opened.
  static func client(failing: Bool = false) async throws -> Firestore {
    let db = try unused(failing ? PersistentCacheSettings(directory: file) : MemoryCacheSettings())
    if !failing { try await db.disableNetwork() }
    return db
  }

  /// A client that was not started, with this cache or the default one.
  static func unused(_ cache: (any LocalCacheSettings & NSObjectProtocol)? = nil) throws -> Firestore {
    let name = UUID().uuidString
    FirebaseApp.configure(name: name, options: FirebaseOptions(projectID: "demo-errors"))
    let app = try #require(FirebaseApp.app(name: name))
    let db = Firestore.firestore(app: app)
    let settings = FirestoreSettings()
    settings.host = "127.0.0.1:1"
    settings.isSSLEnabled = false
    if let cache { settings.cacheSettings = cache }
    settings.dispatchQueue = DispatchQueue(label: "test")
    db.settings = settings
    return db
  }

  func expect(
    _ code: FirestoreErrorCode.Code, _ surface: String, in db: Firestore,
    _ body: (Firestore) async throws -> Void
  ) async {
    do {
      try await body(db)
      Issue.record("\(surface): no error")
    } catch {
      expect(code, surface, error)
    }
  }

  func expect(_ code: FirestoreErrorCode.Code, _ surface: String, _ error: (any Error)?) {
    guard let error else {
      Issue.record("\(surface): no error")
      return
    }
    for (shape, found) in ErrorShapes.all(error) {
      #expect(found == "\(code)", "\(surface), \(shape): \(error)")
    }
    #expect(type(of: error) is NSError.Type, "\(surface)")
    #expect(error.localizedDescription == (error as NSError).userInfo[NSLocalizedDescriptionKey] as? String)
    #expect((error as? FirestoreErrorCode)?.localizedDescription == error.localizedDescription)
    #expect(
      (error as? FirestoreErrorCode)?.userInfo[NSLocalizedDescriptionKey] as? String == error.localizedDescription)
    #expect(!(error is CancellationError) && error as? DecodingError == nil)
  }

  /// The error that a completion gets.
  func error(_ start: (@escaping ((any Error)?) -> Void) -> Void) async -> (any Error)? {
    await withCheckedContinuation { continuation in
      start { continuation.resume(returning: $0) }
    }
  }

  struct Note: Codable, Equatable {
    var text: String
  }

  @Test("async calls throw them")
  func asynchronous() async throws {
    let db = try await Self.client()
    await expect(.unavailable, "document", in: db) { try await $0.document("a/b").getDocument() }
    await expect(.unavailable, "document of the server", in: db) {
      try await $0.document("a/b").getDocument(source: .server)
    }
    await expect(.unavailable, "document of the cache", in: db) {
      try await $0.document("a/b").getDocument(source: .cache)
    }
    await expect(.unavailable, "decoded document", in: db) {
      _ = try await $0.document("a/b").getDocument(as: Note.self)
    }
    await expect(.unavailable, "query", in: db) { try await $0.collection("a").getDocuments(source: .server) }
    await expect(.unavailable, "aggregation", in: db) {
      try await $0.collection("a").count.getAggregation(source: .server)
    }
    await expect(.failedPrecondition, "clearing", in: db) { try await $0.clearPersistence() }
    await expect(.failedPrecondition, "persistence", in: db) { try await $0.enablePersistence() }
    await expect(.invalidArgument, "indexes", in: db) { try await $0.setIndexConfiguration("{indexes: [...]}") }
    await expect(.unknown, "empty bundle", in: db) { _ = try await $0.loadBundle(Data()) }
    await expect(.invalidArgument, "bundle of a stream", in: db) {
      _ = try await $0.loadBundle(InputStream(data: Data("x".utf8)))
    }
    await expect(.invalidArgument, "transaction", in: db) { db in
      _ = try await db.runTransaction { transaction, errorPointer in
        transaction.setData([:], forDocument: db.document("a/b"))
        do {
          _ = try transaction.getDocument(db.document("a/c"))
        } catch let error as NSError {
          errorPointer?.pointee = error
        }
        return nil
      }
    }
    await expect(.unavailable, "code of the block's own", in: db) { db in
      let options = TransactionOptions()
      options.maxAttempts = 1
      let error = await error { finish in
        db.runTransaction(
          with: options,
          block: { _, errorPointer in
            errorPointer?.pointee =
              FirestoreErrorCode(
                .unavailable, userInfo: [NSLocalizedDescriptionKey: "not now"]) as NSError
            return nil
          }
        ) { finish($1) }
      }
      if let error { throw error }
    }
    await expect(.invalidArgument, "write nested too deep", in: db) {
      try await $0.document("a/b").setData((0..<200).reduce(["a": 1]) { inner, _ in ["a": inner] })
    }
    await expect(.invalidArgument, "transaction nested too deep", in: db) { db in
      _ = try await db.runTransaction { transaction, _ in
        transaction.setData((0..<200).reduce(["a": 1]) { inner, _ in ["a": inner] }, forDocument: db.document("a/b"))
        return nil
      }
    }
    try await db.terminate()
  }

  @Test("completions and listeners get them")
  func completions() async throws {
    let db = try await Self.client()
    expect(.unavailable, "document", await error { finish in db.document("a/b").getDocument { finish($1) } })
    expect(
      .unavailable, "query", await error { finish in db.collection("a").getDocuments(source: .server) { finish($1) } })
    expect(
      .unavailable, "aggregation",
      await error { finish in db.collection("a").count.getAggregation(source: .server) { finish($1) } })
    expect(
      .unavailable, "decoded document",
      await error { finish in
        db.document("a/b").getDocument(as: Note.self) { result in
          if case .failure(let error) = result { finish(error) } else { finish(nil) }
        }
      })
    expect(.failedPrecondition, "clearing", await error { db.clearPersistence(completion: $0) })
    expect(.invalidArgument, "indexes", await error { db.setIndexConfiguration("[", completion: $0) })
    expect(.unknown, "bundle", await error { finish in db.loadBundle(Data()) { finish($1) } })
    try await db.terminate()

    let failing = try await Self.client(failing: true)
    expect(
      .failedPrecondition, "listener of a query",
      await error { finish in failing.collection("a").addSnapshotListener { finish($1) } })
    expect(
      .failedPrecondition, "listener of a document",
      await error { finish in failing.document("a/b").addSnapshotListener { finish($1) } })
    expect(.failedPrecondition, "write", await error { failing.document("a/b").setData([:], completion: $0) })
    expect(
      .failedPrecondition, "batch",
      await error { finish in
        failing.batch().deleteDocument(failing.document("a/b")).commit { finish($0) }
      })
    expect(
      .failedPrecondition, "encoded write",
      await error { finish in
        do {
          try failing.document("a/b").setData(from: Note(text: "x"), completion: finish)
        } catch {
          finish(error)
        }
      })
    await expect(.failedPrecondition, "snapshots of a query", in: failing) {
      for try await _ in $0.collection("a").snapshots {}
    }
    await expect(.failedPrecondition, "snapshots of a document", in: failing) {
      for try await _ in $0.document("a/b").snapshots(includeMetadataChanges: true) {}
    }
    try await failing.terminate()

    let inMemory = try Self.unused()
    expect(
      .unimplemented, "persistence",
      await error { inMemory.enablePersistence(directory: Self.file, completion: $0) })
    try await inMemory.terminate()
    await expect(.unimplemented, "persistence", in: try Self.unused()) {
      try await $0.enablePersistence(directory: Self.file)
    }
  }

  @Test("a transaction whose client is terminated in between fails with failedPrecondition")
  func terminatedTransaction() async throws {
    let db = try await Self.client()
    let document = db.document("a/b")
    let error = await error { finish in
      db.runTransaction { transaction, errorPointer in
        let ended = DispatchSemaphore(value: 0)
        db.terminate { _ in ended.signal() }
        ended.wait()
        do {
          _ = try transaction.getDocument(document)
          finish(nil)
        } catch let error as NSError {
          finish(error)
          // As an error of the application's own, so that no further attempt is made.
          errorPointer?.pointee = NSError(domain: "app", code: 1, userInfo: [NSUnderlyingErrorKey: error])
        }
        return nil
      } completion: { _, _ in
        Issue.record("the completion is called after the end of the client")
      }
    }
    expect(.failedPrecondition, "read", error)
    #expect(error?.localizedDescription == "The client has already been terminated.")
  }

  @Test("errors that applications make of codes are found like those of the library")
  func made() {
    let error = FirestoreErrorCode(.unavailable, userInfo: [NSLocalizedDescriptionKey: "why"])
    for (shape, found) in ErrorShapes.all(error) { #expect(found == "unavailable", "\(shape)") }
    #expect(error.localizedDescription == "why" && (error as any Error).localizedDescription == "why")
    #expect(
      error.errorCode == 14 && error.code == .unavailable && FirestoreErrorCode.errorDomain == FirestoreErrorDomain)
    #expect(error == FirestoreErrorCode(.unavailable, userInfo: [NSLocalizedDescriptionKey: "why"]))
    #expect(error != FirestoreErrorCode(.aborted) && Set([error, error]).count == 1)
    #expect(!FirestoreErrorCode(.aborted).localizedDescription.isEmpty)
  }

  @Test("errors of other domains are none of these, and unknown numbers have a code all the same")
  func foreign() {
    let others: [any Error] = [
      NSError(domain: "app", code: 14), CancellationError(), NSError(domain: NSCocoaErrorDomain, code: 14),
      EncodingError.invalidValue(1, .init(codingPath: [], debugDescription: "")),
    ]
    for error in others {
      for (shape, found) in ErrorShapes.all(error) { #expect(found == "other", "\(shape): \(error)") }
    }
    let strange = NSError(domain: FirestoreErrorDomain, code: 99)
    #expect((strange as any Error as? FirestoreErrorCode)?.code == .unknown)
    #expect((strange as any Error as? FirestoreErrorCode)?.errorCode == 99)
  }
}
