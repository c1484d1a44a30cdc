import HearthCache
import HearthModel
import Testing

@testable import HearthSync

@Suite("Garbage collection at intervals")
struct GarbageCollectionScenarioTests {
  private let rooms = collection("rooms")

  /// A client whose cache is always above its threshold and holds 20 documents that nothing needs: halls/10 is the one
  /// longest without use, halls/29 the latest. A collection removes two.
  private func makeClient() throws -> TestClient {
    let client = try TestClient(thresholdBytes: 0)
    for number in 10..<30 {
      client.write(.set(key("halls/\(number)"), [:]))
      try client.commit(at: Int64(number))
    }
    return client
  }

  private func isCached(_ path: String, _ client: TestClient) throws -> Bool {
    client.request(.readDocument(key(path)))
    guard case .answer(_, .document(let document))? = client.answers.last else {
      throw TestFailure("\(path) was not read")
    }
    return !document.isUnknown
  }

  /// Fires the timer until the collection has ended.
  /// - Returns: in how many steps.
  @discardableResult
  private func collect(_ client: TestClient) throws -> Int {
    var steps = 0
    repeat {
      try client.fire(.lruGarbageCollection)
      steps += 1
    } while client.timers[.lruGarbageCollection] == client.now
    return steps
  }

  @Test("comes a minute after the start, then five minutes after the last one has ended")
  func times() throws {
    let client = try makeClient()
    #expect(client.timers[.lruGarbageCollection] == .seconds(60))
    #expect(try collect(client) > 3)
    #expect(try [10, 11, 12].map { try isCached("halls/\($0)", client) } == [false, false, true])
    #expect(client.now == .seconds(60) && client.timers[.lruGarbageCollection] == .seconds(360))
    try collect(client)
    #expect(try [12, 13].map { try isCached("halls/\($0)", client) } == [false, true])
    #expect(client.now == .seconds(360) && client.timers[.lruGarbageCollection] == .seconds(660))
    let reports = client.logs.map(\.1).filter { $0.contains("removed 0 queries and 2 documents") }
    #expect(reports.count == 1 && client.logs.contains { $0.1.contains("removed 0 queries and 1 document in") })
  }

  @Test("does nothing as long as the cache is small, and looks again five minutes later")
  func belowThreshold() throws {
    let client = try TestClient(durable: true)
    client.write(.set(key("halls/a"), [:]))
    try client.commit(at: 1)
    try collect(client)
    #expect(client.timers[.lruGarbageCollection] == .seconds(360))
    #expect(client.logs.allSatisfy { !$0.1.contains("Garbage collection") })
  }

  @Test("does not exist for a cache with eager collection or without limit")
  func noTimer() throws {
    #expect(try TestClient().timers[.lruGarbageCollection] == nil)
    #expect(try TestClient(thresholdBytes: -1).timers[.lruGarbageCollection] == nil)
  }

  @Test("lets what is waiting come between two steps, and spares what comes into use there")
  func steps() throws {
    for step in 0..<3 {
      let client = try makeClient()
      for _ in 0..<step { try client.fire(.lruGarbageCollection) }
      let write = client.write(.patch(key("halls/10"), ["n": .integer(1)], mask: FieldMask([field("n")])))
      let listener = client.listen(collection("halls"))
      #expect(client.snapshots[listener]?.last?.documents.count == 20, "before step \(step)")
      try collect(client)
      #expect(try isCached("halls/10", client) && isCached("halls/11", client))
      #expect(client.told.contains { $0.contains("listener \(listener.rawValue)") } && write.rawValue > 0)
    }
  }

  @Test("spares what only a view shows until its listener ends")
  func shown() throws {
    let client = try TestClient(thresholdBytes: 0)
    let listener = client.listen(rooms)
    try client.fill(2, [], at: 3)
    client.write(.set(key("rooms/shown"), [:]))
    try client.commit(at: 5)
    for number in 10..<30 {
      client.write(.set(key("halls/\(number)"), [:]))
      try client.commit(at: Int64(number))
    }
    let many = GarbageCollectionParameters(thresholdBytes: 0, percentile: 100, maxSequenceNumbers: 10)
    _ = try client.engine.collectGarbage(many)
    #expect(try isCached("rooms/shown", client) && !isCached("halls/18", client) && isCached("halls/19", client))
    // Its end is a use, so all that was written before goes first.
    client.post(.unlisten(listener))
    _ = try client.engine.collectGarbage(many)
    #expect(try isCached("rooms/shown", client) && !isCached("halls/27", client))
    _ = try client.engine.collectGarbage(many)
    #expect(try !isCached("rooms/shown", client))
  }

  @Test("is tried again five minutes later when the storage refuses a step")
  func failingStorage() throws {
    let client = try makeClient()
    client.failing = ["Collect garbage"]
    try client.fire(.lruGarbageCollection)
    #expect(client.timers[.lruGarbageCollection] == client.now + .seconds(300))
    #expect(client.logs.contains { $0.0 == .warning && $0.1.contains("garbage could not be collected") })
    #expect(client.engine.isNetworkUsable)
    client.failing = []
    try collect(client)
    #expect(try !isCached("halls/10", client))
  }

  @Test("ends with the client")
  func shutdown() throws {
    let client = try makeClient()
    try client.fire(.lruGarbageCollection)
    client.post(.shutdown)
    #expect(client.timers[.lruGarbageCollection] == nil)
  }

  @Test("at a moment of the caller's choice collects at once")
  func atOnce() throws {
    let client = try makeClient()
    let report = try client.engine.collectGarbage(.init(thresholdBytes: 0, percentile: 100))
    #expect(report.removedDocumentCount == 20)
    #expect(client.timers[.lruGarbageCollection] == .seconds(60))
  }
}
