import Foundation
import HearthWire
import Synchronization
import TestSupport
import Testing

@testable import Hearth

@Suite("Reading with a policy", .timeLimit(.minutes(2)))
struct ReadPolicyTests {
  /// A client that keeps what it reads, on a connection that can be stalled.
  private func online(_ body: (Firestore, StallingProxy) async throws -> Void) async throws {
    try await TestBackend.run { host in
      let proxy = try StallingProxy(to: host)
      defer { proxy.close() }
      let other = try TestFirestore(host: host).firestore
      try await other.document("cities/SF").setData(["name": "San Francisco", "state": "CA"])
      try await other.document("cities/LA").setData(["name": "Los Angeles", "state": "CA"])
      try await other.document("cities/NYC").setData(["name": "New York", "state": "NY"])
      try await other.terminate()
      let cache = MemoryCacheSettings(garbageCollectorSettings: MemoryLRUGCSettings())
      let db = try TestFirestore(cache: cache, host: proxy.host).firestore
      try await body(db, proxy)
      try await db.terminate()
    }
  }

  private func code(_ body: () async throws -> Void) async -> FirestoreErrorCode.Code? {
    await thrown(body).flatMap { FirestoreErrorCode.Code(rawValue: $0.code) }
  }

  @Test("a document: the backend in time, the cache when the backend is silent, an error when nothing is known")
  func documentDeadline() async throws {
    try await online { db, proxy in
      let city = db.document("cities/SF")
      #expect(try await city.getDocument(policy: .server(within: .seconds(30))).metadata.isFromCache == false)
      proxy.stall()
      let cached = try await city.getDocument(policy: .server(within: .milliseconds(20)))
      #expect(cached.metadata.isFromCache && cached["name"] as? String == "San Francisco")
      let names = try await city.getDocument(as: [String: String].self, policy: .server(within: .milliseconds(20)))
      #expect(names["state"] == "CA")
      let unknown = await code {
        _ = try await db.document("cities/X").getDocument(policy: .server(within: .milliseconds(20)))
      }
      #expect(unknown == .deadlineExceeded)
      try await db.disableNetwork()
      let offline = await code {
        _ = try await db.document("cities/X").getDocument(policy: .server(within: .seconds(30)))
      }
      #expect(offline == .unavailable)
      #expect(try await city.getDocument(policy: .server(within: .seconds(30))).metadata.isFromCache)
    }
  }

  @Test("a document: what is known not to exist is an answer of the cache, what is unknown is not")
  func documentFromCache() async throws {
    try await online { db, _ in
      for policy in [ReadPolicy.cacheFirst, .cacheElseServer] {
        let missing = db.document("cities/missing-\(policy)")
        #expect(try await missing.getDocument(policy: policy).metadata.isFromCache == false)
        let known = try await missing.getDocument(policy: policy)
        #expect(known.metadata.isFromCache && !known.exists)
        try await db.disableNetwork()
        #expect(try await !missing.getDocument(policy: policy).exists)
        let unknown = await code { _ = try await db.document("cities/unknown-\(policy)").getDocument(policy: policy) }
        #expect(unknown == .unavailable)
        try await db.enableNetwork()
      }
      let first = try await db.document("cities/SF").getDocument(policy: .cacheFirst)
      #expect(!first.metadata.isFromCache && first.exists)
      #expect(try await db.document("cities/SF").getDocument(policy: .cacheElseServer).metadata.isFromCache)
      // A local write to an otherwise unknown document is all that the cache knows.
      db.document("cities/LA").setData(["name": "L. A."], completion: nil)
      #expect(try await db.document("cities/LA").getDocument(policy: .cacheFirst)["name"] as? String == "L. A.")
    }
  }

  @Test("a query: cacheFirst takes what there is, cacheElseServer only what is known to be complete")
  func query() async throws {
    try await online { db, proxy in
      let cities = db.collection("cities")
      let californian = cities.whereField("state", isEqualTo: "CA")
      #expect(try await cities.document("SF").getDocument().exists)

      try await db.disableNetwork()
      let first = try await californian.getDocuments(policy: .cacheFirst)
      #expect(first.ids == ["SF"] && first.metadata.isFromCache && first.completeness == .notSynchronized)
      #expect(await code { _ = try await californian.getDocuments(policy: .cacheElseServer) } == .unavailable)
      let none = cities.whereField("state", isEqualTo: "NY")
      #expect(try await none.getDocuments(policy: .cacheFirst).isEmpty)
      #expect(try await none.getDocuments(policy: .server(within: .seconds(30))).isEmpty)

      try await db.enableNetwork()
      let fromBackend = try await californian.getDocuments(policy: .cacheElseServer)
      #expect(fromBackend.ids == ["LA", "SF"] && !fromBackend.metadata.isFromCache)
      guard case .complete(let time?) = fromBackend.completeness else {
        Issue.record("\(fromBackend.completeness)")
        return
      }
      let cached = try await californian.getDocuments(policy: .cacheElseServer)
      #expect(cached.ids == ["LA", "SF"] && cached.metadata.isFromCache && cached.completeness.isComplete)
      #expect(try await none.getDocuments(policy: .cacheFirst).ids == ["NYC"])

      proxy.stall()
      let late = try await californian.getDocuments(policy: .server(within: .milliseconds(20)))
      #expect(late.ids == ["LA", "SF"] && late.metadata.isFromCache)
      guard case .complete(let cachedTime?) = late.completeness else {
        Issue.record("\(late.completeness)")
        return
      }
      #expect(cachedTime.dateValue() >= time.dateValue())
    }
  }

