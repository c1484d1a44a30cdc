import Foundation
import HearthModel
import HearthServer
import HearthSync
import Observation
import TestSupport
import Testing

@testable import Hearth

/// The state of a client that interfaces show.
@Suite("The state of a client", .timeLimit(.minutes(2)))
struct StatusTests {
  private func withServer(_ body: (_ host: String) async throws -> Void) async throws {
    try await EndToEndTests().withServer(body)
  }

  @Test("it goes from offline over pending writes to in sync, and back")
  func offlineAndInSync() async throws {
    try await withServer { host in
      let db = try TestFirestore(host: host).firestore
      try await db.disableNetwork()
      var statuses = db.statuses.makeAsyncIterator()
      let first = try #require(try await statuses.next())
      #expect(first.connection == .offline(.networkDisabled, nextAttempt: nil))
      #expect(first.pendingWriteCount == 0 && first.lastInSync == nil && first.work == [])

      db.document("cities/SF").setData(["n": 1], completion: nil)
      let waiting = try #require(try await statuses.next())
      #expect(waiting.pendingWriteCount == 1 && waiting.connection == first.connection)

      let began = Date()
      try await db.enableNetwork()
      let inSync = try await statuses.next { $0.connection == .inSync }
      #expect(inSync.pendingWriteCount == 0)
      #expect(try #require(inSync.lastInSync) >= began)

      try await db.disableNetwork()
      let offline = try await statuses.next { $0.connection != .inSync }
      #expect(offline.connection == .offline(.networkDisabled, nextAttempt: nil))
      #expect(try #require(offline.lastInSync) >= #require(inSync.lastInSync))
      try await db.terminate()
    }
  }

  @Test("a listener is in sync when the backend has confirmed its result")
  func listener() async throws {
    try await TestBackend.run { host in
      let proxy = try StallingProxy(to: host)
      defer { proxy.close() }
      let db = try TestFirestore(host: proxy.host).firestore
      let first = db.collection("cities").record()
      _ = try await db.status { $0.connection == .inSync }
      #expect(try await first.recorder.next().get().metadata.isFromCache == false)
      proxy.stall()
      let second = db.collection("towns").record()
      #expect(try await db.status().connection == .connecting)
      second.registration.remove()
      first.registration.remove()
      try await db.terminate()
    }
  }

  @Test("a write waits until the backend has answered")
  func write() async throws {
    try await TestBackend.run { host in
      let proxy = try StallingProxy(to: host)
      defer { proxy.close() }
      let db = try TestFirestore(host: proxy.host).firestore
      try await db.document("cities/SF").setData(["n": 1])
      #expect(try await db.status().connection == .inSync)
      proxy.stall()
      db.document("cities/SF").setData(["n": 2], completion: nil)
      let status = try await db.status()
      #expect(status.connection == .connecting && status.pendingWriteCount == 1)
      #expect(status.lastInSync != nil)
      try await db.terminate()
    }
  }

  @Test("the last time in sync is known also if nobody observed")
  func unobserved() async throws {
    try await withServer { host in
      let db = try TestFirestore(host: host).firestore
      let began = Date()
      try await db.document("cities/SF").setData(["n": 1])
      try await db.disableNetwork()
      let last = try #require(try await db.status().lastInSync)
      #expect(last >= began.addingTimeInterval(-0.001) && last <= Date())
      try await db.terminate()
    }
  }

  @Test("a backend that cannot be reached has an error and a next attempt, which can be brought forward")
  func nextAttempt() async throws {
    let db = try TestFirestore().firestore
    db.document("cities/SF").setData(["n": 1], completion: nil)
    let began = Date()
    let status = try await db.status {
      if case .offline(.unreachable(_?), nextAttempt: let next?) = $0.connection { next > Date() } else { false }
    }
    guard case .offline(.unreachable(let error), nextAttempt: let next) = status.connection else {
      Issue.record("\(status)")
      return
    }
    #expect(error?.code == FirestoreErrorCode.Code.unavailable.rawValue)
    #expect(try #require(next) > began && #require(next) < began.addingTimeInterval(60))
    #expect(status.pendingWriteCount == 1)
    try await db.terminate()
  }

