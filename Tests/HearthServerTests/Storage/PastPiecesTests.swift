import HearthModel
import HearthPlan
import HearthStore
import TestSupport
import Testing

@testable import HearthServer

/// Results that are read piece by piece while others write.
@Suite("Pieces of a past result", .timeLimit(.minutes(5)))
struct PastPiecesTests {
  private static let order = OrderBy(path: .documentKey, direction: .ascending)

  @Test("whatever is written between the pieces, they are the result as it was", arguments: 1..<41 as Range<UInt64>)
  func agreement(seed: UInt64) async throws {
    let seed = SeededGenerator.askedSeed ?? seed
    var generator = CaseGenerator(seed: seed)
    let fixture = try StorageFixture()
    for _ in 0..<60 { try await fixture.commit(.set(generator.key(), generator.fields())) }
    for _ in 0..<12 {
      var query = generator.query(documents: [])
      query.limitType = .first
      let expected = try await fixture.storage.run(query, at: nil)
      // Former documents are dropped and read again when there is room for few of them.
      let keptBytes = generator.element([0, 200, 1_000, 100_000])
      let firstCount = 1 + generator.below(3)
      // Results without an order of their own are sorted by their keys if they have more bytes than a piece.
      let bytes = generator.element([1, 200, 1_000, 100_000])
      func write() async throws {
        for _ in 0..<generator.below(6) {
          let key = generator.key()
          let change: Mutation = generator.chance(60) ? .set(key, generator.fields()) : .delete(key)
          try await fixture.commit(change)
        }
      }
      try await write()
      let pieces = try await fixture.pieces(
        of: query, at: expected.readVersion, firstCount: firstCount, bytes: bytes, keptBytes: keptBytes
      ) { _ in try await write() }
      let documents = pieces.flatMap(\.documents)
      #expect(documents == expected.documents, "HEARTH_TEST_SEED=\(seed), query \(CaseText.text(query))")
    }
  }

  @Test("a piece reads what it shows, however much was written since the first")
  func effort() async throws {
    let fixture = try StorageFixture()
    for number in 100..<700 { try await fixture.set("c/d\(number)") }
    let query = Query(path: path("c")).with(order: Self.order)
    let pieces = try await fixture.pieces(of: query) { count in
      guard count == 1 else { return }
      for number in 100..<130 {
        for value in 0..<5 { try await fixture.set("c/d\(number)", ["n": value.value]) }
      }
      for number in 0..<50 { try await fixture.set("c/a\(number)") }
    }
    for piece in pieces {
      // The document that the piece begins behind is looked at too.
      #expect(try #require(piece.execution).rowsRead <= piece.documents.count + 1)
    }
    #expect(pieces.flatMap(\.documents).count == 600)
  }

  @Test("a small limit behind many newer documents takes few pieces")
  func newerDocuments() async throws {
    let fixture = try StorageFixture()
    try await fixture.set("c/d")
    let version = try fixture.storage.currentVersion()
    for start in stride(from: 0, to: 3_000, by: 500) {
      let writes: [Mutation] = (start..<start + 500).map { .set(key("c/a\($0)"), [:]) }
      _ = try await fixture.storage.commit(CommitRequest(mutations: writes))
    }
    let query = Query(path: path("c")).with(order: Self.order).with(limit: 1)
    let pieces = try await fixture.pieces(of: query, at: version)
    #expect(pieces.flatMap(\.documents).map(\.key) == [key("c/d")])
    #expect(pieces.count < 6)
  }

  @Test("a document whose two states lie on both sides of a position comes once", arguments: [-1, 1])
  func twoStates(change: Int) async throws {
    let fixture = try StorageFixture()
    for id in ["x", "y", "z"] { try await fixture.set("c/\(id)", ["b": 0.value]) }
    let version = try fixture.storage.currentVersion()
    try await fixture.set("c/y", ["b": change.value])
    // A further order decides nothing between documents, but it does between states of one.
    let query = Query(path: path("c"))
      .with(order: OrderBy(path: .documentKey, direction: .descending))
      .with(order: OrderBy(path: field("b"), direction: .ascending))
    let pieces = try await fixture.pieces(of: query, at: version, firstCount: 2)
    #expect(pieces.flatMap(\.documents).map(\.key) == [key("c/z"), key("c/y"), key("c/x")])
  }

  @Test("documents that changed since the first piece come as they were, also when all have changed")
  func allChanged() async throws {
    let fixture = try StorageFixture()
    for number in 100..<400 { try await fixture.set("c/d\(number)", ["n": number.value]) }
    let query = Query(path: path("c")).with(order: Self.order)
    let expected = try await fixture.storage.run(query, at: nil).documents
    let pieces = try await fixture.pieces(of: query, keptBytes: 4_000) { count in
      guard count == 1 else { return }
      for number in 100..<400 {
        let key = key("c/d\(number)")
        try await fixture.commit(number % 2 == 0 ? .delete(key) : .set(key, [:]))
      }
    }
    #expect(pieces.flatMap(\.documents) == expected)
  }

  @Test("a result that has changed much is sorted once, unless its limit needs little of it", arguments: [nil, 10])
  func muchChanged(limit: Int?) async throws {
    let fixture = try StorageFixture()
    let writes = (100..<400).map { Mutation.set(key("c/d\($0)"), ["n": $0.value]) }
    _ = try await fixture.storage.commit(CommitRequest(mutations: writes))
    let query = limit.map { Query(path: path("c")).with(order: Self.order).with(limit: $0) } ?? Query(path: path("c"))
    let expected = try await fixture.storage.run(query, at: nil)
    let changes = (100..<400).map { Mutation.set(key("c/d\($0)"), [:]) }
    _ = try await fixture.storage.commit(CommitRequest(mutations: changes))
    let pieces = try await fixture.pieces(of: query, at: expected.readVersion, bytes: 2_000, keptBytes: 1_000)
    #expect(pieces.flatMap(\.documents) == expected.documents)
    #expect(pieces.first?.execution?.isSortedByKeys == (limit == nil))
    #expect(limit != nil || pieces.count > 1)
  }

  @Test("a result that has begun goes on when the log has forgotten what its pieces have looked at")
  func forgotten() async throws {
    var retention = HistoryRetention()
    retention.microseconds = 60_000_000
    let fixture = try StorageFixture(retention: retention)
    for number in 100..<400 { try await fixture.set("c/d\(number)") }
    let query = Query(path: path("c")).with(order: Self.order)
    let storage = fixture.storage
    let pieces = try await fixture.pieces(of: query, firstCount: 2) { count in
      fixture.clock.advance(seconds: 40)
      // The log is trimmed when it has grown by so many documents.
      let others: [Mutation] = (0..<64).map { .set(key("other/\($0)"), ["n": count.value]) }
      _ = try await storage.commit(CommitRequest(mutations: others))
    }
    let version = try #require(pieces.first).readVersion
    #expect(pieces.flatMap(\.documents).count == 300)
    let isForgotten = await (try? storage.run(query, at: version)) == nil
    #expect(isForgotten)
  }
}
