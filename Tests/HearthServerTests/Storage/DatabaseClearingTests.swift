import HearthModel
import HearthStore
import Synchronization
import TestSupport
import Testing

@testable import HearthServer

@Suite("Clearing a database", .timeLimit(.minutes(5)))
struct DatabaseClearingTests {
  private func clear(_ fixture: any ListenedFixture, _ place: ResourcePath = ResourcePath()) async throws {
    try await fixture.database.transactions.abortAll()
    try await fixture.database.storage.clear(place)
  }

  private func fill(_ fixture: any ListenedFixture, _ collection: String, count: Int, text: String = "") async throws {
    for start in stride(from: 0, to: count, by: 1000) {
      let mutations = (start..<min(start + 1000, count)).map {
        Mutation.set(key("\(collection)/d\($0)"), ["n": $0.value, "text": .string(text)])
      }
      _ = try await fixture.database.storage.commit(CommitRequest(mutations: mutations))
    }
  }

  private func count(_ fixture: any ListenedFixture, _ query: HearthModel.Query, at version: SnapshotVersion? = nil)
    async throws -> Int
  {
    try await fixture.database.storage.run(query, at: version).documents.count
  }

  private func code(_ body: () async throws -> Void) async -> StatusCode? {
    do {
      try await body()
      return nil
    } catch {
      return (error as? StatusError)?.code
    }
  }

