import HearthModel
import HearthStore
import Testing

@testable import HearthSync

/// A cache that fails for one stream leaves the other alone. The backend of these tests does not recognise batches: what
/// is sent twice is committed twice.
@Suite("Storage failures on one side")
struct OneSidedFailureTests {
  private let rooms = collection("rooms")

  private func increment(_ path: String) -> Mutation {
    .patch(
      key(path), [:], mask: .empty, precondition: .none,
      transforms: [FieldTransform(path: field("n"), operation: .increment(1))])
  }

  @Test("on a full disk, which takes neither snapshots nor answers, increments are sent once")
  func fullDisk() throws {
    let client = try TestClient(durable: true)
    client.listen(rooms)
    let first = client.write(increment("rooms/a")).rawValue
    let second = client.write(increment("rooms/a")).rawValue
    client.failureKind = .full
    client.failing = ["Apply remote event", "Acknowledge batch", "Reject batch"]
    for time in 1...3 as ClosedRange<Int64> {
      try client.fill(2, [], at: time)
      if client.timers[.asyncQueueRetry] != nil { try client.fire(.asyncQueueRetry) }
    }
    #expect(client.writeStream != nil && client.sentBatchCount == 2)
    try client.commit(at: 10, transformResults: [[1]])
    try client.fire(.asyncQueueRetry)
    try client.commit(at: 11, transformResults: [[2]])
    for _ in 1...4 { try client.fire(.asyncQueueRetry) }
    #expect(client.writeStream != nil && client.sentBatchCount == 2)
    _ = client.takeTold()

    client.failing = []
    while client.timers[.asyncQueueRetry] != nil { try client.fire(.asyncQueueRetry) }
    let told = client.takeTold()
    #expect(told.filter { $0.hasPrefix("write") } == ["write \(first): OK", "write \(second): OK"])
    #expect(client.sentBatchCount == 2 && client.engine.outstandingWriteCount == 0)
    #expect(client.watched[2] != nil)
  }

  @Test("a snapshot that cannot be stored leaves the write stream open; new writes go out and are answered")
  func snapshot() throws {
    let client = try TestClient(durable: true)
    client.listen(rooms)
    client.write(increment("rooms/a"))
    client.failing = ["Apply remote event", "Get last remote snapshot version"]
    try client.fill(2, [], at: 1)
    #expect(client.watchStream == nil && client.engine.onlineState == .offline)
    #expect(client.sentBatches.count == 1)
    let later = client.write(increment("rooms/a")).rawValue
    #expect(client.sentBatches.count == 2)
    _ = client.takeTold()
    try client.commit(at: 10, transformResults: [[1]])
    try client.commit(at: 11, transformResults: [[2]])
    #expect(client.takeTold().contains("write \(later): OK"))
  }

  @Test("a batch that cannot be read does not end listening, nor the answers to batches that were sent")
  func outbox() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(rooms).rawValue
    let sent = (1...10).map { _ in client.write(increment("rooms/a")).rawValue }
    // The pipeline is full, so this one has to be read when there is room.
    let waiting = client.write(increment("rooms/b")).rawValue
    client.failing = ["Get next mutation batch"]
    for count in 1...10 { try client.commit(at: Int64(count), transformResults: [[.integer(Int64(count))]]) }
    #expect(client.watchStream != nil && client.sentBatches == [])
    try client.fill(2, [found("rooms/a", 10), found("rooms/c", 20)], at: 20)
    let told = client.takeTold()
    #expect(sent.allSatisfy { told.contains("write \($0): OK") })
    #expect(told.last?.hasPrefix("listener \(listener): server") == true)
    client.failing = []
    try client.fire(.asyncQueueRetry)
    #expect(client.sentBatches == [[increment("rooms/b")]])
    try client.commit(at: 30, transformResults: [[1]])
    #expect(client.takeTold().contains("write \(waiting): OK"))
  }

  @Test("a write that was just stored is sent without being read back, unless others wait before it")
  func batchInHand() throws {
    let client = try TestClient(durable: true)
    client.failing = ["Get next mutation batch"]
    client.write(increment("rooms/a"))
    client.write(increment("rooms/b"))
    #expect(client.sentBatches == [[increment("rooms/a")], [increment("rooms/b")]])
    client.failing = []
    client.setNetwork(isEnabled: false)
    client.write(increment("rooms/c"))
    client.setNetwork(isEnabled: true)
    #expect(client.sentBatches == ["rooms/a", "rooms/b", "rooms/c"].map { [increment($0)] })
  }
}
