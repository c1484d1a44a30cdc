import HearthModel
import HearthPlan
import HearthStore
import Testing

@testable import HearthCache

@Suite("Queries that leave the loop")
struct CacheBackgroundQueryTests {
  private static let always = BackgroundQueryLimits(documentsOnLoop: -1, partsPerScan: 3)
  private let rooms = Query(path: ResourcePath(["rooms"]))

  private func key(_ number: Int) throws -> DocumentKey { try DocumentKey(parsing: "rooms/\(number)") }

  private func document(_ number: Int, version: Int64, n: Int64) throws -> Document {
    .found(try key(number), version: SnapshotVersion(microseconds: version), fields: EncodedFields(["n": .integer(n)]))
  }

  private func byNumber() throws -> Query {
    rooms.with(order: OrderBy(path: try FieldPath(parsingUserFormat: "n")))
  }

  private func write(_ number: Int, n: Int64, to cache: TestCache) throws {
    _ = try cache.store.write(
      [.set(key(number), ["n": .integer(n)])], localWriteTime: Timestamp(seconds: 1, nanoseconds: 0))
  }

  /// A cache with 20 documents that the backend has confirmed for the target of all rooms, and 2 local writes.
  private func makeCache(_ backing: Backing = .file) throws -> TestCache {
    let cache = try TestCache(backing)
    let target = try cache.store.allocateTarget(rooms.target)
    let documents = try (0..<20).map { try document($0, version: 10, n: Int64($0 * 7 % 20)) }
    _ = try cache.store.apply(
      RemoteEvent(
        snapshotVersion: SnapshotVersion(microseconds: 10),
        targetChanges: [
          target.targetID: TargetChange(resumeToken: [1], isCurrent: true, added: Set(documents.map(\.key)))
        ],
        documentUpdates: Dictionary(uniqueKeysWithValues: documents.map { ($0.key, $0) })))
    try write(3, n: 100, to: cache)
    try write(50, n: 0, to: cache)
    return cache
  }

  private func run(_ query: BackgroundQuery) throws -> BackgroundQuery.Answer {
    try query.run { count, body in (0..<count).forEach { body($0) } }
  }

  @Test("have the answer of the moment when they left", arguments: [true, false])
  func answer(_ wantsConfirmedKeys: Bool) throws {
    let cache = try makeCache()
    defer { cache.close() }
    for query in [rooms, try byNumber(), try byNumber().with(limit: 5, type: .last)] {
      let expected = try cache.store.run(query, usePreviousResults: true)
      let backgroundQuery = try #require(
        try cache.store.queries.makeBackgroundQuery(
          query, wantsConfirmedKeys: wantsConfirmedKeys, limits: Self.always, connections: 10))
      for number in 4..<8 { try write(number, n: -1, to: cache) }
      _ = try cache.store.changeUser("anna")
      let answer = try run(backgroundQuery)
      #expect(answer.documents == expected.documents)
      if wantsConfirmedKeys { #expect(answer.confirmedKeys == expected.confirmedKeys) }
      _ = try cache.store.changeUser(nil)
    }
  }

