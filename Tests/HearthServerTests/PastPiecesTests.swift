import HearthModel
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
      var pieces: [Document] = []
      var cursor: QueryCursor?
      var turns = 0
      repeat {
        for _ in 0..<generator.below(6) {
          let key = generator.key()
          let change: Mutation = generator.chance(60) ? .set(key, generator.fields()) : .delete(key)
          try await fixture.commit(change)
        }
        let page = try await fixture.storage.page(
          of: query, after: cursor, at: expected.readVersion, firstCount: firstCount, keptBytes: keptBytes)
        pieces += page.answer.documents
        cursor = page.next
        turns += 1
      } while cursor != nil && turns < 1_000
      #expect(cursor == nil && pieces == expected.documents, "HEARTH_TEST_SEED=\(seed), query \(CaseText.text(query))")
    }
  }

  @Test("a piece reads what it shows, however much was written since the first")
  func effort() async throws {
    let fixture = try StorageFixture()
    for number in 100..<700 { try await fixture.set("c/d\(number)") }
    let query = Query(path: path("c")).with(order: Self.order)
    var page = try await fixture.storage.page(of: query, after: nil, at: nil)
    let version = page.answer.readVersion
    for number in 100..<130 {
      for value in 0..<5 { try await fixture.set("c/d\(number)", ["n": value.value]) }
    }
    for number in 0..<50 { try await fixture.set("c/a\(number)") }
    var shown = page.answer.documents.count
    while let next = page.next {
      page = try await fixture.storage.page(of: query, after: next, at: version)
      // The document that the piece begins behind is looked at too.
      #expect(page.answer.execution?.rowsRead ?? 0 <= page.answer.documents.count + 1)
      shown += page.answer.documents.count
    }
    #expect(shown == 600)
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
    var page = try await fixture.storage.page(of: query, after: nil, at: version)
    var count = 1
    var shown = page.answer.documents
    while let next = page.next {
      page = try await fixture.storage.page(of: query, after: next, at: version)
      shown += page.answer.documents
      count += 1
    }
    #expect(shown.map(\.key) == [key("c/d")])
    #expect(count < 6)
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
    var shown: [DocumentKey] = []
    var cursor: QueryCursor?
    repeat {
      let page = try await fixture.storage.page(of: query, after: cursor, at: version, firstCount: 2)
      shown += page.answer.documents.map(\.key)
      cursor = page.next
    } while cursor != nil
    #expect(shown == [key("c/z"), key("c/y"), key("c/x")])
  }

  @Test("documents that changed since the first piece come as they were, also when all have changed")
  func allChanged() async throws {
    let fixture = try StorageFixture()
    for number in 100..<400 { try await fixture.set("c/d\(number)", ["n": number.value]) }
    let query = Query(path: path("c")).with(order: Self.order)
    let expected = try await fixture.storage.run(query, at: nil).documents
    var page = try await fixture.storage.page(of: query, after: nil, at: nil)
    let version = page.answer.readVersion
    var shown = page.answer.documents
    for number in 100..<400 {
      let key = key("c/d\(number)")
      try await fixture.commit(number % 2 == 0 ? .delete(key) : .set(key, [:]))
    }
    while let next = page.next {
      page = try await fixture.storage.page(of: query, after: next, at: version, firstCount: 32, keptBytes: 4_000)
      shown += page.answer.documents
    }
    #expect(shown == expected)
  }

  @Test("a result that has begun goes on when the log has forgotten what its pieces have looked at")
  func forgotten() async throws {
    var retention = ChangeLog.Retention()
    retention.microseconds = 60_000_000
    let fixture = try StorageFixture(retention: retention)
    for number in 100..<400 { try await fixture.set("c/d\(number)") }
    let query = Query(path: path("c")).with(order: Self.order)
    let storage = fixture.storage
    var page = try await storage.page(of: query, after: nil, at: nil, firstCount: 2)
    let version = page.answer.readVersion
    var shown = page.answer.documents.count
    while let next = page.next {
      fixture.clock.advance(seconds: 40)
      // The log is trimmed when it has grown by so many documents.
      let seen = shown
      let others: [Mutation] = (0..<64).map { .set(key("other/\($0)"), ["n": seen.value]) }
      _ = try await storage.commit(CommitRequest(mutations: others))
      page = try await storage.page(of: query, after: next, at: version)
      shown += page.answer.documents.count
    }
    #expect(shown == 300)
    let isForgotten = await (try? storage.run(query, at: version)) == nil
    #expect(isForgotten)
  }
}
