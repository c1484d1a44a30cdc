import Foundation
import Testing

@testable import Hearth

@Suite("A cache folder in use", .timeLimit(.minutes(1)))
struct FolderWaitTests {
  let folder: TemporaryFolder
  let name = UUID().uuidString

  init() throws {
    folder = try TemporaryFolder()
  }

  var cache: PersistentCacheSettings { PersistentCacheSettings(directory: folder.url) }

  func takeFolder() throws -> HeldFolder {
    try HeldFolder(folder.url.appendingPathComponent("\(name)/demo-hearth/(default)"))
  }

  func client(_ credentials: (any FirestoreCredentials)? = nil) throws -> Firestore {
    let db = try TestFirestore(name: name, cache: cache).firestore
    if let credentials {
      let settings = db.settings
      settings.credentials = credentials
      db.settings = settings
    }
    return db
  }

  @Test("calls wait in order until the folder is free, and nothing is lost")
  func freedMeanwhile() async throws {
    let holder = try takeFolder()
    let db = try client()
    db.disableNetwork { _ in }
    for n in 0..<5 { db.document("a/\(n)").setData(["n": n], completion: nil) }
    db.document("a/4").updateData(["n": FieldValue.increment(Int64(10))], completion: nil)
    let events = Recorder<(wasHeld: Bool, snapshot: QuerySnapshot?)>()
    db.collection("a").order(by: "n").addSnapshotListener { snapshot, _ in events.record((holder.isHeld, snapshot)) }
    DispatchQueue.global().asyncAfter(deadline: .now() + 2) { holder.giveBack() }
    let first = try await events.next()
    #expect(!first.wasHeld)
    #expect(first.snapshot?.documents.map { $0["n"] as? Int } == [0, 1, 2, 3, 14])
    #expect(try await db.pendingWrites().count == 6)
    try await db.terminate()
  }

  @Test("a folder that stays in use is an error that names it and the time, and is used once it is free")
  func freedLater() async throws {
    let holder = try takeFolder()
    let db = try client()
    let start = ContinuousClock.now
    let error = await thrown { try await db.document("a/b").setData(["n": 1]) }
    #expect(ContinuousClock.now - start >= FolderWait.limit)
    #expect(error?.code == FirestoreErrorCode.failedPrecondition.rawValue)
    let message = try #require(error?.localizedDescription)
    #expect(message.contains(folder.url.path) && message.contains("is in use by another process"))
    #expect(message.contains("not free within 5 seconds; every later call tries again"))
    // This one does not wait: the next call is handled although the folder is still in use.
    let again = await thrown { _ = try await db.document("a/b").getDocument(source: .cache) }
    #expect(again?.localizedDescription == message)
    #expect(holder.isHeld)

    holder.giveBack()
    try await db.disableNetwork()
    db.document("a/c").setData(["n": 2], completion: nil)
    #expect(try await db.collection("a").getDocuments(source: .cache).ids == ["c"])
    try await db.terminate()
  }

  @Test("a client that gave the folder up opens it for the user who has signed in since")
  func userMeanwhile() async throws {
    let holder = try takeFolder()
    let users = IDTokenCredentials(userID: "alice") { _ in throw CancellationError() }
    let db = try client(users)
    #expect(await thrown { try await db.disableNetwork() } != nil)
    users.setUser("bob")
    #expect(await thrown { try await db.disableNetwork() } != nil)
    holder.giveBack()
    try await db.disableNetwork()
    db.document("a/bob").setData(["n": 1], completion: nil)
    users.setUser("alice")
    #expect(try await db.pendingWrites().isEmpty)
    users.setUser("bob")
    #expect(try await db.pendingWrites().count == 1)
    try await db.terminate()
  }

  @Test("a network that could not be disabled while the folder was in use is disabled when the client runs")
  func networkMeanwhile() async throws {
    let holder = try takeFolder()
    let db = try client()
    #expect(await thrown { try await db.disableNetwork() } != nil)
    holder.giveBack()
    #expect(try await db.pendingWrites().isEmpty)
    var statuses = db.statuses.makeAsyncIterator()
    #expect(try await statuses.next()?.connection == .offline(.networkDisabled, nextAttempt: nil))
    try await db.terminate()
  }

  @Test("a client that waits for its folder is terminated at once, and what it was asked for ends")
  func terminated() async throws {
    let holder = try takeFolder()
    let db = try client()
    let queue = db.settings.dispatchQueue
    let ends = Recorder<Int?>()
    db.document("a/b").setData(["n": 1]) { ends.record(($0 as NSError?)?.code) }
    db.disableNetwork { ends.record(($0 as NSError?)?.code) }
    // Those of reads are not called.
    let read = Recorder<String>()
    db.document("a/b").getDocument(source: .cache) { _, _ in read.record("document") }
    db.collection("a").getDocuments(source: .cache) { _, _ in read.record("query") }
    for source in [AggregateSource.cache, .default] {
      db.collection("a").count.getAggregation(source: source) { _, _ in read.record("count") }
    }
    db.getQuery(named: "a") { _ in read.record("named query") }
    db.waitForPendingWrites { _ in read.record("wait") }
    // The write was never saved.
    #expect(await thrown { try await db.terminate() }?.code == FirestoreErrorCode.unavailable.rawValue)
    #expect(holder.isHeld)
    #expect(try await ends.next() == FirestoreErrorCode.unavailable.rawValue)
    #expect(try await ends.next() == FirestoreErrorCode.cancelled.rawValue)
    await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    #expect(ends.events.count == 2 && read.events == [])
  }

  @Test("deleting an app says that a write which waits for the folder was not saved")
  func deletedApp() async throws {
    let holder = try takeFolder()
    let db = try client()
    let end = Recorder<Int?>()
    db.document("a/b").setData(["n": 1]) { end.record(($0 as NSError?)?.code) }
    #expect(await db.app.delete() == false)
    #expect(holder.isHeld)
    #expect(try await end.next() == FirestoreErrorCode.unavailable.rawValue)
    #expect(FirebaseApp.app(name: db.app.name) == nil)
  }

  @Test("after an attempt that took long and did not help there is a rest, after a short one there is none")
  func rests() throws {
    let wait = FolderWait(try SuspensionTests.configuration(folder.url))
    wait.attemptFailed(after: .milliseconds(20))
    #expect(!wait.rests)
    wait.attemptFailed(after: .seconds(60))
    #expect(wait.rests)
    wait.attemptFailed(after: .milliseconds(20))
    #expect(!wait.rests)
  }
}
