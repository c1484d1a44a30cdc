import HearthModel
import HearthStore
import HearthWire
import SwiftProtobuf
import Synchronization
import Testing

@testable import HearthServer

@Suite("Listening")
struct ListenSessionTests {
  @Test(
    "a first snapshot that is sent in pieces is one state, whatever is committed then, and the changes follow",
    .everyStorage)
  func pieces() async throws {
    let fixture = try await TestedDatabase()
    let count = 800
    _ = try await fixture.storage.commit(
      CommitRequest(mutations: (0..<count).map { .set(key("c/d\($0)"), ["n": $0.value]) }))
    let sent = SentDocuments()
    let subscriber = fixture.storage.feed.subscribe {}
    var session = ListenSession(database: fixture.database.session, subscriber: subscriber) { messages in
      guard sent.append(try messages.flatMap { try $0.decoded }) else { return }
      // Between two pieces: one document goes, one changes, one comes.
      let number = sent.nextNumber()
      try await fixture.commit(.delete(key("c/d\(count - number)")))
      try await fixture.set("c/d\(number)", ["n": (-1).value])
      try await fixture.set("c/e\(number)")
    }
    let request = TargetRequest(
      targetID: 2, target: Query(path: path("c")).target, purpose: .listen, resumeToken: [], readTime: nil,
      expectedCount: nil)
    try await session.handle(ServerFixture.translator.encode(WatchRequest.addTarget(request)))
    #expect(sent.pieces > 3)
    #expect(sent.keys.count == count)
    #expect(Set(sent.keys) == Set((0..<count).map { key("c/d\($0)") }))
    let commits = sent.stop()
    try await session.catchUp()
    // Each round of commits changes three documents. Some are the same ones as in another round.
    #expect(Set(sent.keys.dropFirst(count)).count == sent.keys.count - count)
    #expect(sent.keys.count > count + commits && sent.keys.count <= count + 3 * commits)
  }

  /// The documents of a stream, in the order in which they were sent.
  private final class SentDocuments: Sendable {
    private struct State {
      var keys: [DocumentKey] = []
      var pieces = 0
      var number = 0
      var isStopped = false
    }

    private let state = Mutex(State())
    var keys: [DocumentKey] { state.withLock { $0.keys } }
    var pieces: Int { state.withLock { $0.pieces } }

    /// - Returns: True if there were documents among the messages, until ``stop()``.
    func append(_ responses: [WatchResponse]) -> Bool {
      let keys = responses.compactMap { response -> DocumentKey? in
        if case .documentChange(let change) = response { change.key } else { nil }
      }
      return state.withLock { state in
        state.keys += keys
        if !keys.isEmpty { state.pieces += 1 }
        return !keys.isEmpty && !state.isStopped
      }
    }

    func nextNumber() -> Int {
      state.withLock { state in
        state.number += 1
        return state.number
      }
    }

    /// - Returns: The number of rounds.
    func stop() -> Int {
      state.withLock { state in
        state.isStopped = true
        return state.number
      }
    }
  }

  private static let all = Query(path: path("c"))
  private static let large = all.with(filter: .field(field("n"), .greaterThan, 10.value))

  @Test("a target starts with add, its documents, current and one global snapshot", .everyStorage)
  func start() async throws {
    let fixture = try await TestedDatabase()
    try await fixture.set("c/a", ["n": 20.value])
    try await fixture.set("c/b", ["n": 1.value])
    var listener = Listener(fixture)
    #expect(try await listener.add(Self.large) == ["add 2", "c/a in 2", "current 2", "snapshot"])
    #expect(try await listener.catchUp() == [])
  }

  @Test("a change to one of 1,000 documents sends one document", .everyStorage)
  func incremental() async throws {
    let fixture = try await TestedDatabase()
    _ = try await fixture.storage.commit(
      CommitRequest(mutations: (0..<1000).map { .set(key("c/d\($0)"), ["n": 20.value]) }))
    var listener = Listener(fixture)
    #expect(try await listener.add(Self.large).count == 1003)
    try await fixture.set("c/d500", ["n": 21.value])
    #expect(try await listener.catchUp() == ["c/d500 in 2", "snapshot"])
  }

