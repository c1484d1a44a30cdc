import HearthModel
import HearthStore
import Testing

@testable import HearthSync

@Suite("Storage failures")
struct RecoveryScenarioTests {
  private let rooms = collection("rooms")

  @Test("a listener whose target cannot be stored ends with an error, and others go on")
  func allocateTarget() throws {
    let client = try TestClient()
    let good = client.listen(rooms).rawValue
    client.failing = ["Allocate target"]
    let bad = client.listen(collection("users")).rawValue
    #expect(client.takeTold() == ["listener \(bad): error UNAVAILABLE"])
    client.failing = []
    try client.fill(2, [], at: 10)
    #expect(client.takeTold() == ["listener \(good): server [] "])
    client.listen(collection("users"))
    #expect(client.watched[4] != nil)
  }

  @Test("a listener whose query cannot be run ends with an error and leaves nothing behind")
  func executeQuery() throws {
    let client = try TestClient()
    client.failing = ["Execute query"]
    let bad = client.listen(rooms).rawValue
    #expect(client.takeTold() == ["listener \(bad): error UNAVAILABLE"])
    #expect(client.openedStreams == 0)
    client.failing = []
    client.listen(rooms)
    #expect(client.watched.count == 1)
  }

  @Test("the end of a listener that cannot be stored ends it all the same")
  func releaseTarget() throws {
    let client = try TestClient()
    let listener = client.listen(rooms)
    client.failing = ["Release target"]
    client.post(.unlisten(listener))
    #expect(client.watched.isEmpty)
  }

  @Test(
    "what the storage refuses is reported with the code that says what to do about it",
    arguments: [
      (StoreError.Kind.full, "RESOURCE_EXHAUSTED"), (.readOnly, "FAILED_PRECONDITION"), (.corrupt, "DATA_LOSS"),
      (.io, "UNAVAILABLE"),
    ])
  func codes(kind: StoreError.Kind, code: String) throws {
    let client = try TestClient()
    client.failing = ["Locally write mutations", "Allocate target"]
    client.failureKind = kind
    let write = client.write(.set(key("rooms/a"), [:])).rawValue
    let listener = client.listen(rooms).rawValue
    #expect(client.takeTold() == ["write \(write): \(code)", "listener \(listener): error \(code)"])
  }

  @Test("a write that cannot be stored fails, is not shown and not sent; others of its group are kept")
  func localWrite() throws {
    let client = try TestClient()
    client.listen(rooms)
    try client.fill(2, [], at: 10)
    _ = client.takeTold()
    client.failing = ["Locally write mutations"]
    let write = client.write(.set(key("rooms/a"), [:])).rawValue
    #expect(client.takeTold() == ["write \(write): UNAVAILABLE"])
    #expect(client.engine.outstandingWriteCount == 0)
    client.post(
      .writes(
        [1001, 1002].map {
          LocalWrite(
            id: WriteID(rawValue: $0), mutations: [.delete(key("rooms/a"))],
            localWriteTime: Timestamp(seconds: 1, nanoseconds: 0), identity: nil)
        }))
    #expect(client.takeTold() == ["write 1001: UNAVAILABLE", "write 1002: UNAVAILABLE"])
  }

