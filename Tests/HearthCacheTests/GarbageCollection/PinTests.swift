import HearthModel
import HearthStore
import Testing

@testable import HearthCache

@Suite("Pinned queries")
struct PinTests {
  private static let everything = GarbageCollectionParameters(thresholdBytes: 0, percentile: 100)
  private let rooms = collection("rooms")
  private let halls = collection("halls")

  /// A query's result, without a listener.
  private func fetch(_ query: Query, _ paths: [String], _ cache: TestCache, at microseconds: Int64) throws {
    let id = try cache.store.allocateTarget(query.target).targetID
    var event = RemoteEvent(snapshotVersion: version(microseconds))
    for path in paths {
      let document = found(path, 3, ["text": .string("text of \(path)")])
      event.documentUpdates[document.key] = document
    }
    event.targetChanges[id] = TargetChange(
      resumeToken: [1], isCurrent: true, added: Set(event.documentUpdates.keys))
    _ = try cache.store.apply(event)
    try cache.store.releaseTarget(id)
  }

  private func collect(_ cache: TestCache, _ parameters: GarbageCollectionParameters = everything) throws {
    _ = try cache.store.collectGarbage(parameters) { _ in false }
  }

  @Test("garbage collection spares a pinned query and its documents, also after a restart, until it is unpinned")
  func spared() throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    try fetch(rooms, ["rooms/a", "rooms/b"], cache, at: 5)
    try fetch(halls, ["halls/a"], cache, at: 6)
    try cache.store.pin(rooms)
    try cache.store.pin(rooms)
    try cache.restart()
    #expect(try cache.store.pinnedQueries() == [rooms])
    try collect(cache)
    #expect(try cache.store.found(rooms) == ["rooms/a", "rooms/b"])
    #expect(try cache.store.targetData(for: rooms.target)?.resumeToken == [1])
    #expect(try cache.store.found(halls) == [])
    try cache.store.unpin(rooms)
    #expect(try cache.store.pinnedQueries() == [])
    try collect(cache)
    #expect(try cache.store.found(rooms) == [] && cache.store.targetData(for: rooms.target) == nil)
  }

  @Test("a limit to the last documents is pinned as what it is")
  func limitToLast() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    let first = rooms.with(order: OrderBy(path: field("n"), direction: .ascending)).with(limit: 2, type: .first)
    let last = first.with(limit: 2, type: .last)
    try cache.store.pin(last)
    try cache.store.pin(first)
    #expect(try cache.store.pinnedQueries() == [last, first])
    try cache.store.unpin(last)
    #expect(try cache.store.pinnedQueries() == [first])
  }

  /// A write of this user that the backend has acknowledged, and not sent for any query.
  private func writeAcknowledged(_ path: String, _ cache: TestCache, at microseconds: Int64) throws {
    try cache.store.write(.set(key(path), ["text": "mine"]))
    try cache.store.acknowledgeNext(at: microseconds)
  }

  @Test("what the user has written for a pinned query stays when it is acknowledged, until the query is unpinned")
  func ownDocument() throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    try fetch(rooms, ["rooms/a"], cache, at: 5)
    let small = halls.with(order: OrderBy(path: field("text"), direction: .ascending)).with(limit: 1, type: .first)
    for query in [rooms, small] { try cache.store.pin(query) }
    for (number, path) in ["rooms/mine", "halls/mine", "elsewhere/mine"].enumerated() {
      try writeAcknowledged(path, cache, at: Int64(10 + number))
    }
    // Come with another query, which is collected.
    try fetch(rooms.with(limit: 1, type: .first), ["rooms/other"], cache, at: 20)
    try cache.restart()
    for _ in 0..<3 { try collect(cache) }
    #expect(try cache.store.found(rooms) == ["rooms/a", "rooms/mine", "rooms/other"])
    #expect(try cache.store.found(halls) == ["halls/mine"])
    #expect(try cache.store.found(collection("elsewhere")) == [])
    // One that the user makes leave the result goes.
    try cache.store.unpin(small)
    try collect(cache)
    #expect(try cache.store.found(halls) == [])
    try cache.store.unpin(rooms)
    try collect(cache)
    #expect(try cache.store.found(rooms) == [])
  }

  private static let byNumber = collection("rooms").with(order: OrderBy(path: field("n"), direction: .ascending))

  /// A cache with a pinned query and its result, the rooms 2 and 4.
  private func pinned(_ query: Query, _ cache: TestCache) throws {
    try cache.store.pin(query)
    let target = try cache.store.allocateTarget(query.target).targetID
    try cache.store.receive(numbered(2, 3), numbered(4, 3), at: 5, for: [target], token: "t")
    try cache.store.releaseTarget(target)
  }

  private func numbered(_ number: Int64, _ microseconds: Int64) -> Document {
    found("rooms/\(number)", microseconds, ["n": .integer(number)])
  }

  @Test(
    "a pinned query with a limit keeps what sorts within its result, from any sender, and nothing behind it",
    arguments: [
      (byNumber.with(limit: 2, type: .first), ["1", "2", "3", "4"]),
      (byNumber.with(limit: 2, type: .last), ["2", "3", "4", "5"]),
      (byNumber.with(limit: 3, type: .first), ["1", "2", "3", "4", "5"]),
    ], [GarbageCollection.eager, .leastRecentlyUsed(thresholdBytes: 0)])
  func withinLimit(_ pin: (query: Query, kept: [String]), _ garbageCollection: GarbageCollection) throws {
    let cache = try TestCache(.memory, garbageCollection)
    defer { cache.close() }
    try pinned(pin.query, cache)
    // The user's own documents, which the backend has acknowledged and then sent for another query.
    for number: Int64 in [1, 5] {
      try cache.store.write(.set(key("rooms/\(number)"), ["n": .integer(number)]))
      try cache.store.acknowledgeNext(at: 10 + number)
      try cache.store.receive(numbered(number, 10 + number), at: 20 + number)
    }
    try cache.store.receive(numbered(3, 30), at: 30)
    for _ in 0..<3 { try collect(cache) }
    #expect(try cache.store.found(rooms) == pin.kept.map { "rooms/\($0)" })
  }

  @Test("a document that has moved away does not make a pinned query with a limit keep what lies between")
  func movedEdge() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    try pinned(Self.byNumber.with(limit: 2, type: .first), cache)
    try cache.store.receive(found("rooms/4", 20, ["n": 400]), at: 20)
    try cache.store.receive(numbered(1, 3), numbered(50, 3), at: 21)
    for _ in 0..<3 { try collect(cache) }
    #expect(try cache.store.found(rooms) == ["rooms/1", "rooms/2", "rooms/4"])
  }

  @Test("a pinned query with a limit that was never in sync keeps only what the user has written")
  func limitWithoutResult() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    let query = Self.byNumber.with(limit: 2, type: .first)
    try cache.store.pin(query)
    // Its listener has ended before the backend has said anything.
    try cache.store.releaseTarget(cache.store.allocateTarget(query.target).targetID)
    try cache.store.receive(numbered(1, 3), at: 5)
    try cache.store.write(.set(key("rooms/2"), ["n": 2]))
    try cache.store.acknowledgeNext(at: 10)
    for _ in 0..<3 { try collect(cache) }
    #expect(try cache.store.found(rooms) == ["rooms/2"])
  }

  @Test("a pinned query with a limit whose result has changed in part keeps whatever matches until the rest has come")
  func limitOfPart() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    let query = Self.byNumber.with(limit: 2, type: .first)
    try pinned(query, cache)
    let target = try cache.store.allocateTarget(query.target).targetID
    var event = RemoteEvent(snapshotVersion: version(20))
    event.documentUpdates[key("rooms/3")] = numbered(3, 15)
    event.targetChanges[target] = TargetChange(resumeToken: [2], added: [key("rooms/3")])
    _ = try cache.store.apply(event)
    try cache.store.releaseTarget(target)
    #expect(try cache.store.targetData(for: query.target)?.completeVersion == SnapshotVersion.none)
    try cache.store.receive(numbered(1, 3), numbered(50, 3), at: 21)
    for _ in 0..<3 { try collect(cache) }
    #expect(try cache.store.found(rooms) == ["rooms/1", "rooms/2", "rooms/3", "rooms/4", "rooms/50"])
  }

  /// A cache with a pinned query whose result, the first 300 rooms of even number, fills its limit, and with others that nothing needs: one
  /// within the result and 30 behind it.
  private func makeLargeResult(_ garbageCollection: GarbageCollection = TestCache.lru) throws -> (TestCache, TargetID) {
    let cache = try TestCache(.memory, garbageCollection)
    let query = Self.byNumber.with(limit: 300, type: .first)
    try cache.store.pin(query)
    let target = try cache.store.allocateTarget(query.target).targetID
    var event = RemoteEvent(snapshotVersion: version(5))
    for number: Int64 in 1...300 { event.documentUpdates[key("rooms/\(2 * number)")] = numbered(2 * number, 3) }
    event.targetChanges[target] = TargetChange(
      resumeToken: [1], isCurrent: true, added: Set(event.documentUpdates.keys))
    _ = try cache.store.apply(event)
    try cache.store.receive(numbered(301, 6), at: 6)
    for number: Int64 in 0..<30 { try cache.store.receive(numbered(1000 + number, 7), at: 7 + number) }
    return (cache, target)
  }

  private static let smallSteps = GarbageCollectionRun.StepLimits(documents: 5)

  @Test("a run reads the result of a pinned query once, a part in each step")
  func boundedSteps() throws {
    let (cache, _) = try makeLargeResult()
    defer { cache.close() }
    var run = GarbageCollectionRun(Self.everything, limits: Self.smallSteps)
    var counts: [Int] = []
    while !run.isFinished {
      counts.append(try cache.statementSteps { _ = try cache.store.advance(&run) { _ in false } })
    }
    #expect(counts.allSatisfy { $0 < 250 }, "\(counts)")
    #expect(counts.count > 300 / 5)
    #expect(run.report.removedDocumentCount == 30)
    #expect(try cache.store.found(rooms).count == 301 && cache.store.read("rooms/301").isFound)
  }

  @Test("large documents end a step that reads the result of a pinned query earlier")
  func boundedBytes() throws {
    let (cache, _) = try makeLargeResult()
    defer { cache.close() }
    var run = GarbageCollectionRun(
      Self.everything, limits: GarbageCollectionRun.StepLimits(documents: 1000, documentBytes: 1))
    while !run.isFinished { _ = try cache.store.advance(&run) { _ in false } }
    #expect(run.report.stepCount > 300)
    #expect(run.report.removedDocumentCount == 30)
  }

  @Test("a result that changes while it is read is read again, and is kept as a whole if it changes all the time")
  func changesWhileRead() throws {
    for changeCount in [0, 1, 100] {
      let (cache, target) = try makeLargeResult()
      defer { cache.close() }
      var run = GarbageCollectionRun(Self.everything, limits: Self.smallSteps)
      var stepCount = 0
      while !run.isFinished {
        _ = try cache.store.advance(&run) { _ in false }
        stepCount += 1
        // One of these becomes the new edge.
        if stepCount % 20 == 0, stepCount / 20 <= changeCount {
          let number = Int64(stepCount / 20)
          try cache.store.receive(
            missing("rooms/\(2 * number)", 50 + number), numbered(1010, 50 + number), at: 50 + number, for: [target],
            token: "t\(number)")
        }
      }
      let left = try cache.store.found(rooms)
      #expect(left.contains("rooms/1005") == (changeCount > 0), "\(changeCount) changes")
      #expect(left.contains("rooms/1029") == (changeCount > 1), "\(changeCount) changes")
    }
  }

  @Test("eager collection reads the result of a pinned query once for each of its versions")
  func eagerEdge() throws {
    let (cache, target) = try makeLargeResult(.eager)
    defer { cache.close() }
    func cost(_ number: Int64, at time: Int64) throws -> Int {
      try cache.statementSteps { try cache.store.receive(numbered(number, time), at: time) }
    }
    #expect(try cost(2000, at: 60) < 100)
    #expect(try cost(303, at: 61) < 100)
    try cache.store.receive(missing("rooms/2", 62), numbered(3000, 62), at: 62, for: [target], token: "t")
    #expect(try cost(2000, at: 63) > 300)
    #expect(try cache.store.read("rooms/2000").isFound && cache.store.read("rooms/303").isFound)
  }

  @Test("documents that a pinned query keeps do not keep the rest in the cache")
  func ownDocumentsDoNotBlock() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    try cache.store.pin(rooms)
    for number in 0..<40 { try writeAcknowledged("rooms/\(number)", cache, at: Int64(10 + number)) }
    for number in 0..<10 { try cache.store.receive(found("halls/\(number)", 3, [:]), at: Int64(100 + number)) }
    for _ in 0..<10 { try collect(cache, GarbageCollectionParameters(thresholdBytes: 0)) }
    #expect(try cache.store.found(halls) == [] && cache.store.found(rooms).count == 40)
  }

  @Test("eager collection keeps what the user has written for a pinned query, until it is unpinned")
  func eagerOwnDocument() throws {
    let cache = try TestCache(.memory, .eager)
    defer { cache.close() }
    try cache.store.pin(rooms)
    try writeAcknowledged("rooms/mine", cache, at: 10)
    try writeAcknowledged("halls/mine", cache, at: 11)
    #expect(try cache.store.found(rooms) == ["rooms/mine"] && cache.store.found(halls) == [])
    try cache.store.unpin(rooms)
    #expect(try cache.store.found(rooms) == [])
  }

  @Test("pinned targets do not use up the share of the others")
  func share() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    for number in 0..<10 {
      let query = collection("pinned\(number)")
      try fetch(query, ["pinned\(number)/a"], cache, at: Int64(number + 1))
      try cache.store.pin(query)
    }
    for number in 0..<10 { try fetch(collection("old\(number)"), [], cache, at: Int64(number + 20)) }
    // The oldest tenth of all twenty would be pinned.
    try collect(cache, GarbageCollectionParameters(thresholdBytes: 0, percentile: 20))
    let left = try (0..<10).filter { try cache.store.targetData(for: collection("old\($0)").target) != nil }
    #expect(left == [2, 3, 4, 5, 6, 7, 8, 9])
  }

  @Test("eager collection keeps what is pinned when its listener goes, and drops it when it is unpinned")
  func eager() throws {
    let cache = try TestCache(.memory, .eager)
    defer { cache.close() }
    try cache.store.pin(rooms)
    try fetch(rooms, ["rooms/a"], cache, at: 5)
    #expect(try cache.store.found(rooms) == ["rooms/a"])
    #expect(try cache.store.targetData(for: rooms.target)?.resumeToken == [1])
    try cache.store.unpin(rooms)
    #expect(try cache.store.found(rooms) == [])
    // One that is in use goes with its listener.
    try cache.store.pin(halls)
    let id = try cache.store.allocateTarget(halls.target).targetID
    try cache.store.receive(found("halls/a", 3, [:]), at: 6, for: [id], token: "t")
    try cache.store.unpin(halls)
    #expect(try cache.store.found(halls) == ["halls/a"])
    try cache.store.releaseTarget(id)
    #expect(try cache.store.found(halls) == [])
  }

  @Test("sizes are those of collections and of pinned queries")
  func sizes() throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    try fetch(rooms, ["rooms/a", "rooms/b"], cache, at: 5)
    try fetch(halls, ["halls/a"], cache, at: 6)
    try cache.store.pin(rooms)
    try cache.store.pin(collection("none"))
    let sizes = try #require(try cache.store.backgroundSizes()).run()
    #expect(sizes == (try cache.store.sizes()))
    #expect(sizes.collections.map(\.path.canonicalString) == ["halls", "rooms"])
    #expect(sizes.collections.map(\.documentCount) == [1, 2])
    let bytes = Int64(found("rooms/a", 3, ["text": "text of rooms/a"]).fields.bytes.count)
    #expect(sizes.collections[1].fieldsBytes == 2 * bytes)
    #expect(sizes.pinnedQueries.map(\.documentCount) == [2, 0])
    #expect(sizes.pinnedQueries.map(\.fieldsBytes) == [2 * bytes, 0])
    #expect(sizes.pinnedQueries.map(\.snapshotVersion) == [version(5), .none])
    #expect(sizes.fileBytes >= sizes.usedBytes && sizes.usedBytes > 0)
  }

  @Test("a pin that cannot be read is removed by the repair")
  func damaged() throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    try cache.store.pin(rooms)
    try cache.store.pin(halls)
    try cache.database.execute("UPDATE cache_pinned_queries SET target = x'FF' WHERE pin_id = 1")
    #expect(try cache.store.pinnedQueries() == [halls])
  }
}
