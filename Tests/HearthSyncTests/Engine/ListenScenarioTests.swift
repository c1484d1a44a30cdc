import HearthModel
import Testing

@testable import HearthSync

@Suite("Listening")
struct ListenScenarioTests {
  private let rooms = collection("rooms")

  @Test("nothing is shown until the backend has sent everything, then all of it at once")
  func firstSnapshot() throws {
    let client = try TestClient()
    let listener = client.listen(rooms)
    #expect(client.watched[2]?.target == rooms.target)
    #expect(client.watched[2]?.resumeToken == [] && client.watched[2]?.expectedCount == nil)
    try client.acknowledge(2)
    try client.put(found("rooms/b", 1), found("rooms/a", 1), into: 2)
    try client.current(2, token: "t")
    #expect(client.takeTold() == [])
    try client.snapshot(10)
    #expect(client.takeTold() == ["listener \(listener.rawValue): server [a b] +a +b"])
    try client.snapshot(11)
    try client.put(found("rooms/a", 12, ["n": 1]), into: 2)
    try client.take("rooms/b", outOf: 2, as: missing("rooms/b", 12))
    #expect(client.takeTold() == [])
    try client.snapshot(12)
    #expect(client.takeTold() == ["listener \(listener.rawValue): server [a] -b ~a"])
  }

  @Test("a snapshot older than the last one is not cut; what it holds comes with the next")
  func snapshotsNeverGoBack() throws {
    let client = try TestClient()
    client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    _ = client.takeTold()
    try client.put(found("rooms/b", 2), into: 2)
    try client.snapshot(9)
    #expect(client.takeTold() == [])
    try client.snapshot(11)
    #expect(client.takeTold().count == 1)
  }

  @Test("a second listener shares target and view, and gets its first snapshot at once")
  func sharedQuery() throws {
    let client = try TestClient()
    client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    _ = client.takeTold()
    let second = client.listen(rooms, .get)
    #expect(client.takeTold() == ["listener \(second.rawValue): server [a] +a"])
    #expect(client.addRequests.count == 1)
    client.post(.unlisten(second))
    #expect(Set(client.watched.keys) == [2])
  }

  @Test("a limit and its mirror share a target until the last of them is gone")
  func sharedTarget() throws {
    let client = try TestClient()
    let first = rooms.ordered(by: "n").with(limit: 2)
    let last = rooms.ordered(by: "n", .descending).with(limit: 2, type: .last)
    let one = client.listen(first)
    try client.fill(2, [found("rooms/a", 1, ["n": 1]), found("rooms/b", 1, ["n": 2])], at: 10)
    _ = client.takeTold()
    let two = client.listen(last)
    #expect(client.takeTold() == ["listener \(two.rawValue): server [b a] +b +a"])
    #expect(client.addRequests.count == 1)
    client.post(.unlisten(one))
    #expect(Set(client.watched.keys) == [2])
    client.post(.unlisten(two))
    #expect(client.watched.isEmpty)
  }