  /// Holds the answers of the backend back until the test opens it, and counts the targets that it was asked for.
  private final class Gate: AnswerInterceptor {
    struct Targets {
      var open = 0
      /// The most that were open at a time, in the order of the requests.
      var most = 0
      var removals = 0
    }

    let targets = Mutex(Targets())
    private let isOpen = Mutex(true)
    private let (stream, continuation) = AsyncStream<Void>.makeStream()

    func callBegan(_ method: String) {}

    func noteRequest(_ request: any Sendable) {
      guard let change = (request as? Google_Firestore_V1_ListenRequest)?.targetChange else { return }
      targets.withLock { targets in
        switch change {
        case .addTarget: targets.open += 1
        case .removeTarget: (targets.open, targets.removals) = (targets.open - 1, targets.removals + 1)
        }
        targets.most = max(targets.most, targets.open)
      }
    }

    func answer(_ answer: any Sendable, to method: String) async -> any Sendable {
      if method == "Listen", !isOpen.withLock({ $0 }) { for await _ in stream {} }
      return answer
    }

    func close() { isOpen.withLock { $0 = false } }

    func open() {
      isOpen.withLock { $0 = true }
      continuation.finish()
    }
  }

  @Test("an answer that comes too late is in the cache for the next read")
  func lateAnswer() async throws {
    let gate = Gate()
    try await InterceptedServer.run(gate) { host in
      let other = try TestFirestore(host: host).firestore
      try await other.document("cities/SF").setData(["name": "San Francisco"])
      let cache = MemoryCacheSettings(garbageCollectorSettings: MemoryLRUGCSettings())
      let db = try TestFirestore(cache: cache, host: host).firestore
      gate.close()
      let city = db.document("cities/SF")
      let late = await code { _ = try await city.getDocument(policy: .server(within: .milliseconds(20))) }
      #expect(late == .deadlineExceeded)
      gate.open()
      while (try? await city.getDocument(source: .cache)) == nil { await Task.yield() }
      #expect(try await city.getDocument(policy: .cacheElseServer)["name"] as? String == "San Francisco")
      try await db.terminate()
      try await other.terminate()
    }
  }

  @Test("reads whose time is over leave no target behind alongside an open listener")
  func abandoned() async throws {
    let gate = Gate()
    try await InterceptedServer.run(gate) { host in
      let cache = MemoryCacheSettings(garbageCollectorSettings: MemoryLRUGCSettings())
      let db = try TestFirestore(cache: cache, host: host).firestore
      let cities = db.collection("cities")
      let (events, registration) = cities.record(includeMetadataChanges: true)
      while try await events.next().get().metadata.isFromCache {}
      gate.close()
      for _ in 0..<5 {
        #expect(try await cities.getDocuments(policy: .server(within: .zero)).metadata.isFromCache)
      }
      // Each request is taken behind the answers to those before it.
      gate.open()
      while gate.targets.withLock({ $0.removals }) < 5 {
        try Task.checkCancellation()
        await Task.yield()
      }
      #expect(gate.targets.withLock { $0.most } == 2)
      registration.remove()
      try await db.terminate()
    }
  }

  private struct City: Codable, QueryableModel {
    var name: String
    var state: String
    static let fieldTable: FieldTable<City> = [\.state: "state"]
  }

  @Test("typed queries and collections have the same policies")
  func typed() async throws {
    try await online { db, _ in
      let cities = db.collection("cities", of: City.self)
      let found = try await cities.where(\.state == "CA").getDocuments(policy: .cacheElseServer)
      #expect(found.documents.map(\.name) == ["Los Angeles", "San Francisco"] && found.completeness.isComplete)
      try await db.disableNetwork()
      #expect(try await cities.getDocument("SF", policy: .cacheElseServer)?.name == "San Francisco")
      #expect(try await cities.where(\.state == "CA").getDocuments(policy: .cacheElseServer).documents.count == 2)
    }
  }

  @Test("a cancelled task stops waiting")
  func cancellation() async throws {
    let backend = try SilentBackend()
    let db = try TestFirestore(host: backend.host).firestore
    let task = Task { try await db.document("cities/SF").getDocument(policy: .cacheElseServer) }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    try await db.terminate()
  }

  @Test("a client that is terminated ends the read")
  func termination() async throws {
    let backend = try SilentBackend()
    let db = try TestFirestore(host: backend.host).firestore
    let task = Task { try await db.document("cities/SF").getDocument(policy: .server(within: .seconds(3600))) }
    // The read has begun when another one behind it has been answered.
    _ = await code { _ = try await db.document("cities/SF").getDocument(source: .cache) }
    try await db.terminate()
    #expect(await code { _ = try await task.value } == .cancelled)
  }
}