  @Test(
    "each write that cannot be stored is in the log once, alone or in a group, in addition to its completion",
    arguments: [1, 2])
  func localWriteLogged(count: Int) throws {
    let client = try TestClient()
    client.failing = ["Locally write mutations"]
    client.failureKind = .full
    // The engine does not know whether a caller gave a completion. Without one, the log is the only place that shows the loss.
    client.post(
      .writes(
        (1...count).map {
          LocalWrite(
            id: WriteID(rawValue: 1000 + $0), mutations: [.set(key("rooms/\($0)"), [:])],
            localWriteTime: Timestamp(seconds: 1, nanoseconds: 0), identity: nil)
        }))
    #expect(client.takeTold() == (1...count).map { "write \(1000 + $0): RESOURCE_EXHAUSTED" })
    let errors = client.logs.filter { $0.0 == .error }.map(\.1)
    #expect(errors.count == count)
    #expect(
      errors.allSatisfy {
        $0.hasPrefix("A write was not saved: ") && $0.contains("made to fail: Locally write mutations")
      })
    client.failing = []
    client.write(.set(key("rooms/a"), [:]))
    #expect(client.logs.count { $0.0 == .error } == count)
  }

  @Test("what the views show need not be stored")
  func notifyLocalViewChanges() throws {
    let client = try TestClient()
    client.failing = ["notifyLocalViewChanges"]
    let listener = client.listen(rooms).rawValue
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    #expect(client.takeTold() == ["listener \(listener): server [a] +a"])
    #expect(client.engine.onlineState == .online)
  }

  @Test(
    "an answer that cannot be stored takes the client offline until it can; only then the caller hears of it",
    arguments: [true, false])
  func writeOutcome(_ accepted: Bool) throws {
    let client = try TestClient()
    let listener = client.listen(rooms).rawValue
    try client.fill(2, [], at: 10)
    let write = client.write(.set(key("rooms/a"), [:])).rawValue
    _ = client.takeTold()
    client.failing = ["Acknowledge batch", "Reject batch"]
    if accepted { try client.commit(at: 20) } else { try client.refuseWrite(.notFound) }
    #expect(client.takeTold() == ["listener \(listener): cache pending [a] "])
    // Batches behind this one may have been sent: their answers must find the stream open.
    #expect(client.watchStream == nil && (client.writeStream != nil) == accepted)
    try client.fire(.asyncQueueRetry)
    #expect(client.takeTold() == [])
    client.failing = []
    try client.fire(.asyncQueueRetry)
    let outcome = client.takeTold()
    #expect(outcome.first == "write \(write): \(accepted ? "OK" : "NOT_FOUND")")
    #expect(client.watched[2]?.resumeToken == Array("token-10".utf8))
    #expect(client.engine.outstandingWriteCount == 0 && client.sentBatches == [])
  }

  @Test("a snapshot that cannot be stored is lost and asked for again with the old token")
  func snapshotLost() throws {
    let client = try TestClient()
    let listener = client.listen(rooms).rawValue
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    _ = client.takeTold()
    client.failing = ["Apply remote event", "Get last remote snapshot version"]
    try client.put(found("rooms/b", 20), into: 2)
    try client.snapshot(20, token: "token-20")
    #expect(client.takeTold() == ["listener \(listener): cache [a] "])
    #expect(client.watched.isEmpty)
    client.failing = []
    try client.fire(.asyncQueueRetry)
    #expect(client.watched[2]?.resumeToken == Array("token-10".utf8))
    try client.fill(2, [found("rooms/b", 20)], at: 20)
    #expect(client.takeTold() == ["listener \(listener): server [a b] +b"])
  }

  @Test("a cache that can be read but not written makes the client come back with growing pauses")
  func probesInDoubt() throws {
    let client = try TestClient()
    client.listen(rooms)
    client.failing = ["Apply remote event"]
    try client.fill(2, [], at: 10)
    // The first probe succeeds at once.
    #expect(client.watched.count == 1)
    for pause in [0.0, 1, 1.5, 2.25] {
      let before = client.now
      try client.fill(2, [], at: 10)
      #expect(client.watched.isEmpty)
      try client.fire(.asyncQueueRetry)
      #expect(client.now - before == .seconds(pause))
      #expect(client.watched.count == 1)
    }
    client.failing = []
    try client.fill(2, [], at: 10)
    #expect(client.engine.onlineState == .online)
  }

  @Test("a lookup whose refusal cannot be stored stays, and is sent again")
  func limboRejection() throws {
    let client = try TestClient(durable: true)
    client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    try client.take("rooms/a", outOf: 2)
    try client.snapshot(11)
    client.failing = ["Apply remote event"]
    try client.reject(1, .permissionDenied)
    #expect(client.engine.activeLimboDocuments == [key("rooms/a"): 1])
    #expect(client.watched[1] != nil)
    client.failing = []
    try client.reject(1, .permissionDenied)
    #expect(client.engine.activeLimboDocuments.isEmpty)
  }

  @Test("a pending write that cannot be read any more is reported and set aside, and those behind it are sent")
  func unreadableBatch() throws {
    let client = try TestClient(durable: true)
    client.setNetwork(isEnabled: false)
    let listener = client.listen(rooms).rawValue
    client.write(.set(key("rooms/a"), [:]))
    let damaged = client.write(.set(key("rooms/b"), [:])).rawValue
    client.write(.set(key("rooms/c"), [:]))
    _ = client.takeTold()
    try client.execute("UPDATE cache_mutation_batches SET batch = X'0A' WHERE batch_id = 2")
    client.setNetwork(isEnabled: true)
    #expect(
      client.takeTold() == ["write \(damaged): DATA_LOSS", "listener \(listener): cache pending [a c] -b"])
    #expect(client.engine.isNetworkUsable && client.sentBatches.count == 2)
    try client.commit(at: 10)
    try client.commit(at: 11)
    #expect(client.engine.outstandingWriteCount == 0)
  }

  @Test("nobody waits for a pending write that was set aside", arguments: [1, 2])
  func waitsForUnreadableBatch(writes: Int) throws {
    let client = try TestClient(durable: true)
    client.setNetwork(isEnabled: false)
    for _ in 0..<writes { client.write(.set(key("rooms/a"), [:])) }
    let wait = "request \(client.request(.waitForPendingWrites).rawValue): OK"
    try client.execute("UPDATE cache_mutation_batches SET batch = X'0A' WHERE batch_id = \(writes)")
    _ = client.takeTold()
    client.setNetwork(isEnabled: true)
    // The first of two is still on its way.
    #expect(client.takeTold().contains(wait) == (writes == 1))
    if writes == 2 {
      client.write(.set(key("rooms/b"), [:]))
      try client.commit(at: 10)
      #expect(client.takeTold().contains(wait))
    }
  }

  @Test("a user whose queue holds a write that cannot be read can still be left and come back to")
  func unreadableBatchOfUser() throws {
    let client = try TestClient(durable: true)
    client.setNetwork(isEnabled: false)
    client.write(.set(key("rooms/a"), [:]))
    client.write(.set(key("rooms/b"), [:]))
    try client.execute("UPDATE cache_mutation_batches SET batch = X'0A' WHERE batch_id = 1")
    client.changeUser("alice")
    client.changeUser(nil)
    client.setNetwork(isEnabled: true)
    #expect(client.sentBatches.count == 1)
  }

  @Test("changes of the user are retried, in order, with the streams closed")
  func changeUser() throws {
    let client = try TestClient(durable: true)
    client.listen(rooms)
    client.write(.set(key("rooms/a"), [:]))
    client.failing = ["Handle user change"]
    client.changeUser("alice")
    #expect(client.watchStream == nil && client.writeStream == nil)
    client.changeUser(nil)
    client.failing = []
    try client.fire(.asyncQueueRetry)
    #expect(client.watchStream != nil && client.sentBatches == [])
    try client.fire(.asyncQueueRetry)
    #expect(client.sentBatches.count == 1)
  }

  @Test("a limit that cannot be refilled is completed when the cache works again")
  func refill() throws {
    let client = try TestClient(durable: true)
    let limited = client.listen(rooms.ordered(by: "n").with(limit: 1)).rawValue
    client.write(.set(key("rooms/a"), ["n": 1]))
    client.write(.set(key("rooms/b"), ["n": 2]))
    _ = client.takeTold()
    client.failing = ["Execute query"]
    client.write(.delete(key("rooms/a")))
    #expect(client.takeTold() == ["listener \(limited): cache [] -a"])
    client.failing = []
    try client.fire(.asyncQueueRetry)
    #expect(client.takeTold() == ["listener \(limited): cache pending [b] +b"])
  }

  @Test("a client whose cache fails at the start tries again")
  func start() throws {
    let client = try TestClient(durable: true)
    client.write(.set(key("rooms/a"), [:]))
    client.failing = ["Get next mutation batch"]
    client.setNetwork(isEnabled: false)
    client.setNetwork(isEnabled: true)
    #expect(!client.engine.isNetworkUsable && client.sentBatches == [])
    client.failing = []
    try client.fire(.asyncQueueRetry)
    #expect(client.sentBatches.count == 1)
  }
}