  @Test("leaving by an update, being deleted and coming in are told, the rest is not", .everyStorage)
  func membership() async throws {
    let fixture = try await TestedDatabase()
    try await fixture.set("c/a", ["n": 20.value])
    try await fixture.set("c/b", ["n": 20.value])
    var listener = Listener(fixture)
    _ = try await listener.add(Self.large)
    try await fixture.set("c/a", ["n": 1.value])
    #expect(try await listener.catchUp() == ["c/a out 2", "snapshot"])
    try await fixture.commit(.delete(key("c/b")))
    #expect(try await listener.catchUp() == ["c/b deleted 2", "snapshot"])
    try await fixture.set("c/a", ["n": 2.value])
    try await fixture.set("other/x", ["n": 20.value])
    try await fixture.commit(.delete(key("c/a")))
    #expect(try await listener.catchUp() == [])
    try await fixture.set("c/new", ["n": 30.value])
    #expect(try await listener.catchUp() == ["c/new in 2", "snapshot"])
  }

  @Test("a write that changes nothing sends nothing", .everyStorage)
  func unchanged() async throws {
    let fixture = try await TestedDatabase()
    try await fixture.set("c/a", ["n": 20.value])
    var listener = Listener(fixture)
    _ = try await listener.add(Self.large)
    try await fixture.set("c/a", ["n": 20.value])
    #expect(try await listener.catchUp() == [])
  }

  @Test("what one commit changes in several targets comes in one snapshot, each document in one message", .everyStorage)
  func severalTargets() async throws {
    let fixture = try await TestedDatabase()
    try await fixture.set("c/a", ["n": 1.value])
    var listener = Listener(fixture)
    _ = try await listener.add(Self.all, id: 2)
    _ = try await listener.add(Self.large, id: 4)
    try await fixture.commit(.set(key("c/a"), ["n": 20.value]), .set(key("c/b"), ["n": 2.value]))
    #expect(try await listener.catchUp() == ["c/a in 2 4", "c/b in 2", "snapshot"])
    try await fixture.set("c/a", ["n": 3.value])
    #expect(try await listener.catchUp() == ["c/a in 2 out 4", "snapshot"])
    #expect(try await listener.remove(2) == ["remove 2"])
    try await fixture.set("c/b", ["n": 30.value])
    #expect(try await listener.catchUp() == ["c/b in 4", "snapshot"])
  }

  @Test("commits that wait together give one snapshot, and read times never go back", .everyStorage)
  func order() async throws {
    let fixture = try await TestedDatabase()
    var listener = Listener(fixture)
    _ = try await listener.add(Self.all)
    try await fixture.set("c/a", ["n": 1.value])
    fixture.clock.advance(seconds: -100)
    try await fixture.set("c/b", ["n": 1.value])
    #expect(try await listener.catchUp() == ["c/a in 2", "c/b in 2", "snapshot"])
    _ = try await listener.add(Self.large, id: 4)
    #expect(listener.readTimes == listener.readTimes.sorted())
  }

  @Test("only commits that touch a target wake the stream", .everyStorage)
  func wakes() async throws {
    let fixture = try await TestedDatabase()
    var listener = Listener(fixture)
    _ = try await listener.add(Self.all, id: 2)
    _ = try await listener.add(Query(path: ResourcePath(), collectionGroup: "g"), id: 4)
    try await fixture.set("other/a")
    #expect(listener.wakeCount == 0)
    try await fixture.set("c/a")
    try await fixture.set("c/a", ["n": 1.value])
    #expect(listener.wakeCount == 1, "one wake stands for everything until the stream has taken it")
    _ = try await listener.catchUp()
    try await fixture.set("deep/x/g/a")
    #expect(listener.wakeCount == 2)
    _ = try await listener.catchUp()
    _ = try await listener.remove(2)
    try await fixture.set("c/b")
    #expect(listener.wakeCount == 2)
  }