  @Test("it waits for none of 200 open transactions, whose next call is aborted, whatever it is")
  func openTransactions() async throws {
    let fixture = try StorageFixture()
    let transactions = fixture.database.registry
    let query = Query(path: path("c"))
    try await fill(fixture, "c", count: 200)
    let version = try fixture.storage.currentVersion()
    let open = try (0..<200).map { try transactions.begin($0.isMultiple(of: 3) ? .optimistic : .pessimistic) }
    for (number, id) in open.enumerated() where number % 5 > 0 {
      _ = try await transactions.read(
        id, keys: [key("c/d\(number)")], query: number % 2 == 0 ? query : nil, latest: version)
    }
    let readOnly = try transactions.begin(.readOnly)
    _ = try await transactions.read(readOnly, keys: [], query: query, latest: version)
    // One of them waits with its commit for the others, and a write waits for all.
    let waiting = Task {
      await code { _ = try await fixture.database.session.commit([.delete(key("c/d0"))], endingTransaction: open[1]) }
    }
    try await waitUntil { fixture.storage.locks.ticketCount == 1 }
    let write = Task { await code { try await fixture.set("c/d1", ["n": 9.value]) } }
    try await waitUntil { fixture.storage.locks.ticketCount == 2 }

    try await clear(fixture)
    // The end of the others lets it go on: then it has committed before the clearing.
    let outcome = await waiting.value
    #expect(outcome == .aborted || outcome == nil)
    #expect(await write.value == nil, "a write that waited for transactions goes on")
    #expect(try await count(fixture, query) <= 1)
    #expect(transactions.use().reads == 0)
    for (number, id) in open.enumerated() where number != 1 {
      let next = await code {
        if number % 2 == 0 {
          _ = try await transactions.read(id, keys: [key("c/other")], latest: version)
        } else {
          _ = try await fixture.database.session.commit([.set(key("c/other"), [:])], endingTransaction: id)
        }
      }
      #expect(next == .aborted, "transaction \(number)")
      try transactions.rollback(id)
    }
    #expect(try await transactions.read(readOnly, keys: [], query: query, latest: version) == version)
    #expect(try await count(fixture, query, at: version) == 200, "a read-only transaction keeps its snapshot")
    try transactions.rollback(readOnly)
    #expect(fixture.storage.locks.ticketCount == 0)
    #expect(transactions.use().transactions == 0)
    let next = try transactions.begin(.pessimistic)
    _ = try await transactions.read(next, keys: [key("c/d1")], query: query, latest: version)
    #expect(
      await code { _ = try await fixture.database.session.commit([.set(key("c/x"), [:])], endingTransaction: next) }
        == nil)
  }

  @Test("a transaction that has read since the others were ended is aborted by the clearing itself")
  func laterTransactions() async throws {
    let fixture = try StorageFixture()
    let transactions = fixture.database.registry
    try await fill(fixture, "c", count: 3)
    let version = try fixture.storage.currentVersion()
    let open = try (0..<4).map { try transactions.begin($0.isMultiple(of: 2) ? .optimistic : .pessimistic) }
    for id in open {
      _ = try await transactions.read(id, keys: [key("c/d1")], query: Query(path: path("c")), latest: version)
    }
    try await fixture.storage.clear(ResourcePath())
    for (number, id) in open.enumerated() {
      let next = await code {
        if number == 1 {
          _ = try await transactions.read(id, keys: [key("c/d1")], latest: version)
        } else {
          _ = try await fixture.database.session.commit([.set(key("e/\(number)"), [:])], endingTransaction: id)
        }
      }
      #expect(next == .aborted, "transaction \(number)")
    }
    #expect(try await count(fixture, Query(path: ResourcePath(), collectionGroup: "")) == 0)
  }

  @Test("a transaction that locks while the database is cleared is aborted, or reads what is left")
  func racingTransactions() async throws {
    let fixture = try StorageFixture()
    for round in 0..<20 {
      try await fill(fixture, "c", count: 50)
      let readers = (0..<8).map { number in
        // The number of documents that a transaction has read; nil if it was aborted.
        Task { () throws(StatusError) -> Int? in
          let transactions = fixture.database.registry
          let id = try transactions.begin(.pessimistic)
          defer { try? transactions.rollback(id) }
          do throws(StatusError) {
            _ = try await transactions.read(
              id, keys: [], query: Query(path: path("c")), latest: fixture.storage.currentVersion())
            let found = try await fixture.storage.run(Query(path: path("c")), at: nil).documents.count
            _ = try await fixture.database.session.commit([.set(key("e/\(number)"), [:])], endingTransaction: id)
            return found
          } catch  where error.code == .aborted {
            return nil
          }
        }
      }
      try await clear(fixture)
      var afterwards: [String] = []
      for (number, reader) in readers.enumerated() {
        guard let found = try await reader.value else { continue }
        #expect(found == 0 || found == 50, "round \(round)")
        if found == 0 { afterwards.append("e/\(number)") }
      }
      let left = try await fixture.storage.run(Query(path: ResourcePath(), collectionGroup: ""), at: nil).documents
      #expect(left.map { $0.key.description }.sorted() == afterwards, "round \(round)")
      #expect(fixture.storage.locks.ticketCount == 0)
    }
  }

  @Test("a reader sees all of it or nothing, and can read what was there before", arguments: [700, 12_000])
  func readers(documents: Int) async throws {
    try await withTemporaryFolder { folder in
      let fixture = try StorageFixture(location: .file(path: folder + ".sqlite"))
      try await fill(fixture, "c", count: documents)
      try await fixture.set("c/d1/s/x")
      let all = Query(path: ResourcePath(), collectionGroup: "")
      let before = try fixture.storage.currentVersion()
      let isOver = Mutex(false)
      let reader = Task {
        var seen: Set<Int> = []
        while !isOver.withLock({ $0 }) {
          let total = try await fixture.storage.aggregate(
            [Aggregation(alias: "count", operation: .count(upTo: nil))], over: all, skipping: 0, at: nil)
          seen.insert(total.totals.documentCount)
        }
        return seen
      }
      try await clear(fixture)
      let after = try fixture.storage.currentVersion()
      isOver.withLock { $0 = true }
      #expect(try await reader.value.isSubset(of: [documents + 1, 0]))
      #expect(try await count(fixture, all) == 0)
      #expect(try await fixture.storage.count(of: Query(path: path("c")), at: after) == 0)
      #expect(try await fixture.storage.collectionIDs(under: ResourcePath(), after: nil, limit: 9, at: nil) == [])
      #expect(try await count(fixture, all, at: before) == documents + 1)
      let last = SnapshotVersion(microseconds: after.microseconds - 1)
      #expect(try await count(fixture, all, at: last) == documents + 1, "there is one step only")
      await fixture.storage.close()
    }
  }

  @Test(
    "listeners show the empty results, from memory, from the log, or after a reset; resumed ones too",
    arguments: [200, 11_000], [true, false])
  func listeners(documents: Int, keepsHistory: Bool) async throws {
    let fixture = try StorageFixture(
      retention: keepsHistory ? HistoryRetention() : HistoryRetention(bytes: 10_000))
    try await fill(fixture, "c", count: documents)
    try await fixture.set("other/x", ["n": 1.value])
    let all = Query(path: path("c"))
    let order = OrderBy(path: field("n"), direction: .ascending)
    let queries = [
      all, all.with(order: order).with(limit: 3), all.with(filter: .field(field("n"), .greaterThan, 150.value)),
      Query(path: path("other")),
    ]
    let stream = ViewedStream(fixture)
    for (id, query) in queries.enumerated() { try await stream.add(query, id: TargetID(id + 1)) }
    let (token, views) = await (stream.token, stream.views)
    #expect(views[1]?.count == documents)

    try await clear(fixture, path("c"))
    try await fixture.set("c/new", ["n": 500.value])
    try await stream.catchUp()
    let resumed = ViewedStream(fixture)
    for (id, query) in queries.enumerated() {
      let id = TargetID(id + 1)
      try await resumed.add(query, id: id, token: token, view: views[id] ?? [:])
    }
    try await resumed.catchUp()
    for stream in [stream, resumed] {
      for (id, query) in queries.enumerated() {
        let found = try await fixture.storage.run(query, at: nil).documents
        #expect(found.count == 1)
        #expect(
          await stream.views[TargetID(id + 1)]
            == Dictionary(uniqueKeysWithValues: found.map { ($0.key, $0.version) }), "\(query.canonicalID)")
      }
      #expect(await stream.faults == [])
    }
    // Windows follow later commits.
    try await fixture.set("c/second", ["n": 400.value])
    try await stream.catchUp()
    #expect(await stream.views[2]?.count == 2)
  }

  @Test("only what is below the place goes, of a document the document too", .everyStorage)
  func places() async throws {
    for (place, left) in [
      ("c", ["c0/a", "cc/a", "x/c/c/a"]),
      ("c/a", ["c/b", "c/b/s/a", "c0/a", "cc/a", "x/c/c/a"]),
      ("c/a/s", ["c/a", "c/b", "c/b/s/a", "c0/a", "cc/a", "x/c/c/a"]),
      ("nothing", ["c/a", "c/a/s/a", "c/a/s/a/t/a", "c/b", "c/b/s/a", "c0/a", "cc/a", "x/c/c/a"]),
    ] {
      let fixture = try await TestedDatabase()
      for text in ["c/a", "c/a/s/a", "c/a/s/a/t/a", "c/b", "c/b/s/a", "c0/a", "cc/a", "x/c/c/a"] {
        try await fixture.set(text)
      }
      try await clear(fixture, path(place))
      let found = try await fixture.storage.run(Query(path: ResourcePath(), collectionGroup: ""), at: nil).documents
      #expect(found.map { $0.key.description }.sorted() == left.sorted(), "\(place)")
    }
  }

  @Test("a failure leaves everything as it was, and listeners are told nothing")
  func failure() async throws {
    let fails = Mutex(false)
    let fixture = try StorageFixture(injecting: { point in
      guard point == .commit, fails.withLock({ $0 }) else { return nil }
      return StoreError(kind: .full, message: "database or disk is full", sqliteCode: 13)
    })
    try await fill(fixture, "c", count: 50)
    let version = try fixture.storage.currentVersion()
    let stream = ViewedStream(fixture)
    try await stream.add(Query(path: path("c")), id: 1)
    fails.withLock { $0 = true }
    #expect(await code { try await clear(fixture) } == .resourceExhausted)
    fails.withLock { $0 = false }
    #expect(try fixture.storage.currentVersion() == version)
    #expect(try await count(fixture, Query(path: path("c"))) == 50)
    try await stream.catchUp()
    #expect(await stream.views[1]?.count == 50)
    try await clear(fixture)
    try await stream.catchUp()
    #expect(await stream.views[1]?.count == 0)
  }

  @Test("clearing what has no documents commits nothing", .everyStorage)
  func nothing() async throws {
    let fixture = try await TestedDatabase()
    let version = try await fixture.storage.currentVersion()
    try await clear(fixture)
    #expect(try await fixture.storage.currentVersion() == version)
  }
}
