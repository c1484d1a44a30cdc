import Foundation
import Testing

@testable import Hearth

@Suite("Restarts and cache folders", .timeLimit(.minutes(1)))
struct LifeCycleTests {
  let folder: TemporaryFolder
  let name = UUID().uuidString

  init() throws {
    folder = try TemporaryFolder()
  }

  var cache: PersistentCacheSettings { PersistentCacheSettings(directory: folder.url) }
  var cachePath: URL { folder.url.appendingPathComponent("\(name)/demo-hearth/(default)") }

  @Test("data and queue are there after a restart, in order, with the network still off")
  func restart() async throws {
    let first = try await TestFirestore.offline(name: name, cache: cache)
    for i in 0..<5 { first.document("a/\(i)").setData(["n": i], completion: nil) }
    first.document("a/0").updateData(["n": FieldValue.increment(Int64(10))], completion: nil)
    let queued = try await first.pendingWrites()
    try await first.terminate()

    let second = try await TestFirestore.offline(name: name, cache: cache)
    #expect(second !== first)
    let result = try await second.collection("a").order(by: "n").getDocuments()
    #expect(result.documents.map { $0["n"] as? Int } == [1, 2, 3, 4, 10])
    #expect(result.metadata.hasPendingWrites)
    #expect(try await second.pendingWrites() == queued)
    #expect(queued.count == 6)
    try await second.terminate()
  }

  @Test("a successor opens the cache that is still being closed")
  func overlap() async throws {
    let first = try await TestFirestore.offline(name: name, cache: cache)
    first.document("a/1").setData(["n": 1], completion: nil)
    first.terminate(completion: nil)
    let second = try await TestFirestore.offline(name: name, cache: cache)
    #expect(try await second.document("a/1").getDocument()["n"] as? Int == 1)
  }

  @Test("termination ends waiting tasks and silences everything else")
  func termination() async throws {
    let db = try await TestFirestore.offline()
    let completions = Recorder<String>()
    db.document("a/b").setData(["n": 1]) { _ in completions.record("write completed") }
    let writing = Task { try await db.document("a/c").setData(["n": 1]) }
    var iterator = db.document("a/c").snapshots.makeAsyncIterator()
    while try await iterator.next()?.exists != true {}
    let (events, registration) = db.collection("a").record()
    _ = try await events.next()
    let count = events.events.count
    db.terminate { _ in completions.record("terminated") }
    #expect(try await completions.next() == "terminated")
    let error = await thrown { try await writing.value }
    #expect(error?.code == FirestoreErrorCode.cancelled.rawValue)
    let end = await thrown { while try await iterator.next() != nil {} }
    #expect(end?.code == FirestoreErrorCode.cancelled.rawValue)
    registration.remove()
    #expect(events.events.count == count)
    #expect(completions.events == ["terminated"])
  }

  @Test("termination does not call the completions of reads that wait for the backend, and ends tasks that do")
  func terminationDuringReads() async throws {
    let backend = try SilentBackend()
    let db = try TestFirestore(host: backend.host).firestore
    let queue = db.settings.dispatchQueue
    let ends = Recorder<String>()
    for source in [FirestoreSource.default, .server] {
      db.document("a/b").getDocument(source: source) { _, _ in ends.record("document") }
      db.collection("a").getDocuments(source: source) { _, _ in ends.record("query") }
    }
    // Made before the end: afterwards none can be.
    let document = db.document("a/b")
    let task = Task { try await document.getDocument() }
    // Answered after the reads have begun, which come before it.
    _ = try await db.collection("a").getDocuments(source: .cache)
    db.terminate { _ in ends.record("terminated") }
    #expect(await thrown { _ = try await task.value }?.code == FirestoreErrorCode.cancelled.rawValue)
    #expect(try await ends.next() == "terminated")
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    #expect(ends.events == ["terminated"])
  }

  @Test("termination does not wait for a callback that runs")
  func terminationDuringCallback() async throws {
    let db = try await TestFirestore.offline()
    let (entered, release) = (Recorder<Void>(), DispatchSemaphore(value: 0))
    db.collection("a").addSnapshotListener { _, _ in
      entered.record(())
      release.wait()
    }
    try await entered.next()
    try await db.terminate()
    release.signal()
    #expect(entered.events.count == 1)
  }

  @Test("clearing deletes documents and queue, before the first use or after the end only")
  func clearing() async throws {
    let first = try await TestFirestore.offline(name: name, cache: cache)
    first.document("a/1").setData(["n": 1], completion: nil)
    let error = await thrown { try await first.clearPersistence() }
    #expect(error?.code == FirestoreErrorCode.failedPrecondition.rawValue)
    #expect(error?.localizedDescription == "Persistence cannot be cleared while the client is running.")
    try await first.terminate()
    try await first.clearPersistence()
    let second = try await TestFirestore.offline(name: name, cache: cache)
    #expect(try await second.pendingWrites().isEmpty)
    let missing = await thrown { try await second.document("a/1").getDocument(source: .cache) }
    #expect(missing?.code == FirestoreErrorCode.unavailable.rawValue)
    second.document("a/2").setData([:], completion: nil)
    try await second.terminate()

    let unstarted = try TestFirestore(name: name, cache: cache).firestore
    try await unstarted.clearPersistence()
    try await unstarted.disableNetwork()
    #expect(try await unstarted.pendingWrites().isEmpty)
    try await TestFirestore().firestore.clearPersistence()
  }

