import HearthCache
import HearthModel
import Testing

@testable import HearthSync

/// Users look into their outbox and change it.
@Suite("The outbox")
struct OutboxScenarioTests {
  private func write(_ client: TestClient, _ path: String, keepsOutcome: Bool = true) -> WriteID {
    let id = WriteID(rawValue: client.newRequestID().rawValue)
    client.post(
      .writes([
        LocalWrite(
          id: id, mutations: [.set(key(path), [:])], localWriteTime: Timestamp(seconds: 1, nanoseconds: 0),
          identity: BatchIdentity(high: 0, low: UInt64(id.rawValue)), keepsOutcome: keepsOutcome)
      ]))
    return id
  }

  @Test("a write with a receipt is saved before it is answered, one without says nothing")
  func saved() throws {
    let client = try TestClient()
    let receipt = write(client, "rooms/a")
    let plain = write(client, "rooms/b", keepsOutcome: false)
    try client.commit(at: 10)
    try client.commit(at: 11)
    #expect(
      client.takeTold() == [
        "write \(receipt.rawValue): saved", "write \(receipt.rawValue): OK", "write \(plain.rawValue): OK",
      ])
  }

  @Test("a write that was not sent can be taken back; one that was sent only if its fate may stay open")
  func withdrawal() throws {
    let client = try TestClient(durable: true)
    let sent = write(client, "rooms/a")
    #expect(client.sentBatchCount == 1)
    client.setNetwork(isEnabled: false)
    let unsent = write(client, "rooms/b")
    _ = client.takeTold()
    var request = client.request(.withdraw(1, evenIfSent: false))
    #expect(client.takeTold() == ["request \(request.rawValue): FAILED_PRECONDITION"])
    request = client.request(.withdraw(2, evenIfSent: false))
    #expect(client.takeTold() == ["write \(unsent.rawValue): CANCELLED", "request \(request.rawValue): OK"])
    request = client.request(.withdraw(2, evenIfSent: true))
    #expect(client.takeTold() == ["request \(request.rawValue): NOT_FOUND"])
    // Also for the next run of the program the first one may be at the backend.
    try client.restart()
    request = client.request(.withdraw(1, evenIfSent: false))
    #expect(client.takeTold() == ["request \(request.rawValue): FAILED_PRECONDITION"])
    request = client.request(.withdraw(1, evenIfSent: true))
    #expect(client.takeTold() == ["request \(request.rawValue): OK"])
    #expect(try client.engine.localStore.pendingBatches().isEmpty)
    _ = sent
  }

  @Test("a write of an earlier run that never had a connection can be taken back")
  func neverSent() throws {
    let client = try TestClient(durable: true)
    client.setNetwork(isEnabled: false)
    _ = write(client, "rooms/a")
    client.isReachable = false
    try client.restart()
    _ = client.takeTold()
    let request = client.request(.withdraw(1, evenIfSent: false))
    #expect(client.takeTold() == ["request \(request.rawValue): OK"])
    client.isReachable = true
    client.request(.retryNow)
    #expect(client.sentBatchCount == 0)
  }

  @Test("a batch that was given up and is answered all the same disturbs no other")
  func answerOfAGivenUpBatch() throws {
    let client = try TestClient()
    let first = write(client, "rooms/a")
    let second = write(client, "rooms/b")
    client.request(.withdraw(1, evenIfSent: true))
    try client.commit(at: 10)
    try client.commit(at: 11)
    let told = client.takeTold().filter { $0.hasPrefix("write") && !$0.hasSuffix("saved") }
    #expect(told == ["write \(first.rawValue): CANCELLED", "write \(second.rawValue): OK"])
  }

  @Test("nothing is sent that could not be marked as sent before, and all of it once that works again")
  func markFails() throws {
    let client = try TestClient(durable: true)
    client.failing = ["Note sent batches"]
    let id = write(client, "rooms/a")
    #expect(client.sentBatchCount == 0)
    client.failing = []
    try client.fire(.asyncQueueRetry)
    #expect(client.sentBatchCount == 1)
    try client.commit(at: 10)
    #expect(client.takeTold().contains("write \(id.rawValue): OK"))
  }

  @Test("retrying now ends the pause before the next attempt")
  func retry() throws {
    let client = try TestClient()
    client.isReachable = false
    _ = write(client, "rooms/a")
    #expect(client.timers[.writeStreamConnectionBackoff] != nil)
    guard case .offline(let error?)? = client.engine.outboxObstacle else {
      Issue.record("the obstacle is \(String(describing: client.engine.outboxObstacle))")
      return
    }
    #expect(error.code == .unavailable)
    client.isReachable = true
    client.request(.retryNow)
    #expect(client.timers[.writeStreamConnectionBackoff] == nil)
    #expect(client.sentBatchCount == 1)
    #expect(client.engine.outboxObstacle == nil && client.engine.batchesAtBackend == [1])
  }

  @Test("an attempt without an answer is counted, and an observer hears of it")
  func attempts() throws {
    let client = try TestClient()
    client.post(.observeOutbox(true))
    _ = write(client, "rooms/a")
    #expect(client.takeTold().contains("outbox"))
    try client.refuseWrite(.unavailable)
    #expect(client.takeTold() == ["outbox"])
    let attempts = try client.engine.localStore.outbox.state(of: nil).attempts
    #expect(attempts[1]?.count == 1 && attempts[1]?.error.code == .unavailable)
    client.post(.observeOutbox(false))
    _ = write(client, "rooms/b")
    #expect(!client.takeTold().contains("outbox"))
  }

  @Test("the status is told only to who observes it, and only when it changes")
  func status() throws {
    let client = try TestClient()
    _ = write(client, "rooms/a")
    #expect(!client.takeTold().contains("status"))
    client.post(.observeStatus(true))
    _ = client.takeTold()
    client.post(.setIndexAutoCreation(true))
    #expect(client.takeTold() == [])
    #expect(client.engine.status.connection == .inSync)
    #expect(client.engine.lastInSync == nil)
    try client.commit(at: 10)
    #expect(client.takeTold().contains("status"))
    #expect(client.engine.lastInSync != nil)
    client.request(.disableNetwork)
    #expect(client.takeTold().contains("status"))
    #expect(client.engine.status.connection == .offline(.networkDisabled))
    client.post(.observeStatus(false))
    client.request(.enableNetwork)
    #expect(!client.takeTold().contains("status"))
  }

  @Test("what became of a write can be asked later, and its end is told to those who asked")
  func asked() throws {
    let client = try TestClient()
    let id = write(client, "rooms/a")
    let later = WriteID(rawValue: 1000)
    let identity = BatchIdentity(high: 0, low: UInt64(id.rawValue))
    let request = client.request(.readFate(identity, later))
    #expect(client.answers.last == .answer(request, .fate(.pending(1))))
    _ = client.takeTold()
    try client.commit(at: 10)
    #expect(client.takeTold() == ["write \(id.rawValue): OK", "write 1000: OK"])
    let again = client.request(.readFate(identity, later))
    guard case .answer(again, .fate(.ended(.committed(let version, _, _))))? = client.answers.last else {
      Issue.record("the answer is \(String(describing: client.answers.last))")
      return
    }
    #expect(version == HearthModel.SnapshotVersion(microseconds: 10))
  }

  @Test("a refused write is kept, and can be written again as a new batch")
  func resubmission() throws {
    let client = try TestClient()
    let first = write(client, "rooms/a")
    try client.refuseWrite(.permissionDenied)
    #expect(try client.engine.localStore.outbox.rejectedBatches(of: nil).map(\.batch.batchID) == [1])
    let id = WriteID(rawValue: 1000)
    func resubmit() {
      client.post(
        .writes([
          LocalWrite(
            id: id, mutations: [], localWriteTime: Timestamp(seconds: 2, nanoseconds: 0),
            identity: BatchIdentity(high: 0, low: 1000), keepsOutcome: true, resubmits: 1)
        ]))
    }
    resubmit()
    try client.commit(at: 10)
    #expect(
      client.takeTold() == [
        "write \(first.rawValue): saved", "write \(first.rawValue): PERMISSION_DENIED", "write 1000: saved",
        "write 1000: OK",
      ])
    #expect(try client.engine.localStore.outbox.rejectedBatches(of: nil).isEmpty)
    resubmit()
    #expect(client.takeTold() == ["write 1000: NOT_FOUND"])
  }

  @Test("a batch that is refused for its size is moved out of the way after so many refusals, and a small one never")
  func undeliverable() throws {
    let client = try TestClient(
      undeliverableWrites: UndeliverableWritePolicy(afterRefusals: 3, largerThanBytes: 1000))
    let small = write(client, "rooms/small")
    for _ in 0..<5 {
      try client.refuseWrite(.resourceExhausted)
      try client.fire(.writeStreamConnectionBackoff)
    }
    try client.commit(at: 10)
    let large = WriteID(rawValue: 500)
    let text = Value.string(String(repeating: "x", count: 2000))
    client.post(
      .writes([
        LocalWrite(
          id: large, mutations: [.set(key("rooms/large"), ["text": text])],
          localWriteTime: Timestamp(seconds: 1, nanoseconds: 0), identity: BatchIdentity(high: 0, low: 500))
      ]))
    let next = write(client, "rooms/next", keepsOutcome: false)
    for count in 1...3 {
      try client.refuseWrite(.resourceExhausted)
      if count < 3 { try client.fire(.writeStreamConnectionBackoff) }
    }
    // The one behind it goes out without a pause.
    try client.commit(at: 11)
    let told = client.takeTold().filter { !$0.hasSuffix("saved") }
    #expect(
      told == [
        "write \(small.rawValue): OK", "write \(large.rawValue): RESOURCE_EXHAUSTED", "write \(next.rawValue): OK",
      ])
    #expect(try client.engine.localStore.outbox.rejectedBatches(of: nil).map(\.error.code) == [.resourceExhausted])
  }

  // MARK: - Several processes

  @Test("what one process takes back, the one with the connection does not send")
  func sharedWithdrawal() throws {
    let (cache, a, b) = try SharedCache.makePair()
    for client in [a, b] { client.post(.request(RequestID(rawValue: 900), .disableNetwork)) }
    b.write(set("rooms/1", 1))
    cache.deliver()
    let batchID = try #require(try b.engine.localStore.pendingBatches().first).batchID
    b.post(.request(RequestID(rawValue: 901), .withdraw(batchID, evenIfSent: false)))
    cache.deliver()
    a.post(.request(RequestID(rawValue: 902), .enableNetwork))
    cache.wait(2)
    #expect(try a.engine.localStore.pendingBatches().isEmpty)
    #expect(a.sentBatchCount == 0 && b.sentBatchCount == 0)
  }

  @Test("what one process has sent, another one cannot take back")
  func sharedMark() throws {
    let (cache, a, b) = try SharedCache.makePair()
    b.write(set("rooms/1", 1))
    cache.wait(2)
    #expect(a.sentBatchCount == 1)
    let batchID = try #require(try b.engine.localStore.pendingBatches().first).batchID
    #expect(try b.engine.localStore.outbox.state(of: nil).sentThrough >= batchID)
    b.post(.request(RequestID(rawValue: 901), .withdraw(batchID, evenIfSent: false)))
    cache.deliver()
    #expect(try b.engine.localStore.pendingBatches().map(\.batchID) == [batchID])
  }

  @Test("a process that has lost the connection to another one does not take back what that one has marked as sent")
  func markOfAnotherHolder() throws {
    let (cache, a, b) = try SharedCache.makePair()
    a.write(set("rooms/1", 1))
    #expect(a.sentBatchCount == 1)
    cache.takeLease(for: b)
    b.write(set("rooms/2", 2))
    let sent = try #require(try b.engine.localStore.pendingBatches().last).batchID
    #expect(b.sentBatchCount == 2)
    // The stream of the former holder ends before it has found out.
    a.post(.writeStreamClosed(try #require(a.writeStream), nil))
    cache.deliver()
    a.post(.request(RequestID(rawValue: 901), .withdraw(sent, evenIfSent: false)))
    cache.deliver()
    #expect(try b.engine.localStore.pendingBatches().map(\.batchID).contains(sent))
  }
}
