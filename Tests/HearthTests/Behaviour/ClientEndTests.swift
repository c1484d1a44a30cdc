import Foundation
import Synchronization
import Testing

@testable import Hearth

/// The end of a client: its files, the objects that its callbacks captured, its listeners, and the calls that still wait.
@Suite("The end of a client", .timeLimit(.minutes(2)))
struct ClientEndTests {
  /// Something that a test can see going away.
  final class Thing: Sendable {}

  final class Weak<Object: AnyObject & Sendable>: Sendable {
    private let object: Mutex<WeakReference>

    private struct WeakReference: Sendable {
      weak var object: Object?
    }

    init(_ object: Object) { self.object = Mutex(WeakReference(object: object)) }

    var isGone: Bool { object.withLock { $0.object == nil } }

    /// Returns when the object is gone; the suite's time limit ends a wait in vain.
    func gone() async {
      while !isGone { await Task.yield() }
    }
  }

  #if os(Linux)
    private func openFiles(in folder: URL) -> [String] {
      let path = folder.resolvingSymlinksInPath().path
      let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
      return descriptors.compactMap {
        try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
      }
      .filter { $0.hasPrefix(path) }
    }

    @Test("no file of the cache is open when termination is reported")
    func files() async throws {
      let folder = try TemporaryFolder()
      for _ in 0..<3 {
        let db = try await TestFirestore.offline(
          name: "files-\(folder.url.lastPathComponent)", cache: PersistentCacheSettings(directory: folder.url))
        db.document("a/b").setData([:], completion: nil)
        _ = try await db.collection("a").getDocuments(source: .cache)
        #expect(!openFiles(in: folder.url).isEmpty)
        try await db.terminate()
        #expect(openFiles(in: folder.url) == [])
      }
    }

    @Test("no file of the cache is open when the app is reported as deleted, though its client was ending already")
    func filesOfDeletedApp() async throws {
      let folder = try TemporaryFolder()
      let test = try TestFirestore(cache: PersistentCacheSettings(directory: folder.url))
      try await test.firestore.disableNetwork()
      for number in 0..<500 { test.firestore.document("a/\(number)").setData(["n": number], completion: nil) }
      test.firestore.terminate(completion: nil)
      #expect(await test.app.delete())
      #expect(openFiles(in: folder.url) == [])
    }
  #endif

  @Test("the client and everything its callbacks captured are released")
  func released() async throws {
    try await TestBackend.run { host in
      let (db, runtime, thing) = try await useAndEnd(host)
      await thing.gone()
      await runtime.gone()
      await db.gone()
    }
  }

  private func useAndEnd(_ host: String) async throws -> (Weak<Firestore>, Weak<ClientRuntime>, Weak<Thing>) {
    let test = try TestFirestore(host: host)
    let (db, thing) = (test.firestore, Thing())
    try await db.document("a/b").setData(["n": 1])
    let heard = Recorder<Void>()
    db.collection("a").addSnapshotListener { _, _ in withExtendedLifetime(thing) { heard.record(()) } }
    db.document("a/b").addSnapshotListener { _, _ in withExtendedLifetime(thing) { heard.record(()) } }
    db.addSnapshotsInSyncListener { withExtendedLifetime(thing) { heard.record(()) } }
    for _ in 0..<3 { try await heard.next() }
    var iterator = db.collection("a").snapshots.makeAsyncIterator()
    _ = try await iterator.next()
    _ = try await db.runTransaction { transaction, _ in
      _ = try? transaction.getDocument(db.document("a/b"))
      transaction.setData(["n": 2], forDocument: db.document("a/b"))
      return nil
    }
    try await db.disableNetwork()
    db.document("a/c").setData([:]) { _ in withExtendedLifetime(thing) {} }
    db.waitForPendingWrites { _ in withExtendedLifetime(thing) {} }
    let references = (Weak(db), Weak(db.runtime()), Weak(thing))
    try await db.terminate()
    #expect(await test.app.delete())
    return references
  }

