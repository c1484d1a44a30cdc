import HearthCache
import HearthModel
import HearthStore
import Testing

@testable import HearthSync

@Suite("A cache file that another process, stopped in a transaction, keeps locked")
struct LockedFileTests {
  private let cache: SharedCache
  private let client: SharedTestClient
  private let stopped: Database

  init() throws {
    cache = try SharedCache()
    client = try cache.client("a", busyTimeout: .milliseconds(20))
    stopped = try Database(.file(path: cache.file))
  }

  private func lock() throws { try stopped.execute("BEGIN IMMEDIATE") }

  private func unlock() throws {
    try stopped.execute("ROLLBACK")
    cache.wait(60)
  }

  private func set(_ path: String) -> Mutation { .set(key(path), ["n": .integer(1)]) }

  @Test("a listener waits, and begins with the writes before it")
  func listenersWait() throws {
    try lock()
    let first = client.listen(collection("halls"))
    client.write(set("rooms/1"))
    let second = client.listen(rooms)
    cache.wait(10)
    #expect(client.snapshots.isEmpty && client.errors.isEmpty)
    try unlock()
    #expect(client.ids(first) == [])
    #expect(client.snapshots[second]?.first?.ids == ["1"])
    #expect(client.watched.count == 2)
  }

  @Test("the writes that are not saved are known until they are stored")
  func heldWrites() throws {
    client.write(set("rooms/1"))
    try lock()
    let held = [client.write(set("rooms/2")), client.write(set("rooms/3"))]
    #expect(client.engine.heldWriteIDs == held)
    try unlock()
    #expect(client.engine.heldWriteIDs.isEmpty)
  }

  @Test("a wait for pending writes ends with its user, and says nothing of the next one's")
  func waitOfFormerUser() throws {
    try lock()
    client.write(set("rooms/1"))
    let wait = client.request(.waitForPendingWrites)
    #expect(client.answers[wait] == nil && client.failedRequests[wait] == nil)
    client.post(.changeUser("other"))
    #expect(client.failedRequests[wait]?.code == .cancelled)
    try unlock()
    #expect(client.answers.isEmpty)
    #expect(try client.store.pendingBatches(of: .user(nil)).map(\.mutations.count) == [1])
  }

  @Test("a client that could not say that it wants the network again gets the connection for its user's writes")
  func networkEnabledMeanwhile() throws {
    let other = try cache.client("b", busyTimeout: .milliseconds(20))
    other.post(.changeUser("other"))
    other.post(.request(RequestID(rawValue: 900), .disableNetwork))
    other.write(set("rooms/1"))
    try lock()
    other.post(.request(RequestID(rawValue: 901), .enableNetwork))
    try unlock()
    #expect(other.engine.isPrimary)
    #expect(other.sentBatches.map { $0[0].key } == [key("rooms/1")])
  }

  enum Leaving: CaseIterable {
    case disablingNetwork, suspending, ending
  }

  @Test(
    "an answer that could not be stored is stored before another client can send its batch again",
    arguments: Leaving.allCases)
  func answerBeforeLease(leaving: Leaving) throws {
    let other = try cache.client("b", busyTimeout: .milliseconds(20))
    let write = client.write(set("rooms/1"))
    try lock()
    try client.commit(at: 10)
    // The attempts have become rare.
    cache.wait(20)
    #expect(client.writes[write] == nil)
    try stopped.execute("ROLLBACK")
    switch leaving {
    case .disablingNetwork: _ = client.request(.disableNetwork)
    case .suspending: client.suspend()
    case .ending:
      client.post(.shutdown)
      client.kill()
    }
    cache.wait(60)
    #expect(client.writes[write] == .some(nil))
    #expect(other.engine.isPrimary && other.sentBatchCount == 0)
    #expect(try other.store.pendingBatches().isEmpty)
  }

  /// Counts the transactions of these names.
  private func count(_ names: String..., of client: SharedTestClient) -> () -> Int {
    var count = 0
    for name in names {
      func note() {
        count += 1
        client.hooks[name] = note
      }
      client.hooks[name] = note
    }
    return { count }
  }

  @Test("a client that cannot store its role waits for the file ever more rarely")
  func changedRole() throws {
    _ = try cache.client("b", busyTimeout: .milliseconds(20))
    let attempts = count("updateClientMetadataAndTryBecomePrimary", of: client)
    try lock()
    client.post(.setVisibility(true))
    cache.wait(60)
    #expect((2...12).contains(attempts()))
    try unlock()
    #expect(try cache.count("SELECT count(*) FROM cache_clients WHERE is_visible != 0") == 1)
  }

  @Test("a holder that cannot leave the lease waits for the file ever more rarely")
  func turnThatCannotEnd() throws {
    let other = try cache.client("b", busyTimeout: .milliseconds(20))
    other.post(.changeUser("other"))
    other.write(set("rooms/1"))
    let attempts = count("Leave lease", "updateClientMetadataAndTryBecomePrimary", of: client)
    try lock()
    cache.wait(60)
    #expect((2...14).contains(attempts()))
    // Nothing was left: the client goes on as the holder until it can leave.
    #expect(client.engine.isPrimary && client.store.isPrimary)
    try unlock()
    cache.wait(10)
    #expect(other.engine.isPrimary && other.sentBatches.count == 1)
  }