  @Test("a target still hears of its collection after other targets of the same one have ended in any way")
  func sharedCollection() async throws {
    let isFailing = Mutex(false)
    let fixture = try StorageFixture(injecting: { _ in
      isFailing.withLock { $0 } ? StoreError(kind: .io, message: "the disk is gone") : nil
    })
    var listener = Listener(fixture)
    _ = try await listener.add(Self.all, id: 2)
    _ = try await listener.add(Self.large, id: 4)
    #expect(try await listener.add(Self.all, id: 6, once: true).last == "remove 6")
    isFailing.withLock { $0 = true }
    await #expect(throws: StatusError.self) { _ = try await listener.add(Self.all, id: 8) }
    isFailing.withLock { $0 = false }
    #expect(try await listener.remove(99) == ["remove 99"])
    #expect(try await listener.remove(2) == ["remove 2"])
    #expect(try await listener.remove(2) == ["remove 2"])
    try await fixture.set("c/a", ["n": 20.value])
    #expect(listener.wakeCount == 1)
    #expect(try await listener.catchUp() == ["c/a in 4", "snapshot"])
    _ = try await listener.remove(4)
    try await fixture.set("c/b", ["n": 20.value])
    #expect(listener.wakeCount == 1)
    #expect(try await listener.catchUp() == [])
  }

  @Test("a document of two documents targets wakes the stream until the second one is removed", .everyStorage)
  func sharedDocument() async throws {
    func request(_ id: TargetID, _ paths: [String]) -> Google_Firestore_V1_ListenRequest {
      .with {
        $0.addTarget.targetID = id
        $0.addTarget.documents.documents = paths.map(name)
      }
    }
    let fixture = try await TestedDatabase()
    var listener = Listener(fixture)
    _ = try await listener.handle(request(2, ["c/a", "c/b"]))
    _ = try await listener.handle(request(4, ["c/b", "c/d"]))
    _ = try await listener.remove(2)
    try await fixture.set("c/a")
    #expect(listener.wakeCount == 0)
    try await fixture.set("c/b")
    #expect(listener.wakeCount == 1)
    #expect(try await listener.catchUp() == ["c/b in 4", "snapshot"])
    _ = try await listener.remove(4)
    try await fixture.set("c/b", ["n": 1.value])
    #expect(listener.wakeCount == 1)
  }

  @Test("targets are named in the order of their numbers, whatever the order of their requests", .everyStorage)
  func targetOrder() async throws {
    let fixture = try await TestedDatabase()
    var listener = Listener(fixture)
    for id: TargetID in [6, 2, 8, 4] { _ = try await listener.add(Self.all, id: id) }
    try await fixture.set("c/a")
    #expect(try await listener.catchUp() == ["c/a in 2 4 6 8", "snapshot"])
    _ = try await listener.remove(4)
    _ = try await listener.remove(8)
    #expect(try await listener.add(Self.all, id: 0).first == "add 7")
    _ = try await listener.add(Self.all, id: 4)
    try await fixture.set("c/b")
    #expect(try await listener.catchUp() == ["c/b in 2 4 6 7", "snapshot"])
  }

  @Test("a target without a number gets a free one, also next to the highest number that there is", .everyStorage)
  func freeNumber() async throws {
    let fixture = try await TestedDatabase()
    var listener = Listener(fixture)
    #expect(try await listener.add(Self.all, id: 0).first == "add 1")
    _ = try await listener.add(Self.all, id: .max)
    #expect(try await listener.add(Self.all, id: 0).first == "add 2")
    #expect(try await listener.add(Self.all, id: 0).first == "add 3")
    try await fixture.set("c/a")
    #expect(try await listener.catchUp() == ["c/a in 1 2 3 \(TargetID.max)", "snapshot"])
  }

