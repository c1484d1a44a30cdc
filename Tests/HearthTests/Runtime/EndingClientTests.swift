import Foundation
import HearthCache
import HearthModel
import HearthStore
import HearthSync
import HearthTesting
import Synchronization
import TestSupport
import Testing

@testable import Hearth

/// A client that was stopped and hears its last answers, and the next client of its folder.
@Suite("A client that hears its last answers", .timeLimit(.minutes(2)))
struct EndingClientTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  // MARK: - Order

  private func configuration(_ host: String, _ sharing: CacheSharing) throws -> ClientConfiguration {
    var configuration = try SuspensionTests.configuration(folder.url, sharing)
    configuration.endpoint = try Endpoint(host: host, usesTLS: false)
    configuration.busyTimeout = .milliseconds(20)
    return configuration
  }

  private func write(_ path: String, _ value: Int64, _ client: ClientRuntime) throws {
    client.write([.set(try DocumentKey(parsing: path), ["n": .integer(value)])], nil)
  }

  private func count(_ client: ClientRuntime) async throws -> Int {
    let outcome = Outcome<Int>()
    client.pendingWriteCount { outcome.resolve($0.mapError { $0 }) }
    return try await outcome.value()
  }

  private func pendingWrites(_ client: ClientRuntime) async throws -> [MutationBatch] {
    let outcome = Outcome<OutboxContents>()
    client.pendingWrites { outcome.resolve($0.mapError { $0 }) }
    return try await outcome.value().batches
  }

  @Test("a write that waits in memory at the end is stored before those of the next client", arguments: [true, false])
  func order(isAnswerAwaited: Bool) async throws {
    let keeper = AnswerKeeper()
    try await InterceptedServer.run(keeper) { host in
      let client = ClientRuntime(try configuration(host, .shared))
      if isAnswerAwaited {
        try write("a/sent", 0, client)
        try await keeper.arrived.next()
      }
      let before = try await count(client)
      let other = try Database(.file(path: folder.url.appendingPathComponent("cache.sqlite").path))
      try other.execute("BEGIN IMMEDIATE")
      try write("a/b", 1, client)
      #expect(try await count(client) == before + 1)
      let end = Outcome<Void>()
      client.stop { end.resolve($0) }
      let next = ClientRuntime(try configuration(host, .shared))
      next.setNetworkEnabled(false) { _ in }
      try write("a/b", 2, next)
      // What both clients have been told so far is done.
      LoopQueue.queue(forFolder: folder.url.path).queue.sync {}
      try other.execute("ROLLBACK")
      other.close()
      let error = await thrown { try await end.value() }
      let batches = try await pendingWrites(next)
      let values = try batches.flatMap(\.mutations).filter { $0.key.path.canonicalString == "a/b" }.map { mutation in
        guard case .set(let fields) = mutation.operation, case .integer(let n)? = try fields.decoded()["n"] else {
          return Int64(-1)
        }
        return n
      }
      if isAnswerAwaited { #expect(error == nil) }
      // If the first one is not saved, that is reported.
      if error == nil { #expect(values == [1, 2]) } else { #expect(values == [2]) }
      let stopped = Outcome<Void>()
      next.stop { stopped.resolve($0) }
      try await stopped.value()
      keeper.release()
      withExtendedLifetime(client) {}
    }
  }

  // MARK: - Reads of the next client

  @Test(
    "the next client's read from the server has the backend's state", arguments: [FirestoreSource.server, .default])
  func staleRead(source: FirestoreSource) async throws {
    try await ScriptedBackend.run { backend in
      let db = backend.firestore(named: "phone")
      try await backend.others.document("a/doc").setData(["n": 1])
      let (recorder, _) = db.document("a/doc").record(includeMetadataChanges: true)
      _ = try await recorder.next {
        guard case .success(let snapshot) = $0 else { return false }
        return !snapshot.metadata.isFromCache && snapshot.get("n") as? Int == 1
      }
      backend.hold(.writes)
      db.document("a/held").setData(["n": 1], completion: nil)
      try await waitUntil { backend.heldCount == 1 }
      let ended = Recorder<Void>()
      db.terminate { _ in ended.record(()) }
      try await backend.others.document("a/doc").setData(["n": 2])
      let next = backend.firestore(named: "phone")
      let read = try await next.document("a/doc").getDocument(source: source)
      #expect(read.get("n") as? Int == 2 || read.metadata.isFromCache)
      try await ended.next()
      backend.release()
      try await next.terminate()
    }
  }

  // MARK: - Refusals

  @Test("a refusal is no last answer: the next client sends the write again, and hears the refusal")
  func refusal() async throws {
    try await ScriptedBackend.run { backend in
      let db = backend.firestore(named: "phone")
      backend.hold(.writes)
      let document = db.document("a/b")
      let caller = Task { try await document.setData(["n": 1]) }
      try await waitUntil { backend.heldCount == 1 }
      let ended = Recorder<Void>()
      db.terminate { _ in ended.record(()) }
      backend.reject(.writes, with: .permissionDenied, times: nil)
      backend.release()
      #expect(await thrown { try await caller.value }?.code == FirestoreErrorCode.cancelled.rawValue)
      try await ended.next()
      let next = backend.firestore(named: "phone")
      try await next.waitForPendingWrites()
      #expect(try await next.rejectedWrites.writes().count == 1)
      try await next.terminate()
    }
  }

  // MARK: - Resolvers

  @Test("no resolver is asked once the client is being ended")
  func resolver() async throws {
    try await ScriptedBackend.run { backend in
      try await backend.others.document("notes/a").setData(["text": "theirs"])
      let asked = Mutex<[Bool]>([])
      let rule = ConflictRule.document(
        "notes/a",
        .custom { conflict in
          let isTerminated = conflict.document.firestore.isTerminated
          asked.withLock { $0.append(isTerminated) }
          return .keepLocal
        })
      let db = backend.firestore(named: "phone") { $0.conflictRules = [rule] }
      backend.hold(.writes.at("a"))
      backend.delay(.reads.at("notes"), by: .milliseconds(400))
      db.document("a/held").setData(["n": 1], completion: nil)
      try await waitUntil { backend.heldCount == 1 }
      db.document("notes/a").setData(["text": "mine"], completion: nil)
      _ = try await db.pendingWrites()
      try await db.terminate()
      #expect(!asked.withLock { $0.contains(true) })
      backend.release()
    }
  }

  @Test("a resolver that answers with a batch does not stop the process when its client is being ended")
  func resolverWithBatch() async {
    await #expect(processExitsWith: .success) {
      try await ScriptedBackend.run { backend in
        try await backend.others.document("notes/a").setData(["text": "theirs"])
        let rule = ConflictRule.document(
          "notes/a",
          .custom { conflict in
            .written(
              by: conflict.document.firestore.batch().setData(["text": "batch"], forDocument: conflict.document))
          })
        let db = backend.firestore(named: "phone") { $0.conflictRules = [rule] }
        backend.hold(.writes.at("a"))
        backend.delay(.reads.at("notes"), by: .milliseconds(400))
        db.document("a/held").setData(["n": 1], completion: nil)
        try await waitUntil { backend.heldCount == 1 }
        db.document("notes/a").setData(["text": "mine"], completion: nil)
        _ = try await db.pendingWrites()
        try await db.terminate()
        backend.release()
      }
    }
  }

  // MARK: - Pauses

  @Test("a pause ends with the client, and one that begins later at once")
  func pauses() async throws {
    let pauses = Pauses()
    let ended = Recorder<Int>()
    pauses.run(after: .zero) { ended.record(0) }
    #expect(try await ended.next() == 0)
    pauses.run(after: .seconds(600)) { ended.record(1) }
    #expect(ended.events == [0])
    pauses.end()
    pauses.run(after: .seconds(600)) { ended.record(2) }
    #expect(ended.events == [0, 1, 2])
  }

  // MARK: - Combinations

  @Test("an answer after the network was switched off counts for the client that ends then")
  func disabledBefore() async throws {
    let keeper = AnswerKeeper()
    let cache = PersistentCacheSettings(directory: folder.url)
    let name = UUID().uuidString
    try await InterceptedServer.run(keeper) { host in
      let db = try TestFirestore(name: name, cache: cache, host: host).firestore
      let answered = Recorder<NSError?>()
      db.document("a/b").setData(["n": 1]) { answered.record($0 as NSError?) }
      try await keeper.arrived.next()
      try await db.disableNetwork()
      let ended = Recorder<Int>()
      db.terminate { _ in ended.record(1) }
      db.terminate { _ in ended.record(2) }
      keeper.release()
      #expect(try await answered.next() == nil)
      #expect(try await ended.next() == 1)
      #expect(try await ended.next() == 2)
    }
    let next = try await TestFirestore.offline(name: name, cache: cache)
    #expect(try await next.pendingWrites().isEmpty)
    try await next.terminate()
  }

  @Test("clearing the cache does not wait for the answers to a client that ends")
  func clearing() async throws {
    try await ScriptedBackend.run { backend in
      let db = backend.firestore(named: "phone")
      backend.hold(.writes)
      db.document("a/b").setData(["n": 1], completion: nil)
      try await waitUntil { backend.heldCount == 1 }
      db.terminate(completion: nil)
      try await db.clearPersistence()
      let next = backend.firestore(named: "phone")
      try await next.disableNetwork()
      #expect(try await next.pendingWrites().isEmpty)
      try await next.terminate()
      backend.release()
    }
  }

  /// Stops an exclusive client whose answer is kept, and gives the next one a write.
  private func withNextAlone(_ body: (ClientRuntime) async throws -> Void) async throws {
    let keeper = AnswerKeeper()
    try await InterceptedServer.run(keeper) { host in
      let client = ClientRuntime(try configuration(host, .alone))
      try write("a/sent", 0, client)
      try await keeper.arrived.next()
      let end = Outcome<Void>()
      client.stop { end.resolve($0) }
      let next = ClientRuntime(try configuration(host, .alone))
      next.setNetworkEnabled(false) { _ in }
      try write("a/b", 2, next)
      try await body(next)
      let stopped = Outcome<Void>()
      next.stop { stopped.resolve($0) }
      // Fails if a write is lost.
      try await stopped.value()
      try await end.value()
      keeper.release()
      withExtendedLifetime(client) {}
    }
  }

  @Test("the next client has the folder for itself after the one that hears its last answers")
  func aloneAfterwards() async throws {
    try await withNextAlone { next in
      let count = try await pendingWrites(next).count
      #expect(count == 2)
    }
  }

  @Test("a next client that ends while the one before hears its last answers loses no write")
  func aloneEndedAtOnce() async throws {
    try await withNextAlone { _ in }
  }

  @Test("the next client reaches the backend although the network of the one before was off")
  func disabledPredecessor() async throws {
    try await ScriptedBackend.run { backend in
      let db = backend.firestore(named: "phone")
      try await backend.others.document("a/doc").setData(["n": 1])
      backend.hold(.writes)
      db.document("a/held").setData(["n": 1], completion: nil)
      try await waitUntil { backend.heldCount == 1 }
      try await db.disableNetwork()
      db.terminate(completion: nil)
      let next = backend.firestore(named: "phone")
      let error = await thrown { _ = try await next.document("a/doc").getDocument(source: .server) }
      #expect(error == nil)
      backend.release()
      try await next.terminate()
    }
  }

  // MARK: - A cache that is lost while an answer is on its way

  @Test("the caller of a write that the backend has does not hear that it is lost, when the folder is deleted")
  func deletedWhileAtBackend() async throws {
    let keeper = AnswerKeeper()
    let cache = PersistentCacheSettings(directory: folder.url)
    let name = UUID().uuidString
    try await InterceptedServer.run(keeper) { host in
      let db = try TestFirestore(name: name, cache: cache, host: host).firestore
      let answered = Recorder<NSError?>()
      db.document("a/b").setData(["n": FieldValue.increment(Int64(1))], merge: true) { answered.record($0 as NSError?) }
      try await keeper.arrived.next()
      let files = folder.url.appendingPathComponent("\(name)/demo-hearth/(default)")
      try FileManager.default.removeItem(at: files)
      let error = try await answered.next()
      #expect(error?.code != FirestoreErrorCode.dataLoss.rawValue)
      let other = try TestFirestore(host: host).firestore
      #expect(try await other.document("a/b").getDocument(source: .server).get("n") as? Int == 1)
      keeper.release()
      try await other.terminate()
      try await db.terminate()
    }
  }

  @Test("the caller of a write that may be at the backend does not hear that it is lost, when its page is damaged")
  func damagedWhileAtBackend() async throws {
    let ends = Recorder<Int?>()
    let queue = DispatchQueue(label: "client")
    try queue.sync {
      let configuration = try SuspensionTests.configuration(folder.url)
      let client = try RunningClient(configuration, on: queue) { _ in }
      client.start()
      let mutation = Mutation.set(try DocumentKey(parsing: "a/b"), ["n": .integer(1)])
      let write = LocalWrite(id: WriteID(rawValue: 1), mutations: [mutation], localWriteTime: .now())
      let completion = WriteCompletion(finish: { ends.record($0?.code) }, abandon: { ends.record($0.code) })
      client.handle(.writes([WriteCall(write: write, completion: completion)]))
      let stream = StreamID(rawValue: 1)
      client.handle(.stream(.writeStreamOpened(stream)))
      client.handle(.stream(.writeStreamMessage(stream, WriteResponse(streamToken: [1]))))
      #expect(client.engine.batchesAtBackend.count == 1)
      let other = try Database(.file(path: folder.url.appendingPathComponent("cache.sqlite").path))
      try other.execute("DELETE FROM cache_batch_documents")
      try other.execute("DELETE FROM cache_mutation_batches")
      other.close()
      let remainder = client.endForReopening(.fileIsDamaged("a page"))
      let next = try RunningClient(configuration, on: queue, continuing: remainder) { _ in }
      next.start()
      next.stop { _ in }
    }
    let code = try await ends.next()
    #expect(code != FirestoreErrorCode.dataLoss.rawValue)
  }
}