  @Test("a client that is suspended after that does not take the lease back when its pause is over")
  func suspendedAfterTurn() throws {
    let other = try cache.client("b", busyTimeout: .milliseconds(20))
    other.post(.changeUser("other"))
    other.write(set("rooms/1"))
    try lock()
    cache.wait(60)
    try stopped.execute("ROLLBACK")
    client.suspend()
    client.fire(.asyncQueueRetry)
    #expect(try cache.count("SELECT count(*) FROM cache_sharing WHERE lease_holder = 0") == 1)
    cache.wait(60)
    #expect(other.engine.isPrimary && other.sentBatches.count == 1)
  }

  @Test("a holder whose file was held is not taken for one without a connection")
  func heldHolder() throws {
    let other = try cache.client("b", busyTimeout: .milliseconds(20))
    other.post(.changeUser("other"))
    client.answersTargets = true
    client.listen(rooms)
    cache.deliver()
    other.write(set("rooms/1"))
    try lock()
    try client.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(30))))
    cache.wait(120)
    #expect(client.engine.isPrimary && client.engine.onlineState == .offline)
    try unlock()
    #expect(other.sentBatches.count == 1)
    #expect(client.store.futileTurnCount == 0)
  }

  @Test("a state that could not be published does not let each event wait for the file")
  func unpublishedState() throws {
    let other = try cache.client("b", busyTimeout: .milliseconds(20))
    other.listen(rooms)
    cache.deliver()
    let attempts = count("Publish online state", "Publish target states", of: client)
    try lock()
    try client.send(.targetChange(WatchTargetChange(state: .added, targetIDs: [2])))
    for _ in 0..<20 { try client.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [2]))) }
    #expect(attempts() == 1)
    try stopped.execute("ROLLBACK")
    // A backend that never answered the target would count as offline.
    try client.send(.targetChange(WatchTargetChange(state: .current, targetIDs: [2], resumeToken: [1])))
    try client.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(30))))
    cache.wait(60)
    #expect(other.engine.onlineState == .online)
  }

  @Test("a big query's listener waits, too")
  func backgroundListenerWaits() throws {
    let other = try cache.client(
      "b", limits: BackgroundQueryLimits(documentsOnLoop: -1, partsPerScan: 1), busyTimeout: .milliseconds(20))
    try lock()
    let listener = other.listen(rooms)
    #expect(other.errors.isEmpty && other.queries.isEmpty)
    try unlock()
    try other.runQuery()
    #expect(other.ids(listener) == [])
  }

  @Test("a listener that was removed in between does not begin")
  func removedMeanwhile() throws {
    try lock()
    let listener = client.listen(rooms)
    client.post(.unlisten(listener))
    try unlock()
    #expect(client.snapshots.isEmpty && client.watched.isEmpty)
  }

  @Test("a listener of a query that has a view begins at once")
  func queryWithView() throws {
    client.write(set("rooms/1"))
    client.listen(rooms)
    try lock()
    client.write(set("rooms/2"))
    let second = client.listen(rooms)
    #expect(client.ids(second) == ["1"])
    try unlock()
    #expect(client.ids(second) == ["1", "2"])
  }

  @Test("a read that is made once fails with unavailable")
  func oneTimeRead() throws {
    try lock()
    let read = client.listen(rooms, ListenOptions(waitForSyncWhenOnline: true))
    #expect(client.errors[read]?.code == .unavailable)
    try unlock()
    #expect(client.snapshots.isEmpty)
  }

  @Test("a write that fails for a reason of its own does not keep those behind it")
  func failureAfterwards() throws {
    try lock()
    let write = client.write(set("rooms/1"))
    let listener = client.listen(rooms)
    client.failing = ["Locally write mutations"]
    try unlock()
    #expect(client.writes[write]??.message.contains("made to fail") == true)
    #expect(client.ids(listener) == [])
  }

  // MARK: - The file is free again, and the next planned attempt is far away

  /// Makes a write that waits, and the file free.
  private func holdWrite() throws {
    try lock()
    client.write(set("rooms/1"))
    #expect(client.engine.heldWriteIDs.count == 1)
    try stopped.execute("ROLLBACK")
  }

  @Test("a read from the backend that is made once has the writes before it")
  func readFollows() throws {
    try holdWrite()
    let read = client.listen(rooms, .get)
    try client.fill(try #require(client.watched.first), [], at: 10)
    #expect(client.snapshots[read]?.map(\.summary) == ["server pending [1] +1"])
  }

  @Test(
    "a read of the cache has the writes before it",
    arguments: [
      .readDocument(key("rooms/1")), .readQuery(rooms),
      .readAggregation(rooms, [Aggregation(alias: "n", operation: .count(upTo: nil))]),
      .readPendingWrites(rooms, maximumDocuments: 10),
    ] as [EngineRequest])
  func cacheReadFollows(request: EngineRequest) throws {
    try holdWrite()
    let read = client.request(request)
    #expect(client.engine.heldWriteIDs.isEmpty)
    switch client.answers[read] {
    case .document(let document): #expect(document.hasLocalMutations)
    case .snapshot(let snapshot): #expect(snapshot.ids == ["1"])
    case .aggregation, .pendingWrites: break
    default: Issue.record("no answer to \(request)")
    }
  }

  @Test("what waits is stored when another client wakes this one")
  func wokenByOther() throws {
    try holdWrite()
    client.post(.othersChanged)
    #expect(client.engine.heldWriteIDs.isEmpty)
  }

  @Test("what waits is stored with the next write, in order")
  func nextWrite() throws {
    try holdWrite()
    client.write(set("rooms/2"))
    #expect(client.engine.heldWriteIDs.isEmpty)
    #expect(try client.store.pendingBatches().flatMap(\.keys) == [key("rooms/1"), key("rooms/2")])
  }

  @Test("what waits is stored, and begins, when something else was stored")
  func afterTransaction() throws {
    client.listen(rooms)
    let target = try #require(client.watched.first)
    try lock()
    client.write(set("rooms/1"))
    client.listen(collection("halls"))
    try stopped.execute("ROLLBACK")
    #expect(client.engine.heldWriteIDs.count == 1 && client.watched.count == 1)
    try client.fill(target, [], at: 10)
    #expect(client.engine.heldWriteIDs.isEmpty && client.watched.count == 2)
  }

  @Test("what waits is stored within a second, however long the file was held")
  func withinSecond() throws {
    try lock()
    client.write(set("rooms/1"))
    cache.wait(60)
    try stopped.execute("ROLLBACK")
    cache.wait(1)
    #expect(client.engine.heldWriteIDs.isEmpty)
  }

  @Test("pending writes of a query cannot be listed while one of them is in memory only")
  func pendingWritesInMemory() throws {
    try lock()
    client.write(set("rooms/1"))
    let read = client.request(.readPendingWrites(rooms, maximumDocuments: 10))
    let others = client.request(.readPendingWrites(collection("halls"), maximumDocuments: 10))
    #expect(client.failedRequests[read]?.code == .unavailable)
    guard case .pendingWrites([:]) = client.answers[others] else {
      Issue.record("no answer about another collection")
      return
    }
    try unlock()
    let again = client.request(.readPendingWrites(rooms, maximumDocuments: 10))
    guard case .pendingWrites(let writes?) = client.answers[again] else {
      Issue.record("no answer when the file is free")
      return
    }
    #expect(writes.keys.map(\.path.canonicalString) == ["rooms/1"])
  }

  @Test("a held file keeps one read waiting, and the next ones only for a moment", arguments: [false, true])
  func readsWaitOnce(behindWrite: Bool) throws {
    try lock()
    if behindWrite { client.write(set("rooms/1")) } else { client.listen(collection("halls")) }
    var waits = 0
    client.database.injectFailure = {
      if [.transaction("Locally write mutations"), .transaction("Allocate target")].contains($0) { waits += 1 }
      return nil
    }
    func read() {
      let reads = [client.listen(rooms, .get), client.listen(Query(path: key("rooms/1").path), .get)]
      #expect(reads.allSatisfy { client.errors[$0]?.code == .unavailable })
      let cached = client.request(.readDocument(key("rooms/1")))
      #expect(client.answers[cached] != nil)
    }
    read()
    #expect(waits == 0, "the call before them has waited")
    // No timer fires.
    client.isRunning = false
    cache.wait(1)
    client.isRunning = true
    read()
    #expect(waits == 1)
    try unlock()
  }

  @Test(
    "a listener that has waited does not begin while its process is suspended: its query would hold the file open")
  func listenerInSuspension() throws {
    let other = try cache.client(
      "b", limits: BackgroundQueryLimits(documentsOnLoop: -1, partsPerScan: 1), busyTimeout: .milliseconds(20))
    cache.takeLease(for: other)
    cache.wait()
    #expect(other.engine.isPrimary)
    try lock()
    let listener = other.listen(rooms)
    try stopped.execute("ROLLBACK")
    other.post(.suspend)
    #expect(other.queries.isEmpty && other.snapshots[listener] == nil)
    other.post(.resume)
    cache.wait(60)
    try other.runQuery()
    #expect(other.ids(listener) == [])
  }

  @Test("a client that was suspended while a listener waited is among the others again at once")
  func rejoinsAtOnce() throws {
    let other = try cache.client("b", busyTimeout: .milliseconds(20))
    try lock()
    other.listen(rooms)
    cache.wait(60)
    try stopped.execute("ROLLBACK")
    #expect(client.watched.isEmpty)
    other.suspend()
    other.resume()
    cache.wait(2)
    #expect(client.watched.count == 1)
    other.write(set("rooms/1"))
    cache.deliver()
    #expect(client.sentBatches.count == 1)
  }
}
