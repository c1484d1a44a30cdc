import HearthModel
import Testing

@testable import HearthSync

/// Cases that the corpus of the official SDKs leaves out: listeners with different wishes on one query.
@Suite("Several listeners on one target")
struct SharedTargetScenarioTests {
  private let rooms = collection("rooms")
  private let plain = ListenOptions()
  private let cacheOnly = ListenOptions(source: .cache)

  @Test("each listener is told what it asked for, from one target")
  func differentOptions() throws {
    let client = try TestClient()
    let everything = client.listen(rooms).rawValue
    let data = client.listen(rooms, plain).rawValue
    #expect(client.watched.count == 1)
    try client.fill(2, [found("rooms/a", 1, ["n": 1])], at: 10)
    #expect(
      client.takeTold() == ["listener \(everything): server [a] +a", "listener \(data): server [a] +a"])
    // Only the pending state of the document changes.
    let write = client.write(.set(key("rooms/a"), ["n": 1])).rawValue
    #expect(client.takeTold() == ["listener \(everything): server pending [a] =a"])
    try client.commit(at: 20)
    try client.put(found("rooms/a", 20, ["n": 1]), into: 2)
    try client.snapshot(20)
    #expect(client.takeTold() == ["write \(write): OK", "listener \(everything): server [a] =a"])
    // Only where the result comes from changes.
    client.setNetwork(isEnabled: false)
    #expect(client.takeTold() == ["listener \(everything): cache [a] "])
  }

  @Test("one that waits for the backend and one that does not start at different times")
  func waitingListener() throws {
    let client = try TestClient()
    client.write(.set(key("rooms/a"), ["n": 1]))
    let eager = client.listen(rooms, plain).rawValue
    let waiting = client.listen(rooms, .get).rawValue
    #expect(client.takeTold() == ["listener \(eager): cache pending [a] +a"])
    try client.fill(2, [found("rooms/b", 1)], at: 10)
    #expect(
      client.takeTold() == [
        "listener \(eager): server pending [a b] +b", "listener \(waiting): server pending [a b] +a +b",
      ])
  }

  @Test("the target leaves the wire with the last listener that needs the backend; one to the cache lives on")
  func cacheListenerOutlivesTheTarget() throws {
    let client = try TestClient()
    let cache = client.listen(rooms, cacheOnly)
    #expect(client.watched.isEmpty)
    #expect(client.takeTold() == ["listener \(cache.rawValue): cache [] "])
    let first = client.listen(rooms)
    let second = client.listen(rooms, plain)
    #expect(client.watched.keys.sorted() == [2])
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    client.post(.unlisten(first))
    #expect(client.watched.keys.sorted() == [2])
    client.post(.unlisten(second))
    #expect(client.watched.isEmpty)
    _ = client.takeTold()
    // The view was in sync with the backend when it was left, and nobody says that it still is.
    client.write(.set(key("rooms/b"), ["n": 2]))
    #expect(client.takeTold() == ["listener \(cache.rawValue): cache pending [a b] +b"])
    client.post(.unlisten(cache))
    client.write(.set(key("rooms/c"), ["n": 2]))
    #expect(client.takeTold() == [])
  }

  @Test("a listener to the cache that is left behind has nothing looked up, which nobody could confirm")
  func noLimboWithoutTheBackend() throws {
    let client = try TestClient()
    let filtered = rooms.filtered("n", .greaterThan, 0)
    let cache = client.listen(filtered, cacheOnly)
    let server = client.listen(filtered)
    try client.fill(2, [found("rooms/a", 1, ["n": 1])], at: 10)
    client.post(.unlisten(server))
    let other = client.listen(rooms)
    try client.fill(4, [found("rooms/a", 1, ["n": 1]), found("rooms/b", 15, ["n": 2])], at: 20)
    #expect(client.snapshots[cache]?.last?.ids == ["a", "b"])
    #expect(client.engine.activeLimboDocuments.isEmpty)
    #expect(client.watched.keys.sorted() == [4])
    // The backend is listened to again: now it must say what became of b.
    client.listen(filtered)
    try client.acknowledgeRemoval(2)
    try client.acknowledge(2)
    try client.current(2, token: "t")
    try client.snapshot(30)
    #expect(client.engine.activeLimboDocuments.keys.map(\.id) == ["b"])
    client.post(.unlisten(other))
  }

  @Test("a rejected target ends all its listeners, each once, and the query can be listened to again")
  func rejection() throws {
    let client = try TestClient()
    let a = client.listen(rooms).rawValue
    let b = client.listen(rooms, plain).rawValue
    try client.acknowledge(2)
    try client.reject(2, .permissionDenied)
    #expect(client.takeTold() == ["listener \(a): error PERMISSION_DENIED", "listener \(b): error PERMISSION_DENIED"])
    client.listen(rooms)
    #expect(client.watched.count == 1)
  }
}
