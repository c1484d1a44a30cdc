import HearthModel
import Testing

@testable import HearthSync

@Suite("Changes of the user")
struct UserChangeScenarioTests {
  private let rooms = collection("rooms")

  @Test("a change of the user does not wait behind a view that cannot be read, and nothing goes out for another user")
  func failingView() throws {
    let client = try TestClient(durable: true)
    client.changeUser("alice")
    client.listen(rooms.ordered(by: "n").with(limit: 1))
    client.write(.set(key("rooms/a"), ["n": 1]))
    client.write(.set(key("rooms/b"), ["n": 2]))
    client.failing = ["Execute query"]
    client.write(.delete(key("rooms/a")))
    #expect(client.sentBatches.count == 3 && client.streamUser == "alice")

    client.changeUser("bob")
    #expect(client.streamUser == "bob" && client.sentBatches == [])
    client.write(.set(key("rooms/c"), ["n": 3]))
    #expect(client.sentBatches == [[.set(key("rooms/c"), ["n": 3])]])
    try client.commit(at: 10)

    client.changeUser("alice")
    #expect(client.streamUser == "alice" && client.sentBatches.count == 3)
  }

  @Test("while a change of the user cannot be carried out no stream is open, and writes go to the new user's outbox")
  func writesInBetween() throws {
    let client = try TestClient(durable: true)
    client.changeUser("alice")
    let listener = client.listen(rooms).rawValue
    client.write(.set(key("rooms/a"), [:]))
    client.failing = ["Handle user change"]
    client.changeUser("bob")
    #expect(client.watchStream == nil && client.writeStream == nil)
    _ = client.takeTold()
    let write = client.write(.set(key("rooms/b"), [:])).rawValue
    #expect(client.watchStream == nil && client.writeStream == nil && client.sentBatches == [])
    // The view is still the former user's.
    #expect(client.takeTold() == [])

    client.failing = []
    try client.fire(.asyncQueueRetry)
    #expect(client.takeTold() == ["listener \(listener): cache pending [b] -a +b"])
    #expect(client.streamUser == "bob" && client.sentBatches == [[.set(key("rooms/b"), [:])]])
    try client.commit(at: 10)
    #expect(client.takeTold().first == "write \(write): OK")
    client.changeUser("alice")
    #expect(client.sentBatches == [[.set(key("rooms/a"), [:])]])
  }

  @Test("a write that arrives while the user cannot be changed is the new user's after a restart")
  func restartInBetween() throws {
    let client = try TestClient(durable: true)
    client.changeUser("alice")
    client.failing = ["Handle user change"]
    client.changeUser("bob")
    client.write(.set(key("rooms/b"), [:]))
    try client.restart()
    #expect(client.sentBatches == [[.set(key("rooms/b"), [:])]])
    client.changeUser("alice")
    #expect(client.sentBatches == [])
  }

  @Test("of two changes that wait, each opens the streams for the user whose outbox it shows")
  func twoChanges() throws {
    let client = try TestClient(durable: true)
    client.changeUser("bob")
    client.write(.set(key("rooms/b"), [:]))
    client.changeUser("alice")
    client.listen(rooms)
    client.failing = ["Handle user change"]
    client.changeUser("bob")
    client.changeUser("carol")
    client.write(.set(key("rooms/c"), [:]))
    client.failing = []
    try client.fire(.asyncQueueRetry)
    #expect(client.streamUser == "bob" && client.sentBatches == [[.set(key("rooms/b"), [:])]])
    try client.fire(.asyncQueueRetry)
    #expect(client.streamUser == "carol" && client.sentBatches == [[.set(key("rooms/c"), [:])]])
  }

  @Test("reads are answered from the cache while the user cannot be changed, and the log says why")
  func reads() throws {
    let client = try TestClient(durable: true)
    client.changeUser("alice")
    client.failing = ["Handle user change"]
    client.changeUser("bob")
    let get = client.listen(rooms, .get).rawValue
    #expect(client.takeTold() == ["listener \(get): cache [] "])
    #expect(client.engine.onlineState == .offline)
    #expect(client.logs.contains { $0.0 == .error && $0.1.contains("change of the user") })
    client.failing = []
    try client.fire(.asyncQueueRetry)
    #expect(client.engine.onlineState == .unknown && client.watchStream != nil)
  }

  @Test("an answer that could not be stored is stored for its owner, although the user has changed since")
  func lateAnswer() throws {
    let client = try TestClient(durable: true)
    client.changeUser("bob")
    client.write(.set(key("rooms/b"), [:]))
    client.changeUser("alice")
    let listener = client.listen(rooms).rawValue
    let write = client.write(.set(key("rooms/a"), [:])).rawValue
    client.failing = ["Acknowledge batch"]
    try client.commit(at: 10)
    client.changeUser("bob")
    let wait = client.request(.waitForPendingWrites).rawValue
    _ = client.takeTold()
    client.failing = []
    try client.fire(.asyncQueueRetry)
    let told = client.takeTold()
    #expect(told.contains("write \(write): OK") && !told.contains("request \(wait): OK"))
    #expect(client.snapshots[ListenerID(rawValue: listener)]?.last?.ids == ["a", "b"])
    #expect(client.sentBatches == [[.set(key("rooms/b"), [:])]])
    try client.commit(at: 20)
    #expect(client.takeTold().contains("request \(wait): OK"))
    client.changeUser("alice")
    #expect(client.sentBatches == [])
  }

  @Test("waiting for pending writes means those of the user who asks")
  func waits() throws {
    let client = try TestClient(durable: true)
    client.changeUser("alice")
    client.write(.set(key("rooms/a"), [:]))
    let former = client.request(.waitForPendingWrites).rawValue
    client.failing = ["Handle user change"]
    client.changeUser("bob")
    #expect(client.takeTold() == ["request \(former): CANCELLED"])
    let empty = client.request(.waitForPendingWrites).rawValue
    client.write(.set(key("rooms/b"), [:]))
    let wait = client.request(.waitForPendingWrites).rawValue
    #expect(client.takeTold() == ["request \(empty): OK"])
    client.failing = []
    try client.fire(.asyncQueueRetry)
    try client.commit(at: 10)
    #expect(client.takeTold().contains("request \(wait): OK"))
  }
}
