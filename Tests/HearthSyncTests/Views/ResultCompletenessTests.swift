import HearthCache
import HearthModel
import Testing

@testable import HearthSync

@Suite("The completeness of results")
struct ResultCompletenessTests {
  private let rooms = collection("rooms")
  private let firstTwo = collection("rooms").ordered(by: "n").with(limit: 2)

  private func completeness(_ listener: ListenerID, _ client: TestClient) -> ResultCompleteness? {
    client.snapshots[listener]?.last?.completeness
  }

  /// The completeness of a one-time read from the cache.
  private func read(_ query: Query, _ client: TestClient) throws -> ResultCompleteness {
    let id = client.request(.readQuery(query))
    guard case .answer(id, .snapshot(let snapshot))? = client.answers.last else { throw TestFailure("no answer") }
    #expect(snapshot.isFromCache)
    return snapshot.completeness
  }

  @Test("a result is complete once the backend has sent everything, and stays so, as of that time, without a network")
  func offline() throws {
    let client = try TestClient(durable: true)
    let cached = client.listen(rooms, ListenOptions(includeQueryMetadataChanges: true, source: .cache))
    #expect(completeness(cached, client) == .notSynchronized)
    let listener = client.listen(rooms)
    try client.acknowledge(2)
    try client.put(found("rooms/a", 1), into: 2)
    try client.current(2, token: "t")
    try client.snapshot(10)
    #expect(completeness(listener, client) == .complete(asOf: version(10)))
    try client.put(found("rooms/b", 11), into: 2)
    try client.snapshot(12)
    #expect(completeness(listener, client) == .complete(asOf: version(12)))
    #expect(try read(rooms, client) == .complete(asOf: version(12)))

    client.setNetwork(isEnabled: false)
    #expect(client.snapshots[listener]?.last?.isFromCache == true)
    #expect(completeness(listener, client) == .complete(asOf: version(12)))
    client.write(.set(key("rooms/c"), ["n": 1]))
    #expect(client.snapshots[listener]?.last?.ids == ["a", "b", "c"])
    #expect(completeness(listener, client) == .complete(asOf: version(12)))
    client.post(.unlisten(listener))
    client.post(.unlisten(cached))

    try client.restart()
    client.setNetwork(isEnabled: false)
    let again = client.listen(rooms)
    #expect(completeness(again, client) == .complete(asOf: version(12)))
    #expect(try read(rooms, client) == .complete(asOf: version(12)))
    #expect(try read(rooms.filtered("n", .equal, 1), client) == .notSynchronized)
  }