  @Test("listening again shows the cached result, sends the token with the count, and notices what is gone")
  func resume() throws {
    let client = try TestClient(durable: true)
    let one = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1), found("rooms/b", 1)], at: 10)
    client.post(.unlisten(one))
    try client.acknowledgeRemoval(2)
    _ = client.takeTold()
    let two = client.listen(rooms)
    #expect(client.takeTold() == ["listener \(two.rawValue): cache [a b] +a +b"])
    #expect(client.watched[2]?.resumeToken == Array("token-10".utf8))
    #expect(client.watched[2]?.expectedCount == 2)
    try client.acknowledge(2)
    try client.take("rooms/b", outOf: 2, as: missing("rooms/b", 20))
    try client.current(2, token: "token-20")
    try client.snapshot(20)
    #expect(client.takeTold() == ["listener \(two.rawValue): server [a] -b"])
  }

  @Test("a remembered empty result is shown at once")
  func rememberedEmptyResult() throws {
    let client = try TestClient(durable: true)
    let one = client.listen(rooms)
    try client.fill(2, [], at: 10)
    client.post(.unlisten(one))
    _ = client.takeTold()
    let two = client.listen(rooms)
    #expect(client.takeTold() == ["listener \(two.rawValue): cache [] "])
  }

  @Test("a refused target ends its listeners with the error and leaves the others alone")
  func refused() throws {
    let client = try TestClient()
    let one = client.listen(rooms)
    let two = client.listen(collection("users"))
    try client.acknowledge(2, 4)
    try client.reject(2, .permissionDenied)
    #expect(client.takeTold() == ["listener \(one.rawValue): error PERMISSION_DENIED"])
    #expect(client.logs.contains { $0.0 == .warning })
    try client.current(4, token: "t")
    try client.snapshot(10)
    #expect(client.takeTold() == ["listener \(two.rawValue): server [] "])
    client.listen(rooms)
    #expect(client.watched.count == 2)
  }

  @Test("a document listener is told that the document does not exist once the backend says that all was sent")
  func missingDocument() throws {
    let client = try TestClient()
    let listener = client.listen(collection("rooms/a"), .get)
    try client.acknowledge(2)
    try client.snapshot(9)
    #expect(client.takeTold() == [])
    try client.current(2, token: "t")
    try client.snapshot(10)
    #expect(client.takeTold() == ["listener \(listener.rawValue): server [] "])
  }

  @Test("a listener to the cache puts nothing on the wire, until one to the backend joins it")
  func cacheListener() throws {
    let client = try TestClient()
    var options = ListenOptions.everything
    options.source = .cache
    let cached = client.listen(rooms, options)
    #expect(client.takeTold() == ["listener \(cached.rawValue): cache [] "])
    #expect(client.openedStreams == 0)
    let both = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    #expect(
      client.takeTold() == [
        "listener \(cached.rawValue): server [a] +a", "listener \(both.rawValue): server [a] +a",
      ])
    client.post(.unlisten(both))
    #expect(client.watched.isEmpty)
    client.write(.set(key("rooms/b"), [:]))
    #expect(client.takeTold().count == 1)
  }

  @Test("snapshots in sync: at once, and after each round with a call")
  func snapshotsInSync() throws {
    let client = try TestClient()
    client.post(.addSnapshotsInSyncListener(ListenerID(rawValue: 90)))
    #expect(client.takeTold() == ["in sync 90"])
    let one = client.listen(rooms)
    let two = client.listen(rooms.ordered(by: "n"))
    try client.acknowledge(2, 4)
    try client.put(found("rooms/a", 1, ["n": 1]), into: 2, 4)
    try client.current(2, 4, token: "t")
    try client.snapshot(10)
    #expect(
      client.takeTold() == [
        "listener \(one.rawValue): server [a] +a", "listener \(two.rawValue): server [a] +a", "in sync 90",
      ])
    try client.snapshot(11)
    #expect(client.takeTold() == [])
    client.post(.removeSnapshotsInSyncListener(ListenerID(rawValue: 90)))
    client.write(.delete(key("rooms/a")))
    #expect(!client.takeTold().contains("in sync 90"))
  }

  @Test("a full limit that loses a document is refilled from the cache, whose documents are then looked up")
  func limitRefill() throws {
    let client = try TestClient(durable: true)
    // All documents are in the cache through another query.
    client.listen(rooms.ordered(by: "n"))
    try client.fill(2, (1...4).map { found("rooms/\($0)", 1, ["n": .integer($0)]) }, at: 10)
    let limited = client.listen(rooms.ordered(by: "n").with(limit: 2))
    try client.fill(4, [found("rooms/1", 1, ["n": 1]), found("rooms/2", 1, ["n": 2])], at: 11)
    _ = client.takeTold()
    try client.take("rooms/1", outOf: 2, 4, as: missing("rooms/1", 12))
    try client.snapshot(12)
    let told = client.takeTold()
    #expect(told.contains("listener \(limited.rawValue): cache [2 3] -1 +3"))
    #expect(client.watched[1]?.purpose == .limboResolution)
    #expect(client.watched[1]?.target.documentKey == key("rooms/3"))
    try client.put(found("rooms/3", 1, ["n": 3]), into: 4)
    try client.snapshot(13)
    #expect(client.takeTold() == ["listener \(limited.rawValue): server [2 3] "])
    #expect(client.watched[1] == nil)
  }

  @Test("a result that does not agree with the backend's count is asked for again, and what is missing looked up")
  func existenceFilterMismatch() throws {
    let client = try TestClient()
    let listener = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1), found("rooms/b", 1)], at: 10)
    _ = client.takeTold()
    try client.count(1, in: 2)
    #expect(client.takeTold() == [])
    try client.snapshot(20)
    #expect(client.takeTold() == ["listener \(listener.rawValue): cache [a b] "])
    #expect(client.watched[2]?.purpose == .existenceFilterMismatch)
    #expect(client.watched[2]?.resumeToken == [] && client.watched[2]?.readTime == nil)
    // Until both answers have come, messages belong to the earlier listen.
    try client.put(found("rooms/x", 1), into: 2)
    try client.acknowledgeRemoval(2)
    try client.fill(2, [found("rooms/a", 1)], at: 30)
    #expect(client.takeTold() == [])
    #expect(client.engine.activeLimboDocuments == [key("rooms/b"): 1])
    try client.acknowledge(1)
    try client.current(1, token: "t")
    try client.snapshot(31)
    #expect(client.takeTold() == ["listener \(listener.rawValue): server [a] -b"])
    #expect(Set(client.watched.keys) == [2])
  }

  @Test("a refused lookup forgets the cached copy at once")
  func refusedLookup() throws {
    let client = try TestClient(durable: true)
    client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1), found("rooms/b", 1)], at: 10)
    try client.take("rooms/b", outOf: 2)
    try client.snapshot(11)
    #expect(client.engine.activeLimboDocuments.count == 1)
    _ = client.takeTold()
    try client.reject(1, .permissionDenied)
    #expect(client.takeTold().map { $0.hasSuffix("server [a] -b") } == [true])
    #expect(client.engine.activeLimboDocuments.isEmpty)
    client.request(.readDocument(key("rooms/b")))
    guard case .answer(_, .document(let document))? = client.answers.last else {
      Issue.record("no answer: \(client.answers)")
      return
    }
    #expect(document.isUnknown)
  }

  @Test("lookups beyond the limit wait, in key order")
  func lookupLimit() throws {
    let client = try TestClient(durable: true, maxConcurrentLimboResolutions: 2)
    client.listen(rooms)
    try client.fill(2, "abcd".map { found("rooms/\($0)", 1) }, at: 10)
    try client.reset(2)
    try client.current(2, token: "t")
    try client.snapshot(11)
    #expect(client.engine.activeLimboDocuments == [key("rooms/a"): 1, key("rooms/b"): 3])
    #expect(client.engine.enqueuedLimboDocuments == [key("rooms/c"), key("rooms/d")])
    try client.acknowledge(1)
    try client.put(found("rooms/a", 12), into: 1, 2)
    try client.snapshot(12)
    #expect(client.engine.activeLimboDocuments == [key("rooms/b"): 3, key("rooms/c"): 5])
    #expect(client.engine.enqueuedLimboDocuments == [key("rooms/d")])
  }

  @Test("reading the cache: documents with local writes, queries in order, unknown documents as such")
  func cacheReads() throws {
    let client = try TestClient()
    client.write(.set(key("rooms/b"), ["n": 1]))
    client.write(.set(key("rooms/a"), ["n": 2]))
    let read = client.request(.readDocument(key("rooms/b")))
    let unknown = client.request(.readDocument(key("rooms/x")))
    let query = client.request(.readQuery(rooms.ordered(by: "n")))
    try #require(client.answers.count == 3)
    #expect(client.answers[0] == .answer(read, .document(locallyWritten("rooms/b", ["n": 1]))))
    #expect(client.answers[1] == .answer(unknown, .document(.unknown(key("rooms/x")))))
    guard case .answer(query, .snapshot(let snapshot)) = client.answers[2] else {
      Issue.record("not the query's answer: \(client.answers[2])")
      return
    }
    #expect(snapshot.summary == "cache pending [b a] +b +a")
    #expect(client.engine.onlineState == .unknown)
  }
}
