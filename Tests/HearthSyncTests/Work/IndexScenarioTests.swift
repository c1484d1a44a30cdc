import HearthCache
import HearthModel
import HearthPlan
import HearthStore
import Testing

@testable import HearthSync

@Suite("Indexes of a running client")
struct IndexScenarioTests {
  private let rooms = collection("rooms")

  private func equal(_ number: Int64) -> Query {
    rooms.with(filter: .field(FieldFilter(path: field("n"), op: .equal, value: .integer(number))))
  }

  /// A client whose cache holds documents with the numbers 0 up to 19, again and again.
  private func makeClient(_ count: Int) throws -> TestClient {
    let client = try TestClient(durable: true)
    for number in 0..<count {
      client.write(.set(key("rooms/\(number)"), ["n": .integer(Int64(number % 20))]))
    }
    return client
  }

  private let definition: IndexDefinition

  init() throws {
    definition = try IndexDefinition(collectionGroup: "rooms", fields: [.init(path: field("n"), kind: .ascending)])
  }

  private func request(_ client: TestClient, _ request: EngineRequest) -> [String] {
    _ = client.takeTold()
    client.request(request)
    return client.takeTold()
  }

  private func plan(_ query: Query, _ client: TestClient) throws -> QueryPlan {
    try client.engine.localStore.queries.explain(query, clock: { .zero }).plan
  }

  @Test("a configuration is answered when it is stored, and filled in steps between which other things happen")
  func configuration() throws {
    let client = try makeClient(1200)
    let answer = request(client, .setIndexes([definition]))
    #expect(answer.count == 1 && answer[0].hasSuffix("OK"))
    #expect(client.timers[.indexBackfill] == client.now)
    var steps = 0
    while client.timers[.indexBackfill] != nil {
      try client.fire(.indexBackfill)
      steps += 1
      client.write(.set(key("rooms/new\(steps)"), ["n": 3]))
      let listener = client.listen(equal(3))
      #expect(client.snapshots[listener]?.last?.documents.count == 60 + steps, "step \(steps)")
      client.post(.unlisten(listener))
    }
    #expect(steps > 2)
    #expect(try plan(equal(3), client) == .index)
    #expect(try client.engine.localStore.indexes.listings().map(\.fill) == [.complete])
  }

  @Test("filling goes on after a restart")
  func restart() throws {
    let client = try makeClient(10)
    _ = request(client, .setIndexes([definition]))
    try client.restart()
    #expect(client.timers[.indexBackfill] == client.now + .seconds(1))
    while client.timers[.indexBackfill] != nil { try client.fire(.indexBackfill) }
    #expect(try client.engine.localStore.indexes.listings().map(\.fill) == [.complete])
    try client.restart()
    #expect(client.timers[.indexBackfill] == nil, "nothing is left to do")
  }

  @Test("a configuration that cannot be stored is an error and changes nothing; a filling that cannot is tried again")
  func failures() throws {
    let client = try makeClient(10)
    client.failing = ["Set indexes"]
    #expect(request(client, .setIndexes([definition])).first?.hasSuffix("OK") == false)
    #expect(client.timers[.indexBackfill] == nil)
    #expect(try client.engine.localStore.indexes.listings().isEmpty)

    client.failing = ["Fill indexes"]
    _ = request(client, .setIndexes([definition]))
    try client.fire(.indexBackfill)
    #expect(client.timers[.indexBackfill] == client.now + .seconds(60))
    #expect(client.engine.isNetworkUsable)
    client.failing = []
    while client.timers[.indexBackfill] != nil { try client.fire(.indexBackfill) }
    #expect(try plan(equal(3), client) == .index)
  }

  @Test("after the end nothing is filled, and who asks is told")
  func shutdown() throws {
    let client = try makeClient(10)
    _ = request(client, .setIndexes([definition]))
    client.post(.shutdown)
    #expect(client.timers[.indexBackfill] == nil)
    #expect(request(client, .deleteAllIndexes).first?.hasSuffix("OK") == false)
  }

  // MARK: - Automatic creation

  private func fillAll(_ client: TestClient) throws {
    while client.timers[.indexBackfill] != nil { try client.fire(.indexBackfill) }
  }

  @Test("a scan that was long and found little makes an index, for a listener and for a read")
  func automatic() throws {
    for isListen in [true, false] {
      let client = try makeClient(0)
      try client.fillCache("rooms", 200) { ["n": .integer(Int64($0 % 20))] }
      func ask() {
        if isListen {
          client.post(.unlisten(client.listen(equal(3))))
        } else {
          client.request(.readQuery(equal(3)))
        }
      }
      ask()
      #expect(client.timers[.indexBackfill] == nil, "off at the start")
      client.post(.setIndexAutoCreation(true))
      ask()
      try fillAll(client)
      let listing = try client.engine.localStore.indexes.listings()
      #expect(listing.map(\.definition) == [definition] && listing.map(\.origin) == [.automatic])
      #expect(try plan(equal(3), client) == .index)
      client.post(.setIndexAutoCreation(false))
      #expect(try plan(equal(3), client) == .index, "existing indexes go on being used")
      client.request(.readQuery(rooms.with(filter: .field(FieldFilter(path: field("m"), op: .equal, value: 1)))))
      #expect(try client.engine.localStore.indexes.listings().count == 1)
    }
  }

  @Test("fields that are named after data do not get indexes without end, and queries stay right")
  func automaticLimit() throws {
    let client = try makeClient(0)
    try client.fillCache("rooms", 200) { ["f\($0)": 1] }
    client.post(.setIndexAutoCreation(true))
    for number in 0..<60 {
      let query = rooms.with(filter: .field(FieldFilter(path: field("f\(number)"), op: .equal, value: 1)))
      let listener = client.listen(query)
      #expect(client.snapshots[listener]?.last?.documents.count == 1)
      client.post(.unlisten(listener))
    }
    #expect(try client.engine.localStore.indexes.listings().count == CacheIndexes.automaticLimit)
    #expect(request(client, .setIndexes([definition])).last?.hasSuffix("OK") == true)
  }

  @Test(
    "a scan of fewer than 100 documents, or of at most 3.4 times the result, makes none",
    arguments: [(99, 5, false), (100, 5, true), (170, 50, false), (171, 50, true)])
  func rule(count: Int, hits: Int, isMade: Bool) throws {
    let client = try makeClient(0)
    try client.fillCache("rooms", count) { ["n": .integer($0 < hits ? 1 : 0)] }
    client.post(.setIndexAutoCreation(true))
    client.request(.readQuery(equal(1)))
    #expect(try client.engine.localStore.indexes.listings().isEmpty != isMade)
  }
}

extension TestClient {
  /// Documents that the backend has sent earlier.
  fileprivate func fillCache(_ collection: String, _ count: Int, _ fields: (Int) -> MapValue) throws {
    var event = RemoteEvent(snapshotVersion: version(1))
    for number in 0..<count {
      let document = Document.found(
        key("\(collection)/\(number)"), version: version(1), fields: EncodedFields(fields(number)))
      event.documentUpdates[document.key] = document
    }
    _ = try engine.localStore.apply(event)
  }
}