  @Test("a lost connection is shown until it is there again")
  func lostConnection() async throws {
    let server = try await EmbeddedServer.start(port: 0, storage: .memory, logger: EndToEndTests.quiet)
    let port = server.port
    let db = try TestFirestore(host: "127.0.0.1:\(port)").firestore
    let cities = db.collection("cities").record(includeMetadataChanges: true)
    var statuses = db.statuses.makeAsyncIterator()
    _ = try await statuses.next { $0.connection == .inSync }
    await server.shutdown()
    let lost = try await statuses.next {
      if case .offline(.unreachable, nextAttempt: _?) = $0.connection { true } else { false }
    }
    #expect(lost.lastInSync != nil)
    let again = try await EmbeddedServer.start(port: port, storage: .memory, logger: EndToEndTests.quiet)
    try await db.outbox.retryNow()
    _ = try await statuses.next { $0.connection == .inSync }
    cities.registration.remove()
    try await db.terminate()
    await again.shutdown()
  }

  @Test("the filling of an index shows its progress in documents")
  func indexFilling() async throws {
    let folder = try TemporaryFolder()
    let db = try await TestFirestore.offline(cache: PersistentCacheSettings(directory: folder.url))
    _ = try await db.loadBundle(TestBundle.cities(db, count: 500))
    let index = try IndexDefinition(
      collectionGroup: "cities", fields: [.init(path: HearthModel.FieldPath(["state"]), kind: .ascending)])
    let reading = Outcome<FirestoreStatus>()
    // Both calls are made on the client's loop, so that the second one is in its mailbox before the first step can be.
    let runtime = db.runtime()
    runtime.readStatus { _ in
      runtime.setIndexes([index]) { _ in }
      runtime.readStatus { reading.resolve($0.mapError { $0 }) }
    }
    let work = try #require(try await reading.value().work.first)
    #expect(work.kind == .indexFilling && work.completed == 0 && work.total == 500)
    #expect(work.fractionCompleted == 0)
    _ = try await db.status { $0.work == [] }
    try await db.terminate()
  }

  @Test("a bundle shows its progress while it is read")
  func bundle() async throws {
    let db = try await TestFirestore.offline()
    let bytes = Array(TestBundle.cities(db, count: 100))
    let ended = Recorder<NSError?>()
    let id = db.runtime().beginBundle(BundleObserver(progress: { _ in }, completion: { ended.record($0) }))
    let recorder = Recorder<FirestoreStatus>()
    let registration = db.runtime().observeStatus { if case .success(let status) = $0 { recorder.record(status) } }
    db.runtime().addToBundle(id, Array(bytes[..<(bytes.count / 2)])) { _ in }
    let loading = try #require(try await recorder.next { !$0.work.isEmpty }.work.first)
    #expect(loading.kind == .bundleLoading && loading.total == 100 && (1..<100).contains(loading.completed))
    db.runtime().addToBundle(id, Array(bytes[(bytes.count / 2)...])) { _ in }
    db.runtime().endBundle(id, nil)
    #expect(try await ended.next() == nil)
    _ = try await recorder.next { $0.work.isEmpty }
    registration.remove()
    try await db.terminate()
  }

  @Test("a process without the connection shows the state of the one that has it, and no attempt of its own")
  func severalProcesses() async throws {
    let cache = try SharedCache()
    let settings = PersistentCacheSettings(directory: cache.directory)
    let db = try TestFirestore(name: try cache.name(), cache: settings).firestore
    let cities = db.collection("cities").record()
    _ = try await db.status {
      if case .offline(.unreachable, nextAttempt: _?) = $0.connection { true } else { false }
    }
    let other = try TestFirestore(name: try cache.name(), cache: settings).firestore
    _ = try await other.status { $0.connection == .offline(.unreachable(nil), nextAttempt: nil) }
    other.document("cities/SF").setData(["n": 1], completion: nil)
    _ = try await db.status { $0.pendingWriteCount == 1 }
    cities.registration.remove()
    try await other.terminate()
    try await db.terminate()
  }

