import HearthModel
import Testing

@testable import HearthSync

/// A message of the backend that cannot be understood concerns those who asked for it, and nobody else.
@Suite("Messages that cannot be understood")
struct UnreadableMessageTests {
  private let rooms = collection("rooms")
  private let halls = collection("halls")

  private func poison(_ targets: TargetID..., isTargetChange: Bool = false) -> WatchResponse {
    .unreadable(
      UnreadableWatchMessage(targetIDs: targets, isTargetChange: isTargetChange, error: error(.internal)))
  }

  @Test("the listener gets the error, the others their snapshots on the same stream, and the backend stops sending")
  func othersGoOn() throws {
    let client = try TestClient(durable: true)
    let poisoned = client.listen(rooms).rawValue
    let other = client.listen(halls).rawValue
    let stream = client.watchStream
    try client.acknowledge(2, 4)
    _ = client.takeTold()
    try client.put(found("rooms/a", 1), into: 2)
    try client.send(poison(2))
    #expect(client.takeTold() == ["listener \(poisoned): error INTERNAL"])
    #expect(client.watched.keys.sorted() == [4])
    // Messages that were on their way, another of the kind included, have no effect.
    try client.put(found("rooms/b", 2), into: 2)
    try client.send(poison(2))
    try client.put(found("halls/a", 3), into: 4)
    try client.acknowledgeRemoval(2)
    try client.current(4, token: "t")
    try client.snapshot(10)
    #expect(client.takeTold() == ["listener \(other): server [a] +a"])
    #expect(client.watchStream == stream && client.openedStreams == 1)
  }

  @Test("cached documents stay, and who listens again gets them and asks the backend again, on the same stream")
  func listenedAgain() throws {
    let client = try TestClient(durable: true)
    let first = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    try client.send(poison(2))
    #expect(client.errors[first] != nil)
    _ = client.takeTold()

    let second = client.listen(rooms).rawValue
    #expect(client.takeTold() == ["listener \(second): cache [a] +a"])
    #expect(client.watched[2]?.resumeToken == Array("token-10".utf8))
    // A message of the earlier listen.
    try client.send(poison(2))
    try client.acknowledgeRemoval(2)
    try client.fill(2, [found("rooms/b", 11)], at: 12)
    #expect(client.takeTold() == ["listener \(second): server [a b] +b"])
    #expect(client.openedStreams == 1)

    // A message of this one.
    try client.send(poison(2))
    #expect(client.takeTold() == ["listener \(second): error INTERNAL"])
  }

  @Test("one-time reads end with the error, and the stream becomes idle when nobody else listens")
  func lastTarget() throws {
    let client = try TestClient()
    let read = client.listen(rooms, .get)
    try client.acknowledge(2)
    try client.send(poison(2))
    #expect(client.errors[read]?.code == .internal)
    #expect(client.watched.isEmpty && client.timers[.listenStreamIdle] != nil)
    try client.fire(.listenStreamIdle)
    #expect(client.watchStream == nil)
  }

  @Test("a document in limbo that cannot be understood leaves the results, and the next one is looked up")
  func limbo() throws {
    let client = try TestClient(durable: true, maxConcurrentLimboResolutions: 1)
    let first = client.listen(rooms)
    try client.fill(2, [found("rooms/a", 1), found("rooms/b", 1)], at: 10)
    client.post(.unlisten(first))
    try client.acknowledgeRemoval(2)
    let listener = client.listen(rooms).rawValue
    // The backend has neither: both are in limbo.
    try client.acknowledge(2)
    try client.reset(2)
    try client.current(2, token: "t")
    try client.snapshot(20)
    #expect(client.watched[1]?.purpose == .limboResolution && client.watched[3] == nil)
    _ = client.takeTold()
    try client.acknowledge(1)
    try client.send(poison(1))
    #expect(client.takeTold() == ["listener \(listener): cache [b] -a"])
    #expect(client.watched[1] == nil && client.watched[3]?.purpose == .limboResolution)
    try client.acknowledge(3)
    try client.current(3, token: "t")
    try client.snapshot(30)
    #expect(client.takeTold() == ["listener \(listener): server [] -b"])
    #expect(client.openedStreams == 1)
  }

  @Test("an unreadable change of a target's state ends the stream too, as it may have been an answer; pauses grow")
  func targetChange() throws {
    let client = try TestClient(durable: true)
    let other = client.listen(halls).rawValue
    try client.acknowledge(2)
    var pauses: [Duration] = []
    for _ in 1...4 {
      let poisoned = client.listen(rooms)
      try client.send(poison(4, isTargetChange: true))
      #expect(client.errors[poisoned]?.code == .internal)
      #expect(client.watchStream == nil)
      if let due = client.timers[.listenStreamConnectionBackoff] {
        pauses.append(due - client.now)
        try client.fire(.listenStreamConnectionBackoff)
      }
      #expect(client.watched.keys.sorted() == [2])
    }
    #expect(pauses.count >= 3 && pauses == pauses.sorted() && pauses.last! > pauses.first!)
    _ = client.takeTold()
    try client.fill(2, [found("halls/a", 1)], at: 10)
    #expect(client.takeTold().last == "listener \(other): server [a] +a")
  }

  @Test("an answer on the write stream that cannot be understood ends that stream only, and the write is sent again")
  func writeStream() throws {
    let client = try TestClient()
    let listener = client.listen(rooms).rawValue
    let stream = client.watchStream
    let write = client.write(.set(key("halls/a"), ["n": 1])).rawValue
    try client.refuseWrite(.internal)
    #expect(client.watchStream == stream)
    _ = client.takeTold()
    try client.fill(2, [found("rooms/a", 1)], at: 10)
    #expect(client.takeTold() == ["listener \(listener): server [a] +a"])
    if client.timers[.writeStreamConnectionBackoff] != nil { try client.fire(.writeStreamConnectionBackoff) }
    try client.commit(at: 20)
    #expect(client.takeTold().contains("write \(write): OK"))
    #expect(client.openedStreams == 3)
  }
}
