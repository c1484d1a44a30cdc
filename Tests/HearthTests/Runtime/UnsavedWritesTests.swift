import Foundation
import HearthModel
import HearthStore
import HearthSync
import MetricsTestKit
import TestSupport
import Testing

@testable import Hearth
@testable import HearthCache

/// A write that waits for another process, which holds the cache's file or its folder, exists only in memory. Nobody may take it for saved.
@Suite("Writes that are not saved yet", .timeLimit(.minutes(2)))
struct UnsavedWritesTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
  }

  /// A client without a network that waits for 20 ms for the file.
  func client(_ sharing: CacheSharing = .shared, path: String = "") async throws -> ClientRuntime {
    var configuration = try SuspensionTests.configuration(folder.url.appendingPathComponent(path), sharing)
    configuration.busyTimeout = .milliseconds(20)
    let client = ClientRuntime(configuration)
    client.setNetworkEnabled(false) { _ in }
    return client
  }

  /// Holds the file as a process does that was stopped in the middle of a transaction.
  func holdFile() throws -> Database {
    let database = try Database(.file(path: folder.url.appendingPathComponent("cache.sqlite").path))
    try database.execute("BEGIN IMMEDIATE")
    return database
  }

  func write(_ path: String, _ client: ClientRuntime) throws -> Outcome<Void> {
    let outcome = Outcome<Void>()
    client.write(
      [.set(try DocumentKey(parsing: path), ["n": .integer(1)])],
      WriteCompletion(finish: { outcome.resolve($0) }, abandon: { outcome.resolve($0) }))
    return outcome
  }

  func pendingWrites(_ client: ClientRuntime) async throws -> [MutationBatch] {
    let outcome = Outcome<OutboxContents>()
    client.pendingWrites { outcome.resolve($0.mapError { $0 }) }
    return try await outcome.value().batches
  }

  /// A client that has the folder for itself, and one that waits for it for 100 ms.
  func lockedOut() async throws -> (owner: ClientRuntime, client: ClientRuntime) {
    let owner = try await client(.alone)
    #expect(try await count(owner) == 0)
    var configuration = try SuspensionTests.configuration(
      folder.url.appendingPathComponent("../\(folder.url.lastPathComponent)"))
    configuration.folderWaitLimit = .milliseconds(100)
    return (owner, ClientRuntime(configuration))
  }

  func count(_ client: ClientRuntime) async throws -> Int {
    let outcome = Outcome<Int>()
    client.pendingWriteCount { outcome.resolve($0.mapError { $0 }) }
    return try await outcome.value()
  }

  func stop(_ client: ClientRuntime) async throws {
    let outcome = Outcome<Void>()
    client.stop { outcome.resolve($0) }
    try await outcome.value()
  }

  func code(_ body: () async throws -> Void) async -> FirestoreErrorCode.Code? {
    do {
      try await body()
      return nil
    } catch {
      return (error as? FirestoreErrorCode)?.code
    }
  }

  @Test("the list of pending writes says that there are some, and contains them when they are saved")
  func list() async throws {
    let client = try await client()
    #expect(try await count(client) == 0)
    let other = try holdFile()
    _ = try write("a/b", client)
    #expect(await code { _ = try await pendingWrites(client) } == .unavailable)
    #expect(try await count(client) == 1)
    try other.execute("ROLLBACK")
    try await waitUntil { (try? await pendingWrites(client).map(\.keys.count)) == [1] }
    #expect(try await count(client) == 1)
    other.close()
    try await stop(client)
  }

  @Test("a receipt of one is not unknown")
  func receipt() async throws {
    let client = try await client()
    #expect(try await count(client) == 0)
    let other = try holdFile()
    var random = SystemRandomNumberGenerator()
    let identity = BatchIdentity.random(using: &random)
    client.write(
      [.set(try DocumentKey(parsing: "a/b"), ["n": .integer(1)])],
      receipt: WriteCompletion(
        finish: { _ in }, abandon: { _ in },
        receipt: ReceiptCallbacks(identity: identity, saved: {}, ended: { _ in })))
    #expect(await code { _ = try await fate(of: identity, client) } == .unavailable)
    try other.execute("ROLLBACK")
    guard case .pending = try await fate(of: identity, client) else {
      Issue.record("The write was not found.")
      return
    }
    other.close()
    try await stop(client)
  }

  func fate(of identity: BatchIdentity, _ client: ClientRuntime) async throws -> LocalStore.WriteFate {
    let outcome = Outcome<LocalStore.WriteFate>()
    client.readReceipt(identity, following: WriteCompletion(finish: { _ in }, abandon: { _ in })) {
      outcome.resolve($0.mapError { $0 })
    }
    return try await outcome.value()
  }

  @Test("those who observe the outbox see their number")
  func observers() async throws {
    let client = try await client()
    let contents = Recorder<[Int]>()
    let handle = client.observeOutbox { event in
      guard case .success(let now) = event else { return }
      contents.record([now.batches.count, now.status.unsavedCount])
    }
    _ = try await contents.next { $0 == [0, 0] }
    let other = try holdFile()
    _ = try write("a/b", client)
    _ = try await contents.next { $0 == [0, 1] }
    try other.execute("ROLLBACK")
    _ = try await pendingWrites(client)
    _ = try await contents.next { $0 == [1, 0] }
    handle.remove()
    other.close()
    try await stop(client)
  }

  @Test("the end of the client stores them if the file is free then")
  func storedAtEnd() async throws {
    let client = try await client()
    #expect(try await count(client) == 0)
    let other = try holdFile()
    let written = try write("a/b", client)
    #expect(try await count(client) == 1)
    try other.execute("ROLLBACK")
    other.close()
    try await stop(client)
    #expect(await code { try await written.value() } == .cancelled)
    let next = try await self.client()
    #expect(try await pendingWrites(next).count == 1)
    try await stop(next)
  }

  @Test("the end of the client fails if it cannot store them, and so do they")
  func lostAtEnd() async throws {
    let client = try await client()
    let saved = try write("a/saved", client)
    #expect(try await pendingWrites(client).count == 1)
    let other = try holdFile()
    let written = try write("a/b", client)
    #expect(await code { try await stop(client) } == .unavailable)
    #expect(await code { try await written.value() } == .unavailable)
    #expect(await code { try await saved.value() } == .cancelled)
    try other.execute("ROLLBACK")
    other.close()
    let next = try await self.client()
    #expect(try await pendingWrites(next).count == 1)
    try await stop(next)
  }

  @Test("those of a client that still waits for its folder fail with it")
  func lostInFolderWait() async throws {
    let owner = try await client(.alone)
    #expect(try await count(owner) == 0)
    let client = try await client(.alone, path: "../\(folder.url.lastPathComponent)")
    let written = try write("a/b", client)
    #expect(await code { try await stop(client) } == .unavailable)
    #expect(await code { try await written.value() } == .unavailable)
    try await stop(owner)
  }

  @Test("those of a client that waits for its folder are stored at its end if the folder is free then")
  func storedAfterFolderWait() async throws {
    let owner = try await client(.alone)
    #expect(try await count(owner) == 0)
    let client = try await client(.alone, path: "../\(folder.url.lastPathComponent)")
    let written = try write("a/b", client)
    try await stop(owner)
    try await stop(client)
    #expect(await code { try await written.value() } == .cancelled)
    let next = try await self.client()
    #expect(try await pendingWrites(next).count == 1)
    try await stop(next)
  }

  @Test("those that wait for a damaged cache make the end of the client fail if it cannot be opened any more")
  func lostInReopening() throws {
    let path = folder.url.path
    let queue = DispatchQueue(label: "client")
    let ends = Recorder<NSError?>()
    try queue.sync {
      let loop = ClientLoop(try SuspensionTests.configuration(folder.url, .shared), on: queue)
      func handle(_ message: ClientLoop.Message) { loop.handle([message]) { _ in } }
      handle(.start)
      let other = try FolderLock(folder: path, mode: .shared)
      defer { other.release() }
      try CacheFiles(folder: path).mark("made to fail")
      handle(.fromClient(number: 1, .othersChanged))
      let mutation = Mutation.set(try DocumentKey(parsing: "a/b"), ["n": .integer(1)])
      let write = LocalWrite(id: WriteID(rawValue: 1), mutations: [mutation], localWriteTime: .epoch)
      handle(.call(.writes([WriteCall(write: write)])))
      let newerRelease = try Database(.file(path: path + "/cache.sqlite"))
      try newerRelease.execute("UPDATE schema_versions SET version = 99 WHERE component = 'cache'")
      newerRelease.close()
      handle(.stop { ends.record($0) })
    }
    #expect(ends.events.count == 1)
    let message = ends.events.first??.localizedDescription
    #expect(message?.contains("1 write is not saved") == true, "\(String(describing: message))")
  }

  @Test("those that wait for a damaged cache are saved when its disk lets it be opened again")
  func failingDiskInReopening() async throws {
    let path = folder.url.path
    let queue = DispatchQueue(label: "client")
    let (ends, lists) = (Recorder<NSError?>(), Recorder<Result<OutboxContents, NSError>>())
    try queue.sync {
      let loop = ClientLoop(try SuspensionTests.configuration(folder.url, .shared), on: queue)
      func handle(_ message: ClientLoop.Message) { loop.handle([message]) { _ in } }
      handle(.start)
      let other = try FolderLock(folder: path, mode: .shared)
      try CacheFiles(folder: path).mark("made to fail")
      handle(.fromClient(number: 1, .othersChanged))
      let mutation = Mutation.set(try DocumentKey(parsing: "a/b"), ["n": .integer(1)])
      let write = LocalWrite(id: WriteID(rawValue: 1), mutations: [mutation], localWriteTime: .epoch)
      handle(.call(.writes([WriteCall(write: write)])))
      other.release()
      // A folder in the place of the file that is locked first.
      let obstacle = path + "/cache.lock"
      try FileManager.default.removeItem(atPath: obstacle)
      try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
      handle(.openAgain)
      try FileManager.default.removeItem(atPath: obstacle)
      handle(
        .call(
          .request(
            RequestID(rawValue: 2),
            .pendingWrites {
              lists.record($0)
              return true
            })))
      handle(.stop { ends.record($0) })
    }
    #expect(lists.events.map { try? $0.get().batches.count } == [1])
    #expect(try await ends.next() == nil)
  }

  @Test(
    "those that nobody heard of, because another process has the folder, are reported by the end of the client, once",
    arguments: [false, true])
  func refusedWithoutCompletion(_ isMeasured: Bool) async throws {
    let owner = try await client(.alone)
    #expect(try await count(owner) == 0)
    let path = folder.url.appendingPathComponent("../\(folder.url.lastPathComponent)")
    var configuration = try SuspensionTests.configuration(path)
    configuration.folderWaitLimit = .milliseconds(100)
    if isMeasured {
      configuration.instruments = ClientInstruments(
        InstrumentSources(metrics: TestMetrics()), databaseID: configuration.databaseID)
    }
    let client = ClientRuntime(configuration)
    client.write([.set(try DocumentKey(parsing: "a/waited"), [:])], nil)
    #expect(await code { _ = try await count(client) } == .failedPrecondition)
    client.write([.set(try DocumentKey(parsing: "a/later"), [:])], nil)
    let heard = try write("a/heard", client)
    #expect(await code { try await heard.value() } == .failedPrecondition)
    let error = await thrown { try await stop(client) }
    #expect(error?.code == FirestoreErrorCode.unavailable.rawValue)
    #expect(error?.localizedDescription.contains("2 writes are not saved") == true)
    try await stop(client)
    try await stop(owner)
  }

  @Test("those that nobody heard of are reported again if the task that asked was cancelled")
  func reportedToNobody() async throws {
    let (owner, client) = try await lockedOut()
    client.write([.set(try DocumentKey(parsing: "a/lost"), [:])], nil)
    #expect(await code { _ = try await count(client) } == .failedPrecondition)
    try await stop(owner)
    let asked = Outcome<Void>()
    client.pendingWrites { _ in
      asked.resolve(.success(()))
      return false
    }
    try await asked.value()
    #expect(await code { _ = try await pendingWrites(client) } == .unavailable)
    #expect(try await pendingWrites(client).isEmpty)
    try await stop(client)
  }

  @Test("an outcome says whether somebody hears of it")
  func cancelledOutcome() async throws {
    let outcome = Outcome<Int>()
    let task = Task { try await outcome.value() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(!outcome.resolve(.success(1)))
    let heard = Outcome<Int>()
    #expect(heard.resolve(.success(1)))
    #expect(try await heard.value() == 1)
  }

  @Test("those that were refused while another process had the folder are reported although the client has run since")
  func refusedBeforeRunning() async throws {
    let (owner, client) = try await lockedOut()
    client.setNetworkEnabled(false) { _ in }
    client.write([.set(try DocumentKey(parsing: "a/lost"), [:])], nil)
    #expect(await code { _ = try await count(client) } == .failedPrecondition)
    try await stop(owner)
    client.write([.set(try DocumentKey(parsing: "a/saved"), [:])], nil)
    let error = await thrown { try await stop(client) }
    #expect(error?.localizedDescription.contains("1 write is not saved") == true)
    let next = try await self.client()
    #expect(try await pendingWrites(next).flatMap(\.keys).map(\.canonicalString) == ["a/saved"])
    try await stop(next)
  }

  @Test(
    "those that a suspension has ended are reported, by the next list or by the end of the client with all others",
    arguments: [true, false])
  func lostInSuspension(isListed: Bool) async throws {
    let client = try await client()
    #expect(try await count(client) == 0)
    let holder = try holdFile()
    client.write([.set(try DocumentKey(parsing: "a/lost"), [:])], nil)
    #expect(try await count(client) == 1)
    await withCheckedContinuation { continuation in client.post(.suspend { continuation.resume() }) }
    holder.close()
    let other = try await self.client(.alone, path: "../\(folder.url.lastPathComponent)")
    #expect(try await count(other) == 0)
    try await stop(other)
    client.post(.resume)
    if isListed {
      #expect(await code { _ = try await pendingWrites(client) } == .unavailable)
      #expect(try await pendingWrites(client).isEmpty)
      return try await stop(client)
    }
    #expect(try await count(client) == 0)
    let again = try holdFile()
    client.write([.set(try DocumentKey(parsing: "a/lost"), [:])], nil)
    let error = await thrown { try await stop(client) }
    again.close()
    #expect(
      error?.localizedDescription.components(separatedBy: "1 write is not saved").count == 3,
      "\(String(describing: error))")
  }

  @Test(
    "those without a completion that the cache refuses are counted until they are reported", arguments: [false, true])
  func refusedByCache(areHeld: Bool) throws {
    var configuration = try SuspensionTests.configuration(folder.url, .shared)
    configuration.busyTimeout = .milliseconds(20)
    let (loop, lost) = (DispatchQueue(label: "loop"), LostWrites())
    try loop.sync {
      let client = try RunningClient(configuration, on: loop, lost) { _ in }
      client.start()
      client.handle(.request(RequestID(rawValue: 1), .networkSwitch(isEnabled: false) { _ in }))
      func write(_ number: Int, _ completion: WriteCompletion? = nil) throws {
        let mutation = Mutation.set(try DocumentKey(parsing: "a/\(number)"), [:])
        let write = LocalWrite(id: WriteID(rawValue: number), mutations: [mutation], localWriteTime: .epoch)
        client.handle(.writes([WriteCall(write: write, completion: completion)]))
      }
      try write(1)
      let other = areHeld ? try holdFile() : nil
      if areHeld { try write(2) }
      #expect(client.engine.heldWriteCount == (areHeld ? 1 : 0))
      try other?.execute("ROLLBACK")
      other?.close()
      client.cache.localStore.database.injectFailure = {
        $0 == .commit ? StoreError(kind: .full, message: "database or disk is full", sqliteCode: 13) : nil
      }
      if !areHeld { try write(2) }
      let (heard, lists) = (Recorder<NSError?>(), Recorder<Result<OutboxContents, NSError>>())
      try write(3, WriteCompletion(finish: { heard.record($0) }, abandon: { _ in }))
      #expect(heard.events.count == 1 && heard.events[0] != nil)
      client.cache.localStore.database.injectFailure = nil
      #expect(client.engine.heldWriteCount == 0 && client.reopening == nil)

      let list = ClientRequest.pendingWrites {
        lists.record($0)
        return true
      }
      client.handle(.request(RequestID(rawValue: 2), list))
      let failures = lists.events.map { if case .failure(let error) = $0 { error.localizedDescription } else { "" } }
      #expect(failures.count == 1 && failures[0].contains("1 write is not saved"))
      #expect(lost.takeAll() == nil)
      client.stop { _ in }
    }
  }
}
