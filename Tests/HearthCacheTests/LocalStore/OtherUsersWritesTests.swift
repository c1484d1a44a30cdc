import HearthModel
import HearthStore
import Testing

@testable import HearthCache

/// Other users' waiting writes decide whether the result that a query has had is a beginning for its next run.
@Suite("Waiting writes of other users, when a query is run")
struct OtherUsersWritesTests {
  private let rooms = collection("rooms")

  /// A cache whose query has a result, and knows some other users. The backend has answered all their writes.
  private func cache(knowing others: Int) throws -> TestCache {
    let cache = try TestCache(.memory)
    let target = try cache.store.allocateTarget(rooms.target).targetID
    try cache.store.receive(found("rooms/a", 5, [:]), at: 5, for: [target], token: "t5")
    try cache.store.notifyLocalViewChanges([LocalViewChanges(targetID: target, isFromCache: false)])
    for number in 0..<others {
      _ = try cache.store.changeUser("user-\(number)")
      try cache.store.write(.set(key("rooms/a"), [:]))
      try cache.store.acknowledgeNext(at: 10 + Int64(number))
    }
    _ = try cache.store.changeUser(nil)
    return cache
  }

  @Test("are looked for with one statement, however many users there are")
  func oneStatement() throws {
    let counts = try [1, 40].map { others in
      let cache = try cache(knowing: others)
      defer { cache.close() }
      return try cache.statementSteps { _ = try cache.store.execute(rooms, usePreviousResults: true) }
    }
    #expect(counts[0] == counts[1])
  }

  @Test("are not looked for where the result that the query has had is not used")
  func unusedResult() throws {
    let cache = try cache(knowing: 1)
    defer { cache.close() }
    func looks(usePreviousResults: Bool) throws -> Int {
      var count = 0
      cache.database.injectFailure = { point in
        if case .statement(let sql) = point, sql.contains("cache_batch_documents") { count += 1 }
        return nil
      }
      defer { cache.database.injectFailure = nil }
      _ = try cache.store.execute(rooms, usePreviousResults: usePreviousResults)
      return count
    }
    #expect(try looks(usePreviousResults: true) > 0)
    #expect(try looks(usePreviousResults: false) == 0)
  }

  @Test("are those at a path and below it, of every user but one")
  func paths() throws {
    let cache = try cache(knowing: 0)
    defer { cache.close() }
    let store = cache.store
    _ = try store.changeUser("alice")
    try store.write(.set(key("rooms/a"), [:]))
    _ = try store.changeUser("bob")
    try store.write(.set(key("rooms-old/1"), [:]))
    try store.write(.set(key("halls/1/rooms/2"), [:]))
    let (alice, bob) = (try store.tables.queue.row(of: "alice"), try store.tables.queue.row(of: "bob"))
    func paths(_ user: MutationQueue.UserRow?) throws -> [String] {
      let all = ["", "rooms", "rooms/a", "rooms/b", "room", "rooms-old", "halls", "halls/1/rooms", "halls/2", "walls"]
      return try all.filter {
        try store.tables.queue.hasPendingBatch(ofOthersThan: user, below: $0.isEmpty ? ResourcePath() : path($0))
      }
    }
    #expect(try paths(nil) == ["", "rooms", "rooms/a", "rooms-old", "halls", "halls/1/rooms"])
    #expect(try paths(alice) == ["", "rooms-old", "halls", "halls/1/rooms"])
    #expect(try paths(bob) == ["", "rooms", "rooms/a"])
    try store.acknowledgeNext(at: 20)
    try store.acknowledgeNext(at: 21)
    #expect(try paths(alice).isEmpty)
  }
}