  @Test("start from the previous result where the loop would")
  func previousResult() throws {
    let cache = try makeCache()
    defer { cache.close() }
    let query = rooms.with(filter: .field(try FieldPath(parsingUserFormat: "n"), .lessThan, 5))
    let target = try cache.store.allocateTarget(query.target).targetID
    _ = try cache.store.apply(
      RemoteEvent(
        snapshotVersion: SnapshotVersion(microseconds: 20),
        targetChanges: [target: TargetChange(resumeToken: [2], isCurrent: true, added: try [key(0), key(3)])]))
    try cache.store.notifyLocalViewChanges([LocalViewChanges(targetID: target, isFromCache: false)])
    let expected = try cache.store.run(query, usePreviousResults: true)
    #expect(expected.execution.plan == .previousResult)
    // Another user's writes concern the collection and what is below it, and no other one.
    _ = try cache.store.changeUser("other")
    try cache.store.write(.set(try DocumentKey(parsing: "rooms-old/1"), [:]))
    _ = try cache.store.changeUser(nil)
    #expect(try cache.store.run(query, usePreviousResults: true).execution.plan == .previousResult)
    let backgroundQuery = try #require(
      try cache.store.queries.makeBackgroundQuery(query, wantsConfirmedKeys: true, limits: Self.always, connections: 10)
    )
    let answer = try run(backgroundQuery)
    #expect(answer.execution.plan == .previousResult)
    #expect(answer.documents == expected.documents && answer.confirmedKeys == expected.confirmedKeys)
    // Two keys and no change: quick where more than a handful of documents are needed to leave.
    let limits = BackgroundQueryLimits(documentsOnLoop: 5, partsPerScan: 3)
    #expect(
      try cache.store.queries.makeBackgroundQuery(query, wantsConfirmedKeys: true, limits: limits, connections: 10)
        == nil)
    #expect(
      try cache.store.queries.makeBackgroundQuery(rooms, wantsConfirmedKeys: true, limits: limits, connections: 10)
        != nil)
    _ = try cache.store.changeUser("other")
    try write(3, n: 1, to: cache)
    _ = try cache.store.changeUser(nil)
    #expect(try cache.store.run(query, usePreviousResults: true).execution.plan != .previousResult)
  }

  @Test("are big ones on a file, as long as connections are left")
  func whichLeave() throws {
    let cache = try makeCache()
    defer { cache.close() }
    func connections(_ query: Query, _ limits: BackgroundQueryLimits, connections: Int = 10) throws -> Int? {
      try cache.store.queries.makeBackgroundQuery(
        query, wantsConfirmedKeys: false, limits: limits, connections: connections)?
        .connectionCount
    }
    #expect(try connections(rooms, Self.always) == 3)
    #expect(try connections(rooms, Self.always, connections: 2) == 2)
    #expect(try connections(rooms, Self.always, connections: 0) == nil)
    // 20 documents and 2 local writes.
    #expect(try connections(rooms, BackgroundQueryLimits(documentsOnLoop: 21, partsPerScan: 1)) == 1)
    #expect(try connections(rooms, BackgroundQueryLimits(documentsOnLoop: 22, partsPerScan: 1)) == nil)
    #expect(try connections(Query(path: try key(1).path), Self.always) == nil)
    let memory = try makeCache(.memory)
    #expect(
      try memory.store.queries.makeBackgroundQuery(
        rooms, wantsConfirmedKeys: false, limits: Self.always, connections: 10)
        == nil)
  }

  @Test("fail when they are cancelled or closed, and leave no connection behind")
  func cancellation() throws {
    let cache = try makeCache()
    defer { cache.close() }
    func query() throws -> BackgroundQuery {
      try #require(
        try cache.store.queries.makeBackgroundQuery(
          rooms, wantsConfirmedKeys: true, limits: Self.always, connections: 10))
    }
    let cancelled = try query()
    cancelled.cancel()
    #expect(throws: StoreError.self) { try run(cancelled) }
    let closed = try query()
    closed.close()
    #expect(throws: StoreError.self) { try run(closed) }
    let incomplete = try query()
    #expect(throws: StoreError.self) { try incomplete.run { _, body in body(0) } }
    incomplete.close()
    // No reader holds the log back.
    try cache.database.truncateLog()
    #expect(try cache.database.logFrameCount() == 0)
  }

  @Test("report the damage that one of the connections has met")
  func damage() throws {
    let cache = try makeCache()
    defer { cache.close() }
    try cache.database.update("UPDATE documents SET fields = X'0AFF' WHERE id = '12'")
    let backgroundQuery = try #require(
      try cache.store.queries.makeBackgroundQuery(
        byNumber(), wantsConfirmedKeys: true, limits: Self.always, connections: 10))
    let error = #expect(throws: StoreError.self) { try run(backgroundQuery) }
    #expect(error?.kind == .corrupt)
  }
}

extension Database {
  /// The frames of the write-ahead log that are not in the file, see `PRAGMA wal_checkpoint`.
  fileprivate func logFrameCount() throws -> Int64 {
    let statement = try prepare("PRAGMA wal_checkpoint(PASSIVE)")
    try #require(try statement.step())
    return try statement.int64(at: 1)
  }
}