  @Test("a limit shows its window: newcomers push out, leavers make room, others are not mentioned", .everyStorage)
  func limit() async throws {
    let fixture = try await TestedDatabase()
    for n in [10, 20, 30, 40] { try await fixture.set("c/d\(n)", ["n": n.value]) }
    let query = Self.all.with(order: OrderBy(path: field("n"), direction: .ascending)).with(limit: 2)
    var listener = Listener(fixture)
    #expect(try await listener.add(query) == ["add 2", "c/d10 in 2", "c/d20 in 2", "current 2", "snapshot"])
    try await fixture.set("c/d15", ["n": 15.value])
    #expect(try await listener.catchUp() == ["c/d20 out 2 unchanged", "c/d15 in 2", "snapshot"])
    try await fixture.commit(.delete(key("c/d10")))
    #expect(try await listener.catchUp() == ["c/d10 deleted 2", "c/d20 in 2", "snapshot"])
    try await fixture.set("c/d40", ["n": 41.value])
    #expect(try await listener.catchUp() == [])
    try await fixture.set("c/d15", ["n": 99.value])
    #expect(try await listener.catchUp() == ["c/d15 out 2", "c/d30 in 2", "snapshot"])
  }

  @Test("a documents target tells what exists and what does not", .everyStorage)
  func documents() async throws {
    let fixture = try await TestedDatabase()
    try await fixture.set("c/a")
    var message = Google_Firestore_V1_ListenRequest()
    message.addTarget.targetID = 3
    message.addTarget.documents.documents = ["c/a", "c/none", "c/a"].map(name)
    var listener = Listener(fixture)
    #expect(try await listener.handle(message) == ["add 3", "c/a in 3", "c/none deleted 3", "current 3", "snapshot"])
    try await fixture.set("c/none")
    #expect(try await listener.catchUp() == ["c/none in 3", "snapshot"])
    try await fixture.commit(.delete(key("c/a")))
    #expect(try await listener.catchUp() == ["c/a deleted 3", "snapshot"])
  }

  @Test("once: the target is removed after its first snapshot", .everyStorage)
  func once() async throws {
    let fixture = try await TestedDatabase()
    try await fixture.set("c/a")
    var listener = Listener(fixture)
    let messages = try await listener.add(Self.all, once: true)
    #expect(messages == ["add 2", "c/a in 2", "current 2", "snapshot", "remove 2"])
    try await fixture.set("c/b")
    #expect(try await listener.catchUp() == [])
  }