  /// Every operation has to report the same error; the process goes on.
  func expectFailure(_ db: Firestore, _ code: FirestoreErrorCode.Code, mentions text: String) async throws {
    let operations: [(String, () async throws -> Void)] = [
      ("get", { _ = try await db.document("a/b").getDocument() }),
      ("cached get", { _ = try await db.document("a/b").getDocument(source: .cache) }),
      ("query", { _ = try await db.collection("a").getDocuments() }),
      ("set", { try await db.document("a/b").setData(["n": 1]) }),
      ("outbox", { _ = try await db.pendingWrites() }),
      ("wait", { try await db.waitForPendingWrites() }),
      ("sequence", { for try await _ in db.collection("a").snapshots {} }),
    ]
    for (name, operation) in operations {
      let error = await thrown(operation)
      #expect(error?.domain == FirestoreErrorDomain, "\(name)")
      #expect(error?.code == code.rawValue, "\(name)")
      #expect(error?.localizedDescription.contains(text) == true, "\(name): \(error?.localizedDescription ?? "none")")
    }
    let (events, _) = db.collection("a").record()
    let event = try await events.next()
    #expect(throws: NSError.self) { try event.get() }
  }

  @Test("a folder that cannot be made is reported with its path")
  func unwritableFolder() async throws {
    let file = folder.url.appendingPathComponent("file")
    try Data("in the way".utf8).write(to: file)
    let before = folder.contents()
    let db = try TestFirestore(cache: PersistentCacheSettings(directory: file)).firestore
    try await expectFailure(db, .failedPrecondition, mentions: file.path)
    try await db.terminate()
    #expect(folder.contents() == before)
  }

  @Test("a folder that others use is reported, and the first one goes on")
  func lockedFolder() async throws {
    let first = try await TestFirestore.offline(name: name, cache: cache)
    first.document("a/b").setData(["n": 1], completion: nil)
    _ = try await first.pendingWrites()
    let alias = folder.url.appendingPathComponent("alias")
    try FileManager.default.createSymbolicLink(at: alias, withDestinationURL: folder.url)
    let configuration = ClientConfiguration(
      databaseID: first.databaseID, endpoint: try Endpoint(host: "127.0.0.1:1", usesTLS: false),
      cache: .file(folder: cachePath.path, sizeBytes: -1), callbackQueue: .global())
    let error = #expect(throws: (any Error).self) { try OpenCache(configuration, userID: nil) }
    let shown = NSError.firestore(opening: try #require(error))
    #expect(shown.code == FirestoreErrorCode.failedPrecondition.rawValue)
    #expect(shown.localizedDescription.contains(cachePath.path))
    #expect(try await first.document("a/b").getDocument()["n"] as? Int == 1)
  }

  @Test("a file of a newer release is left alone and reported")
  func newerFile() async throws {
    let first = try await TestFirestore.offline(name: name, cache: cache)
    first.document("a/b").setData(["n": 1], completion: nil)
    try await first.terminate()
    try NewerFile.mark(cachePath.appendingPathComponent("cache.sqlite").path)
    // The lock file counts who had the folder.
    let contents = { [folder] in folder.contents().filter { !$0.key.hasSuffix("cache.lock") } }
    let before = contents()
    #expect(!before.isEmpty)
    let second = try TestFirestore(name: name, cache: cache).firestore
    try await expectFailure(second, .failedPrecondition, mentions: "Use the release that wrote it")
    try await second.terminate()
    #expect(contents() == before)
  }

  @Test("a file that is no database is set aside, and the client works")
  func notADatabase() async throws {
    try FileManager.default.createDirectory(at: cachePath, withIntermediateDirectories: true)
    let junk = Data((0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    try junk.write(to: cachePath.appendingPathComponent("cache.sqlite"))
    let db = try await TestFirestore.offline(name: name, cache: cache)
    db.document("a/b").setData(["n": 1], completion: nil)
    #expect(try await db.document("a/b").getDocument()["n"] as? Int == 1)
    #expect(folder.contents().values.contains(junk))
  }

  @Test("a wrong FIRESTORE_EMULATOR_HOST is reported by every operation")
  func failing() async throws {
    let runtime = ClientRuntime(
      failing: .firestore(.invalidArgument, "Environment variable"), callbackQueue: .global())
    let outcome = Outcome<Void>()
    runtime.waitForPendingWrites { outcome.resolve($0) }
    let error = await thrown { try await outcome.value() }
    #expect(error?.code == FirestoreErrorCode.invalidArgument.rawValue)
  }
}