  @Test("a full limit is complete until one of its documents changes")
  func limits() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(firstTwo)
    try client.fill(2, [found("rooms/a", 1, ["n": 1]), found("rooms/b", 1, ["n": 2])], at: 10)
    #expect(completeness(listener, client) == .complete(asOf: version(10)))
    client.setNetwork(isEnabled: false)
    #expect(completeness(listener, client) == .complete(asOf: version(10)))
    #expect(try read(firstTwo, client) == .complete(asOf: version(10)))
    // Documents beyond the limit were not sent: a document with the number 3 may be the second one now.
    client.write(.set(key("rooms/a"), ["n": 9]))
    #expect(client.snapshots[listener]?.last?.ids == ["b", "a"])
    #expect(completeness(listener, client) == .limitUncertain(asOf: version(10)))
    #expect(try read(firstTwo, client) == .limitUncertain(asOf: version(10)))
    client.write(.delete(key("rooms/a")))
    #expect(client.snapshots[listener]?.last?.ids == ["b"])
    #expect(completeness(listener, client) == .limitUncertain(asOf: version(10)))
  }

  @Test("a full limit that agrees with the backend is uncertain while it shows a pending write")
  func limitsOnline() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(firstTwo)
    try client.fill(2, [found("rooms/a", 1, ["n": 1]), found("rooms/b", 1, ["n": 2])], at: 10)
    client.write(.delete(key("rooms/a")))
    #expect(client.snapshots[listener]?.last?.ids == ["b"] && client.snapshots[listener]?.last?.isFromCache == false)
    #expect(completeness(listener, client) == .limitUncertain(asOf: version(10)))
    try client.commit(at: 11)
    try client.take("rooms/a", outOf: 2, as: missing("rooms/a", 11))
    try client.put(found("rooms/c", 1, ["n": 3]), into: 2)
    try client.snapshot(12)
    #expect(client.snapshots[listener]?.last?.ids == ["b", "c"])
    #expect(completeness(listener, client) == .complete(asOf: version(12)))
  }

  @Test("a document that another query brings in a newer state makes a full limit uncertain")
  func limitsAndOtherQueries() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(firstTwo)
    try client.fill(2, [found("rooms/a", 1, ["n": 1]), found("rooms/b", 1, ["n": 2])], at: 10)
    client.post(.unlisten(listener))
    client.listen(rooms)
    try client.fill(4, [found("rooms/a", 11, ["n": 9]), found("rooms/b", 1, ["n": 2])], at: 12)
    #expect(try read(firstTwo, client) == .limitUncertain(asOf: version(10)))
  }

  @Test("a limit that the backend could not fill hides nothing")
  func unfilledLimit() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(firstTwo)
    try client.fill(2, [found("rooms/a", 1, ["n": 1])], at: 10)
    client.setNetwork(isEnabled: false)
    client.write(.delete(key("rooms/a")))
    #expect(client.snapshots[listener]?.last?.ids == [])
    #expect(completeness(listener, client) == .complete(asOf: version(10)))
  }

  @Test("a target whose row was collected has no complete result")
  func collected() throws {
    let client = try TestClient()
    let listener = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    #expect(try read(rooms, client) == .complete(asOf: version(10)))
    client.post(.unlisten(listener))
    #expect(try read(rooms, client) == .notSynchronized)
  }

  @Test("a result that was collected or cleared is told apart from one that never was, also after a restart")
  func collectedOnDisk() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    client.post(.unlisten(listener))
    #expect(try read(rooms, client) == .complete(asOf: version(10)))
    _ = try client.engine.collectGarbage(.init(thresholdBytes: 0, percentile: 100))
    #expect(try read(rooms, client) == .collected)
    #expect(try read(firstTwo, client) == .notSynchronized)
    try client.restart()
    client.setNetwork(isEnabled: false)
    let again = client.listen(rooms)
    #expect(completeness(again, client) == .collected)
    client.setNetwork(isEnabled: true)
    try client.fill(4, [found("rooms/a", 1)], at: 20)
    #expect(completeness(again, client) == .complete(asOf: version(20)))
  }

  @Test("a result that does not agree with the backend's count is not complete until it was sent again")
  func mismatch() throws {
    let client = try TestClient(durable: true)
    let listener = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1), found("rooms/b", 1)], at: 10)
    try client.count(1, in: 2)
    try client.snapshot(11)
    #expect(completeness(listener, client) == .notSynchronized)
    #expect(try read(rooms, client) == .notSynchronized)
    try client.acknowledgeRemoval(2)
    try client.fill(2, [found("rooms/a", 1)], at: 12)
    // The other document is looked up now, and may be too much, but nothing is missing.
    #expect(try read(rooms, client) == .complete(asOf: version(12)))
    try client.fill(1, [], at: 13)
    #expect(completeness(listener, client) == .complete(asOf: version(13)))
  }

  @Test("a big read in the background says the same")
  func background() throws {
    let client = try TestClient(
      durable: true, backgroundQueryLimits: BackgroundQueryLimits(documentsOnLoop: 1, partsPerScan: 2))
    let listener = client.listen(firstTwo)
    try client.fill(2, [found("rooms/a", 1, ["n": 1]), found("rooms/b", 1, ["n": 2])], at: 10)
    client.post(.unlisten(listener))
    client.write(.set(key("rooms/c"), ["n": 3]))
    let id = client.request(.readQuery(firstTwo))
    try #require(client.backgroundQueries.count == 1)
    try client.runBackgroundQuery()
    guard case .answer(id, .snapshot(let snapshot))? = client.answers.last else { throw TestFailure("no answer") }
    #expect(snapshot.completeness == .complete(asOf: version(10)))
  }

  @Test("where another client follows the target, a full limit is as certain as there")
  func secondaryLimit() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let listener = b.listen(firstTwo)
    cache.deliver()
    try a.fill(2, [found("rooms/a", 1, ["n": 1]), found("rooms/b", 1, ["n": 2])], at: 10)
    cache.deliver()
    #expect(b.snapshots[listener]?.last?.completeness == .complete(asOf: .none))
    b.write(.delete(key("rooms/b")))
    #expect(b.ids(listener) == ["a"] && b.snapshots[listener]?.last?.isFromCache == false)
    #expect(b.snapshots[listener]?.last?.completeness == .limitUncertain(asOf: .none))
  }

  @Test("the same when the documents within the limit have changed since the listen")
  func secondaryLimitMoves() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let first = a.listen(firstTwo)
    try a.fill(2, [found("rooms/a", 1, ["n": 1]), found("rooms/b", 1, ["n": 2])], at: 10)
    cache.deliver()
    let listener = b.listen(firstTwo)
    #expect(b.snapshots[listener]?.last?.completeness == .complete(asOf: version(10)))
    try a.send(.documentChange(WatchDocumentChange(key: key("rooms/b"), removedTargetIDs: [2], document: nil)))
    try a.put([found("rooms/0", 15, ["n": 0])], into: 2)
    try a.send(.targetChange(WatchTargetChange(state: .noChange, targetIDs: [], readTime: version(20))))
    cache.deliver()
    #expect(a.ids(first) == ["0", "a"] && a.snapshots[first]?.last?.completeness == .complete(asOf: version(20)))
    #expect(b.ids(listener) == ["0", "a"] && b.snapshots[listener]?.last?.isFromCache == false)
    #expect(b.snapshots[listener]?.last?.completeness.isComplete == true)
    b.write(.delete(key("rooms/0")))
    #expect(b.snapshots[listener]?.last?.completeness.isComplete == false)
  }

  @Test("where another client follows the target, a result is known to be complete, at the next listen also as of when")
  func secondary() throws {
    let (cache, a, b) = try SharedCache.makePair()
    let listener = b.listen(rooms)
    cache.deliver()
    try a.fill(2, [found("rooms/a", 1)], at: 10)
    cache.deliver()
    #expect(b.snapshots[listener]?.last?.completeness == .complete(asOf: .none))
    b.post(.unlisten(listener))
    cache.deliver()
    let again = b.listen(rooms)
    #expect(b.snapshots[again]?.last?.completeness == .complete(asOf: version(10)))
  }
}