  @Test("a registration that is kept does not keep what its callback captured, even if that was running at the end")
  func registrations() async throws {
    let db = try await TestFirestore.offline()
    let (entered, release) = (Recorder<Void>(), DispatchSemaphore(value: 0))
    var thing: Thing? = Thing()
    let captured = Weak(try #require(thing))
    let registration = db.collection("a").addSnapshotListener { [thing] _, _ in
      withExtendedLifetime(thing) { entered.record(()) }
      release.wait()
    }
    thing = nil
    try await entered.next()
    try await db.terminate()
    #expect(!captured.isGone)
    release.signal()
    await captured.gone()
    registration.remove()
  }

  @Test("a loop over snapshots that is left ends its listener")
  func sequences() async throws {
    let db = try await TestFirestore.offline()
    func leave() async throws -> (Weak<Query>, Weak<DocumentReference>) {
      let (query, document) = (db.collection("a").limit(to: 5), db.document("a/b"))
      for try await _ in query.snapshots { break }
      for try await _ in document.snapshots { break }
      return (Weak(query), Weak(document))
    }
    let (query, document) = try await leave()
    await query.gone()
    await document.gone()
    try await db.terminate()
  }

  @Test("a cancelled task's loop over snapshots ends its listener, while the sequence lives on")
  func cancelledSequences() async throws {
    let db = try await TestFirestore.offline()
    let began = Recorder<Void>()
    func listen() -> (Task<Int, any Error>, Weak<Query>) {
      let query = db.collection("a").limit(to: 5)
      let task = Task { [query] in
        var count = 0
        for try await _ in query.snapshots {
          count += 1
          began.record(())
        }
        return count
      }
      return (task, Weak(query))
    }
    let (task, query) = listen()
    try await began.next()
    task.cancel()
    #expect(try await task.value == 1)
    await query.gone()
    try await db.terminate()
  }

  @Test("each of several calls of terminate is answered, and none before everything is closed")
  func repeatedTermination() async throws {
    try await TestBackend.run { host in
      let db = try TestFirestore(host: host).firestore
      try await db.document("a/b").setData(["n": 1])
      let ended = Recorder<Int>()
      for number in 0..<5 {
        db.terminate { error in
          #expect(error == nil)
          ended.record(number)
        }
      }
      for number in 0..<5 { #expect(try await ended.next() == number) }
      try await db.terminate()
    }
  }

  /// Confined to the main actor, so that a task that has begun has made its call before the test goes on.
  @Test(
    "tasks that wait for a backend or a token provider that says nothing are told of the end at once, and completions are not called",
    arguments: [false, true])
  @MainActor func silentBackend(isProviderSilent: Bool) async throws {
    let backend = try SilentBackend()
    let db = try TestFirestore(host: backend.host).firestore
    let (silence, endOfSilence) = AsyncStream.makeStream(of: Void.self)
    defer { endOfSilence.finish() }
    if isProviderSilent {
      let settings = db.settings
      settings.credentials = IDTokenCredentials(userID: "alice") { _ in
        // It does not heed its cancellation.
        await Task { for await _ in silence {} }.value
        return nil
      }
      db.settings = settings
    }
    let queue = db.settings.dispatchQueue
    db.document("a/b").setData(["n": 1], completion: nil)
    let called = Recorder<String>()
    let count = db.collection("a").count
    db.document("a/c").getDocument(source: .server) { @Sendable _, _ in called.record("document") }
    db.document("a/c").getDocument(as: [String: Int].self) { @Sendable _ in called.record("value") }
    db.collection("a").getDocuments { @Sendable _, _ in called.record("query") }
    count.getAggregation(source: .server) { @Sendable _, _ in called.record("count at the server") }
    count.getAggregation(source: .default) { @Sendable _, _ in called.record("count") }
    db.waitForPendingWrites { @Sendable _ in called.record("wait") }
    let (document, blocks) = (db.document("a/c"), Recorder<Void>())
    let block = { @Sendable (transaction: Hearth.Transaction, errorPointer: NSErrorPointer) -> Any? in
      blocks.record(())
      do {
        _ = try transaction.getDocument(document)
      } catch {
        errorPointer?.pointee = error as NSError
      }
      return nil
    }
    db.runTransaction(block) { @Sendable _, _ in called.record("transaction") }
    let begun = Recorder<Void>()
    let operations: [@MainActor @Sendable () async throws -> Void] = [
      { _ = try await db.document("a/c").getDocument(source: .server) },
      { _ = try await db.collection("a").getDocuments() },
      { _ = try await count.getAggregation(source: .server) },
      { _ = try await count.getAggregation(source: .default) },
      { try await db.waitForPendingWrites() },
      {
        _ = try await db.runTransaction { transaction, errorPointer in
          _ = block(transaction, errorPointer)
          return nil
        }
      },
    ]
    let tasks = operations.map { operation in
      Task { @MainActor in
        begun.record(())
        try await operation()
      }
    }
    for _ in tasks { try await begun.next() }
    // A client that ends does not run a block.
    for _ in 0..<2 { try await blocks.next() }
    try await db.terminate()
    for (number, task) in tasks.enumerated() {
      let error = await task.result.failure as NSError?
      #expect(error?.domain == FirestoreErrorDomain)
      // The block of the transaction may have read only after the end.
      if number < tasks.count - 1 { #expect(error?.code == FirestoreErrorCode.cancelled.rawValue, "\(number)") }
    }
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    #expect(called.events == [])
  }

  @Test("a terminated client that clears its cache ends the successor that uses it")
  func clearingUnderSuccessor() async throws {
    let folder = try TemporaryFolder()
    let name = UUID().uuidString
    let first = try await TestFirestore.offline(name: name, cache: PersistentCacheSettings(directory: folder.url))
    first.document("a/b").setData(["n": 1], completion: nil)
    try await first.terminate()
    let second = try await TestFirestore.offline(name: name, cache: PersistentCacheSettings(directory: folder.url))
    #expect(second !== first)
    #expect(try await second.pendingWrites().count == 1)
    try await first.clearPersistence()
    #expect(folder.contents().keys.allSatisfy { !$0.hasSuffix("cache.sqlite") })
    let error = await thrown { _ = try await second.pendingWrites() }
    #expect(error?.code == FirestoreErrorCode.failedPrecondition.rawValue)
    #expect(error?.localizedDescription.contains("cleared the cache or taken it over") == true)
    try await second.terminate()
    try await first.clearPersistence()
  }

  @Test("a cache that its successor has for itself is not cleared")
  func clearingUnderOwner() async throws {
    let folder = try TemporaryFolder()
    let name = UUID().uuidString
    let first = try TestFirestore(name: name, cache: PersistentCacheSettings(directory: folder.url)).firestore
    let path = try #require(first.cacheFolder)
    let owner = try HeldFolder(URL(fileURLWithPath: path))
    let error = await thrown { try await first.clearPersistence() }
    #expect(error?.code == FirestoreErrorCode.failedPrecondition.rawValue)
    #expect(error?.localizedDescription.contains("in use by another process") == true)
    owner.giveBack()
    try await first.clearPersistence()
  }

  @Test("databases of one app, and apps of one project, keep to themselves")
  func separation() async throws {
    let folder = try TemporaryFolder()
    let names = ["x-\(folder.url.lastPathComponent)", "x-\(folder.url.lastPathComponent)y"]
    for name in names { FirebaseApp.configure(name: name, options: FirebaseOptions(projectID: "demo-hearth")) }
    var clients: [Firestore] = []
    // The second and the fourth would be one if names were put together carelessly.
    for (app, database) in [(0, "(default)"), (0, "yz"), (1, "(default)"), (1, "z"), (0, "z")] {
      let app = try #require(FirebaseApp.app(name: names[app]))
      let db = Firestore.firestore(app: app, database: database)
      #expect(Firestore.firestore(app: app, database: database) === db)
      let settings = db.settings
      settings.host = "127.0.0.1:1"
      settings.isSSLEnabled = false
      settings.dispatchQueue = DispatchQueue(label: "test")
      settings.cacheSettings = PersistentCacheSettings(directory: folder.url)
      db.settings = settings
      try await db.disableNetwork()
      clients.append(db)
    }
    for (number, db) in clients.enumerated() { db.document("a/\(number)").setData([:], completion: nil) }
    for (number, db) in clients.enumerated() {
      #expect(try await db.collection("a").getDocuments(source: .cache).ids == ["\(number)"])
      #expect(try await db.pendingWrites().map { $0.operations.map(\.documentPath) } == [["a/\(number)"]])
      #expect(db.document("a/b") != clients[(number + 1) % clients.count].document("a/b"))
    }
    for name in names { await FirebaseApp.app(name: name)?.delete() }
    for db in clients { #expect(await Misuse.message { _ = db.batch() } == "The client has already been terminated.") }
  }

  @Test("deleting an app ends its databases; an app of the same name finds the queue")
  func deletedApp() async throws {
    let folder = try TemporaryFolder()
    let name = UUID().uuidString
    let cache = PersistentCacheSettings(directory: folder.url)
    let first = try TestFirestore(name: name, cache: cache)
    try await first.firestore.disableNetwork()
    first.firestore.document("a/b").setData(["n": 1], completion: nil)
    #expect(await first.app.delete())
    #expect(FirebaseApp.app(name: name) == nil)
    #expect(await !first.app.delete())
    let second = try await TestFirestore.offline(name: name, cache: cache)
    #expect(second !== first.firestore)
    #expect(try await second.pendingWrites().count == 1)
    try await second.terminate()
  }
}