  @Test("a slow task gets the newest state, and the end of the client")
  func slowTask() async throws {
    let db = try await TestFirestore.offline()
    var statuses = db.statuses.makeAsyncIterator()
    #expect(try await statuses.next()?.pendingWriteCount == 0)
    for n in 1...20 {
      let receipt = db.document("cities/\(n)").withReceipt.setData(["n": n])
      try await receipt.saved()
    }
    let newest = Recorder<FirestoreStatus>()
    let registration = db.runtime().observeStatus { if case .success(let status) = $0 { newest.record(status) } }
    _ = try await newest.next { $0.pendingWriteCount == 20 }
    registration.remove()
    var seen: [Int] = []
    while seen.last != 20 { seen.append(try #require(try await statuses.next()).pendingWriteCount) }
    #expect(seen.count <= 2)
    try await db.terminate()
    let error = await thrown { while try await statuses.next() != nil {} }
    #expect(error?.code == FirestoreErrorCode.Code.cancelled.rawValue)
  }

  @Test("the observable object follows the client and tells its observers") @MainActor
  func model() async throws {
    let db = try await TestFirestore.offline()
    let model = FirestoreStatusModel(db)
    try await model.wait { $0.status != nil }
    #expect(model.status?.pendingWriteCount == 0)
    db.document("cities/SF").setData(["n": 1], completion: nil)
    try await model.wait { $0.status?.pendingWriteCount == 1 }
    try await db.terminate()
    try await model.wait { $0.error != nil }
    #expect((model.error as NSError?)?.code == FirestoreErrorCode.Code.cancelled.rawValue)
  }

  @Test("times in sync: since when while it lasts, until when afterwards")
  func inStepTimes() {
    var times = InSyncTimes()
    func at(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }
    func note(_ isInSync: Bool, _ seconds: Double, confirmed: Double? = nil, isObserved: Bool = true) -> Date? {
      times.note(isInSync: isInSync, confirmed: confirmed.map(at), isObserved: isObserved, now: at(seconds))
    }
    #expect(note(false, 1) == nil)
    #expect(note(false, 2, confirmed: 1.5) == at(1.5))
    #expect(note(true, 3) == at(3))
    #expect(note(true, 4) == at(3))
    #expect(note(false, 5, confirmed: 3.5) == at(5))
    #expect(note(false, 6, confirmed: 3.5) == at(5))
    #expect(note(true, 7, isObserved: false) == at(7))
    #expect(note(false, 9, confirmed: 8, isObserved: false) == at(8))
  }
}

extension Firestore {
  /// The first state of this kind, waiting for it.
  func status(where isWanted: (FirestoreStatus) -> Bool) async throws -> FirestoreStatus {
    var statuses = statuses.makeAsyncIterator()
    return try await statuses.next(where: isWanted)
  }
}

extension FirestoreStatuses.Iterator {
  /// The next state of this kind.
  mutating func next(where isWanted: (FirestoreStatus) -> Bool) async throws -> FirestoreStatus {
    while let status = try await next() {
      if isWanted(status) { return status }
    }
    throw CancellationError()
  }
}

extension FirestoreStatusModel {
  /// Waits as a view does: it looks again when the observation says that something it has read has changed.
  fileprivate func wait(until isReached: (FirestoreStatusModel) -> Bool) async throws {
    while true {
      let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
      let isDone = withObservationTracking {
        isReached(self)
      } onChange: {
        continuation.yield()
      }
      if isDone { return }
      for await _ in changes { break }
      try Task.checkCancellation()
    }
  }
}