  @Test("a query that cannot run ends its target, not the stream", .everyStorage)
  func badQuery() async throws {
    let fixture = try await TestedDatabase()
    var listener = Listener(fixture)
    _ = try await listener.add(Self.all, id: 2)
    let empty = Self.all.with(filter: .field(field("a"), .in, .array([])))
    #expect(try await listener.add(empty, id: 4) == ["add 4", "remove 4 (3: 'IN' requires an non-empty ArrayValue.)"])
    var kindless = Google_Firestore_V1_ListenRequest()
    kindless.addTarget.targetID = 6
    kindless.addTarget.query.parent = ServerFixture.database.documentsName
    kindless.addTarget.query.structuredQuery.from = [.init()]
    #expect(
      try await listener.handle(kindless)
        == ["add 6", "remove 6 (3: All-collection queries are not supported by real-time queries.)"])
    var skipping = kindless
    skipping.addTarget.query.structuredQuery.from = [.with { $0.collectionID = "c" }]
    skipping.addTarget.query.structuredQuery.offset = 1
    #expect(
      try await listener.handle(skipping) == ["add 6", "remove 6 (3: 'offset' is not supported by real-time queries.)"])
    var nearest = skipping
    nearest.addTarget.query.structuredQuery.offset = 0
    nearest.addTarget.query.structuredQuery.findNearest.limit = Google_Protobuf_Int32Value(1)
    #expect(
      try await listener.handle(nearest) == [
        "add 6", "remove 6 (3: 'find_nearest' is not supported by real-time queries.)",
      ])
    try await fixture.set("c/a")
    #expect(try await listener.catchUp() == ["c/a in 2", "snapshot"])
  }

  @Test("requests that make no sense end the stream", .everyStorage)
  func badRequests() async throws {
    let fixture = try await TestedDatabase()
    var listener = Listener(fixture)
    _ = try await listener.add(Self.all, id: 2)
    await #expect(throws: StatusError.self) { _ = try await listener.add(Self.all, id: 2) }
    await #expect(throws: StatusError.self) { _ = try await listener.add(Self.all, id: -1) }
    await #expect(throws: StatusError.self) { _ = try await listener.handle(.init()) }
    await #expect(throws: StatusError.self) {
      _ = try await listener.handle(.with { $0.addTarget.targetID = 8 })
    }
    #expect(try await listener.remove(99) == ["remove 99"])
  }

  @Test("an idle stream gets a fresh token when the database has moved on", .everyStorage)
  func refresh() async throws {
    let fixture = try await TestedDatabase()
    var listener = Listener(fixture)
    _ = try await listener.add(Self.all)
    #expect(try await listener.refresh() == [])
    let version = try await fixture.set("other/a")
    #expect(try await listener.refresh() == ["snapshot"])
    #expect(ResumeToken(bytes: listener.token)?.version == version)
    #expect(try await listener.refresh() == [])
  }

  @Test("a stream that has fallen behind the feed gets the difference from the log in one snapshot", .everyStorage)
  func fallenBehind() async throws {
    let fixture = try await TestedDatabase(feedCapacity: 4)
    try await fixture.set("c/gone", ["n": 20.value])
    try await fixture.set("c/still", ["n": 20.value])
    var listener = Listener(fixture)
    _ = try await listener.add(Self.large)
    for n in 0..<20 { try await fixture.set("c/busy", ["n": (11 + n).value]) }
    try await fixture.commit(.delete(key("c/gone")))
    #expect(try await listener.catchUp() == ["c/busy in 2", "c/gone deleted 2", "snapshot"])
  }

  @Test("a stream that the log has forgotten too starts again, and only with the documents that still exist")
  func forgotten() async throws {
    let fixture = try StorageFixture(feedCapacity: 2, retention: .init(bytes: 600))
    try await fixture.set("c/gone", ["n": 20.value])
    var listener = Listener(fixture)
    _ = try await listener.add(Self.large)
    try await fixture.commit(.delete(key("c/gone")))
    for n in 0..<20 { try await fixture.set("c/busy", ["n": (11 + n).value]) }
    #expect(try await listener.catchUp() == ["reset 2", "c/busy in 2", "current 2", "snapshot"])
  }

  @Test("a window in memory follows however short the log is")
  func forgottenWindow() async throws {
    let fixture = try StorageFixture(retention: .init(bytes: 600))
    var listener = Listener(fixture)
    _ = try await listener.add(Self.large.with(limit: 2))
    for n in 0..<20 { try await fixture.set("c/busy", ["n": (11 + n).value]) }
    #expect(try await listener.catchUp() == ["c/busy in 2", "snapshot"])
  }

  @Test("a first snapshot whose version is not kept any more ends the stream in a way that clients retry")
  func forgottenStart() async throws {
    let fixture = try StorageFixture(retention: .init(bytes: 600))
    _ = try await fixture.storage.commit(
      CommitRequest(mutations: (0..<300).map { .set(key("c/d\($0)"), ["n": $0.value]) }))
    let subscriber = fixture.storage.feed.subscribe {}
    var session = ListenSession(database: fixture.database.session, subscriber: subscriber) { _ in
      for n in 0..<20 { try await fixture.set("c/d1", ["n": (1000 + n).value]) }
    }
    let request = TargetRequest(
      targetID: 2, target: Self.all.target, purpose: .listen, resumeToken: [], readTime: nil, expectedCount: nil)
    let message = ServerFixture.translator.encode(WatchRequest.addTarget(request))
    let error = await #expect(throws: StatusError.self) { try await session.handle(message) }
    #expect(error?.code == .unavailable)
  }
}
