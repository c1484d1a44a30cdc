import Foundation
import HearthWire
import Synchronization
import Testing

@testable import Hearth

/// A client on a real file system that has no byte left.
@Suite("A full disk", .serialized, .timeLimit(.minutes(2)))
struct FullDiskTests {
  /// A backend that knows no labels, and whose answers to writes can be held back.
  private final class ForgetfulBackend: AnswerInterceptor {
    private struct State {
      var holdsAnswers = false
      var held: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    let answeredWrites = Atomic<Int>(0)
    let heldAnswers = Recorder<Void>()

    func callBegan(_ method: String) {}

    func answer(_ answer: any Sendable, to method: String) async -> any Sendable {
      guard var response = answer as? Google_Firestore_V1_WriteResponse else { return answer }
      response.streamID = ""
      guard response.hasCommitTime else { return response }
      await withCheckedContinuation { continuation in
        let goesOn = state.withLock { state in
          guard state.holdsAnswers else { return true }
          state.held.append(continuation)
          return false
        }
        if goesOn { continuation.resume() } else { heldAnswers.record(()) }
      }
      answeredWrites.add(1, ordering: .relaxed)
      return response
    }

    func holdAnswers() { state.withLock { $0.holdsAnswers = true } }

    func release() {
      let held = state.withLock { state in
        state.holdsAnswers = false
        defer { state.held = [] }
        return state.held
      }
      for continuation in held { continuation.resume() }
    }
  }

  @Test(
    "writes are stored or fail with resourceExhausted, an increment that was sent is committed once, and all goes on",
    .mountsFileSystem)
  func full() async throws {
    let disk = try await SmallFileSystem.make(sizeBytes: 3 << 20)
    let backend = ForgetfulBackend()
    try await InterceptedServer.run(backend) { host in
      let cache = PersistentCacheSettings(directory: disk.url)
      let db = try TestFirestore(cache: cache, host: host).firestore
      let other = try TestFirestore(host: host).firestore
      try await db.document("rooms/first").setData(["n": 1])
      let rooms = db.collection("rooms").record(includeMetadataChanges: true).recorder
      _ = try await rooms.next { (try? $0.get().metadata.isFromCache) == false }

      // The increment is saved, sent and committed; its answer comes when nothing can be stored any more.
      backend.holdAnswers()
      let increment = Recorder<Int?>()
      db.document("counters/a").setData(["n": FieldValue.increment(Int64(1))], merge: true) {
        increment.record(($0 as NSError?)?.code)
      }
      try await backend.heldAnswers.next()
      try disk.fill()
      backend.release()

      // A write that does not fit is refused with its reason; one that fits waits for its answer.
      let outcomes = Recorder<(number: Int, code: Int?)>()
      for number in 0..<200 {
        let text = String(repeating: "x", count: 20_000)
        db.document("large/\(number)").setData(["text": text]) { outcomes.record((number, ($0 as NSError?)?.code)) }
      }
      let refused = try await outcomes.next { $0.code != nil }
      #expect(refused.code == FirestoreErrorCode.resourceExhausted.rawValue)
      // Snapshots of the backend cannot be stored either. Reads go on.
      try await other.document("rooms/second").setData(["n": 2])
      #expect(try await db.document("rooms/first").getDocument(source: .cache)["n"] as? Int == 1)
      #expect(try await other.document("counters/a").getDocument(source: .server)["n"] as? Int == 1)

      try disk.makeSpace()
      #expect(try await increment.next() == nil)
      _ = try await rooms.next { (try? $0.get().ids) == ["first", "second"] }
      try await db.waitForPendingWrites()
      try await db.document("counters/a").updateData(["n": FieldValue.increment(Int64(1))])
      let counter = try await other.document("counters/a").getDocument(source: .server)
      #expect(counter["n"] as? Int == 2)

      // Nothing that was refused is there, and nothing that was not is missing.
      while outcomes.events.count < 200 { _ = try await outcomes.next() }
      let stored = Set(outcomes.events.filter { $0.code == nil }.map { "\($0.number)" })
      #expect(Set(try await other.collection("large").getDocuments(source: .server).ids) == stored)
      #expect(outcomes.events.allSatisfy { $0.code == nil || $0.code == refused.code })
      try await db.terminate()
      try await other.terminate()
    }
    await disk.unmount()
  }

  @Test(
    "a cache that cannot be created because space is lacking is an error that says so, and works when there is space",
    .mountsFileSystem)
  func noSpaceForTheFile() async throws {
    let disk = try await SmallFileSystem.make(sizeBytes: 1 << 20)
    try disk.fill()
    let name = UUID().uuidString
    let cache = PersistentCacheSettings(directory: disk.url)
    let db = try TestFirestore(name: name, cache: cache).firestore
    let error = await thrown { try await db.document("a/b").setData(["n": 1]) }
    #expect(error?.domain == FirestoreErrorDomain)
    try disk.makeSpace()
    try await db.disableNetwork()
    db.document("a/b").setData(["n": 1], completion: nil)
    #expect(try await db.pendingWrites().count == 1)
    try await db.terminate()
    await disk.unmount()
  }

  @Test(
    "a cache that cannot be opened for want of space is used by the next operation when there is space",
    .mountsFileSystem)
  func noSpaceAtStart() async throws {
    let disk = try await SmallFileSystem.make(sizeBytes: 3 << 20)
    let name = UUID().uuidString
    let cache = PersistentCacheSettings(directory: disk.url)
    let former = try await TestFirestore.offline(name: name, cache: cache)
    former.document("a/b").setData(["n": 1], completion: nil)
    #expect(try await former.pendingWrites().count == 1)
    try await former.terminate()
    try disk.fill()
    let db = try TestFirestore(name: name, cache: cache).firestore
    let error = await thrown { _ = try await db.document("a/b").getDocument(source: .cache) }
    #expect(error?.domain == FirestoreErrorDomain)
    try disk.makeSpace()
    #expect(try await db.document("a/b").getDocument(source: .cache)["n"] as? Int == 1)
    try await db.terminate()
    await disk.unmount()
  }
}
