import HearthModel
import HearthStore
import Synchronization
import Testing

@testable import HearthServer

@Suite("Sharing between listen streams")
struct SharedQueriesTests {
  private static func owned(by number: Int) -> WatchSource {
    .query(Query(path: path("c")).with(filter: .field(field("owner"), .equal, number.value)))
  }

  private static func transition(_ path: String, from before: MapValue?, to after: MapValue?) -> DocumentTransition {
    func document(_ fields: MapValue?, _ version: Int64) -> Document {
      let version = SnapshotVersion(microseconds: version)
      return fields.map { .found(key(path), version: version, fields: EncodedFields($0)) }
        ?? .missing(key(path), version: version)
    }
    return DocumentTransition(before: document(before, 1), after: document(after, 2))
  }

  @Test("a commit is looked at for the queries of its values only, not for 10,000 others of the collection")
  func byEquality() {
    var index = QueryIndex()
    for number in 0..<10_000 { index.insert(number, Self.owned(by: number)) }
    index.insert(10_000, .query(Query(path: path("c"))))
    index.insert(10_001, .query(Query(path: path("other"))))
    index.insert(10_002, .query(Query(path: ResourcePath(), collectionGroup: "c")))
    index.insert(10_003, .documents([key("c/a"), key("c/b")]))
    let moved = Self.transition("c/a", from: ["owner": 7.value], to: ["owner": .double(8)])
    let other = Self.transition("c/z", from: nil, to: ["name": "x"])
    #expect(
      index.candidates(for: [moved, other])
        == [7: [0], 8: [0], 10_000: [0, 1], 10_002: [0, 1], 10_003: [0]])
    for number in 0..<10_000 { index.remove(number, Self.owned(by: number)) }
    index.remove(10_000, .query(Query(path: path("c"))))
    #expect(index.candidates(for: [moved]) == [10_002: [0], 10_003: [0]])
  }

  @Test("streams with the same query get the same bytes of a document, each with its own target ids")
  func sharedBytes() async throws {
    let fixture = try StorageFixture()
    let feed = fixture.storage.feed
    let subscribers = [feed.subscribe {}, feed.subscribe {}]
    let query = Query(path: path("c"))
    let numbers = subscribers.map { feed.join(.query(query), by: $0) }
    #expect(numbers[0] == numbers[1])
    let version = feed.match()
    try await fixture.set("c/a", ["n": 1.value])
    try await fixture.set("c/a", ["n": 2.value])
    let taken = subscribers.map { feed.take(after: version, by: $0) }
    #expect(taken.map { $0.changes.count } == [1, 1])
    #expect(taken[0].changes[0].changes.count == 1, "two commits are one change")
    #expect(taken[0].changes[0].changes[0].document === taken[1].changes[0].changes[0].document)
    let document = taken[0].changes[0].changes[0].document
    let messages = try [[2, 300], [4]].flatMap { ids in
      try ListenMessage.encoded(
        document.message(updated: ids, removed: [7], isContentNew: true, in: ServerFixture.database)
      ).decoded
    }
    for (message, ids) in zip(messages, [[2, 300], [4]] as [[TargetID]]) {
      guard case .documentChange(let change) = message else {
        Issue.record("\(message)")
        continue
      }
      #expect(change.updatedTargetIDs == ids && change.removedTargetIDs == [7])
      #expect(try change.document?.fields.value(at: field("n")) == 2.value)
      #expect(change.document?.version == fixture.storage.feed.latestVersion)
    }
  }

  @Test("a stream is woken by changes of its result, not by others of its collection")
  func wakes() async throws {
    let fixture = try StorageFixture()
    var listener = Listener(fixture)
    let query = Query(path: path("c")).with(order: OrderBy(path: field("n"), direction: .ascending)).with(limit: 2)
    for n in 0..<5 { try await fixture.set("c/d\(n)", ["n": n.value]) }
    _ = try await listener.add(query)
    try await fixture.set("c/d4", ["n": 40.value])
    try await fixture.set("c/d9", ["n": 90.value])
    try await fixture.commit(.delete(key("c/d3")))
    #expect(listener.wakeCount == 0)
    try await fixture.set("c/d9", ["n": (-1).value])
    #expect(listener.wakeCount == 1)
    #expect(try await listener.catchUp() == ["c/d1 out 2 unchanged", "c/d9 in 2", "snapshot"])
  }

  @Test("a window is read again only when a full one has lost a member, and once for all streams that share it")
  func refills() async throws {
    let runs = Mutex(0)
    let fixture = try StorageFixture(injecting: { point in
      if point == .transaction("read page of query") { runs.withLock { $0 += 1 } }
      return nil
    })
    let query = Query(path: path("c")).with(order: OrderBy(path: field("n"), direction: .ascending)).with(limit: 3)
    for n in 0..<8 { try await fixture.set("c/d\(n)", ["n": (10 * n).value]) }
    let streams = (0..<20).map { _ in ViewedStream(fixture) }
    for stream in streams { try await stream.add(query, id: 2) }
    runs.withLock { $0 = 0 }
    func catchUp() async throws {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for stream in streams { group.addTask { try await stream.catchUp() } }
        try await group.waitForAll()
      }
    }
    // Within the window, into it, behind it.
    try await fixture.set("c/d1", ["n": 5.value])
    try await fixture.set("c/d1", ["n": 1.value, "m": 1.value])
    try await fixture.set("c/d7", ["n": 2.value])
    try await fixture.set("c/d6", ["n": 99.value])
    try await fixture.commit(.delete(key("c/d5")))
    try await catchUp()
    #expect(runs.withLock { $0 } == 0)
    try await fixture.commit(.delete(key("c/d0")))
    try await catchUp()
    #expect(runs.withLock { $0 } == 1)
    for stream in streams { #expect(await stream.views[2]?.keys.sorted() == ["c/d1", "c/d2", "c/d7"].map { key($0) }) }
  }

  private static func above(_ number: Int) -> WatchSource {
    .query(Query(path: path("c")).with(filter: .field(field("n"), .greaterThan, number.value)))
  }

  private static func commit(_ version: Int) -> CommittedChange {
    CommittedChange(
      version: SnapshotVersion(microseconds: Int64(version)),
      transitions: [transition("c/d\(version)", from: nil, to: ["n": 100_000.value])])
  }

  @Test("what a commit adds for each query that it concerns is counted, and stays within the bytes")
  func heldBytes() {
    var queries = SharedQueries(version: .none, maximumCommits: 4096, maximumBytes: 1 << 20)
    let subscribers = (0..<1000).map { number in
      let subscriber = queries.subscribe {}
      _ = queries.join(Self.above(number), by: subscriber)
      return subscriber
    }
    let perCommit = 1000 * (SharedQueries.bytesPerQuery + SharedQueries.bytesPerChange)
    for version in 1...100 {
      queries.match(Self.commit(version))
      #expect(queries.heldBytes <= 1 << 20)
      #expect(queries.heldBytes >= queries.heldCount * perCommit && queries.heldCount > 0)
    }
    // A stream that was too slow for that takes the rest from the log.
    #expect(queries.take(after: .none, by: subscribers[0]).dropped.count == 1)
  }

  @Test("what costs more than a round may is taken from the log, the dearest queries first")
  func effort() throws {
    var queries = SharedQueries(version: .none, maximumCommits: 4096, maximumBytes: 32 << 20, maximumEffort: 1_000)
    let (honest, hostile) = (queries.subscribe {}, queries.subscribe {})
    _ = queries.join(Self.above(1), by: honest)
    for number in 0..<100 {
      let alternatives = (0..<25).map { Filter.field(field("n"), .greaterThan, (number * 25 + $0).value) }
      _ = queries.join(.query(Query(path: path("c")).with(filter: .or(alternatives))), by: hostile)
    }
    queries.beginRound(commits: 10)
    for version in 1...10 { queries.match(Self.commit(version)) }
    let taken = queries.take(after: .none, by: honest)
    #expect(taken.dropped.isEmpty && taken.changes.first?.changes.count == 10)
    // Each costs more than 25 conditions for each commit, so that at most 40 are matched with any.
    #expect(queries.take(after: .none, by: hostile).dropped.count >= 60)
    // The next one has.
    queries.beginRound(commits: 1)
    let version = SnapshotVersion(microseconds: 10)
    queries.match(Self.commit(11))
    let next = queries.take(after: version, by: hostile)
    #expect(next.dropped.count + next.changes.count == 100 && next.changes.count >= 10)
  }

  @Test(
    "queries by more fields than are looked up in documents hear of their changes all the same, also after others have ended"
  )
  func manyFields() throws {
    var queries = SharedQueries(version: .none, maximumCommits: 4096, maximumBytes: 32 << 20)
    let subscriber = queries.subscribe {}
    var ids = (0..<100).map { number in
      queries.join(
        .query(Query(path: path("c")).with(filter: .field(field("f\(number)"), .equal, 1.value))), by: subscriber)
    }
    for id in ids[..<50] { queries.leave(id, by: subscriber) }
    ids.removeFirst(50)
    let fields = MapValue(Dictionary(uniqueKeysWithValues: (0..<100).map { ("f\($0)", 1.value) }))
    queries.match(
      CommittedChange(
        version: SnapshotVersion(microseconds: 1), transitions: [Self.transition("c/d", from: nil, to: fields)]))
    let taken = queries.take(after: .none, by: subscriber)
    #expect(taken.dropped.isEmpty && Set(taken.changes.map(\.query)) == Set(ids))
  }

  @Test("documents are searched for the values of 32 fields, and queries by further ones are candidates for all")
  func searchedFields() {
    var index = QueryIndex()
    for number in 0..<40 {
      index.insert(number, .query(Query(path: path("c")).with(filter: .field(field("f\(number)"), .equal, 1.value))))
    }
    let other = [Self.transition("c/d", from: nil, to: ["n": 1.value])]
    #expect(index.candidates(for: other).keys.sorted() == Array(32..<40))
    for number in 0..<40 {
      index.remove(number, .query(Query(path: path("c")).with(filter: .field(field("f\(number)"), .equal, 1.value))))
    }
    #expect(index.candidates(for: other).isEmpty)
  }

  @Test(
    "a condition on a large document costs more of a round than one on a small document, before or after the change")
  func weights() {
    let large: MapValue = ["n": 5.value, "t": .string(String(repeating: "x", count: 100 << 10))]
    let small: MapValue = ["n": 5.value]
    for (before, after, isMatched) in [(small, small, true), (large, small, false), (nil, large, false)] {
      var queries = SharedQueries(version: .none, maximumCommits: 4096, maximumBytes: 32 << 20, maximumEffort: 50)
      let subscriber = queries.subscribe {}
      _ = queries.join(Self.above(1), by: subscriber)
      queries.match(
        CommittedChange(
          version: SnapshotVersion(microseconds: 1),
          transitions: [Self.transition("c/d", from: before, to: after)]))
      #expect(queries.take(after: .none, by: subscriber).dropped.isEmpty == isMatched)
    }
  }

  @Test("what all streams have taken is forgotten, and nothing that one of them has not")
  func taken() {
    var queries = SharedQueries(version: .none, maximumCommits: 4096, maximumBytes: 32 << 20)
    let (fast, slow) = (queries.subscribe {}, queries.subscribe {})
    for subscriber in [fast, slow] {
      _ = queries.join(Self.above(1), by: subscriber)
      _ = queries.join(Self.above(2), by: subscriber)
    }
    func version(_ number: Int) -> SnapshotVersion { SnapshotVersion(microseconds: Int64(number)) }
    func take(_ subscriber: Int, after number: Int) -> Int {
      let taken = queries.take(after: version(number), by: subscriber)
      #expect(taken.dropped.isEmpty)
      return taken.changes.first?.changes.count ?? 0
    }
    for number in 1...200 {
      queries.match(Self.commit(number))
      #expect(take(fast, after: number - 1) == 1)
    }
    #expect(queries.heldCount == 200)
    #expect(take(slow, after: 0) == 200)
    #expect(queries.heldCount == 0 && queries.heldBytes == 0)
    // One of them is always awake: what both have taken is looked up from time to time.
    var positions = [fast: 200, slow: 200]
    for number in 201...1000 {
      queries.match(Self.commit(number))
      let subscriber = number.isMultiple(of: 2) ? fast : slow
      let taken = queries.take(after: version(positions[subscriber] ?? 0), by: subscriber)
      #expect(taken.dropped.isEmpty && taken.through == version(number) && taken.changes.count == 2)
      positions[subscriber] = number
      #expect(queries.heldCount <= 70)
    }
  }

  @Test("nothing is kept for streams that have ended")
  func ended() {
    var queries = SharedQueries(version: .none, maximumCommits: 4, maximumBytes: 1000)
    let subscriber = queries.subscribe {}
    let number = queries.join(Self.owned(by: 1), by: subscriber)
    _ = queries.join(Self.owned(by: 2), by: subscriber)
    #expect(!queries.isEmpty)
    queries.leave(number, by: subscriber)
    queries.unsubscribe(subscriber)
    #expect(queries.isEmpty)
  }
}
