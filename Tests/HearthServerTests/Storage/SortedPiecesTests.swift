import HearthModel
import HearthPlan
import HearthStore
import MetricsTestKit
import TestSupport
import Testing

@testable import HearthRPC
@testable import HearthServer

/// Results that no index gives in their order.
@Suite("Pieces of a sorted result", .timeLimit(.minutes(5)))
struct SortedPiecesTests {
  private static let count = 1_500
  private static let text = Value.string(String(repeating: "x", count: 1_000))

  /// Documents of a kilobyte each, whose order by `n` is not that of their ids.
  private static func fixture(
    budget: Int = 1 << 20, fillsIndexes: Bool = false, metrics: ServerMetrics? = nil
  ) async throws -> StorageFixture {
    let fixture = try StorageFixture(
      fillsIndexes: fillsIndexes, sortBudget: SortBudget(maximumBytes: budget), metrics: metrics)
    for start in stride(from: 0, to: count, by: 250) {
      let writes = (start..<start + 250).map { number in
        Mutation.set(key("c/d\(number)"), ["n": (number * 7 % count).value, "m": (number % 3).value, "t": text])
      }
      _ = try await fixture.storage.commit(CommitRequest(mutations: writes))
    }
    return fixture
  }

  private static func query(_ direction: OrderBy.Direction = .ascending, limit: Int? = nil) -> Query {
    var query = Query(path: path("c")).with(order: OrderBy(path: field("n"), direction: direction))
    query.limit = limit
    return query
  }

  @Test("only keys are held between its pieces, and nothing behind the last")
  func memory() async throws {
    let fixture = try await Self.fixture()
    let expected = try await fixture.storage.run(Self.query(), at: nil).documents
    let budget = fixture.sortBudget
    var held: [Int] = []
    let pieces = try await fixture.pieces(of: Self.query()) { _ in held.append(budget.usedBytes) }
    #expect(pieces.flatMap(\.documents) == expected)
    #expect(pieces.first?.execution?.isSortedByKeys == true)
    #expect(pieces.count > 4)
    let largest = pieces.map { $0.documents.fieldsBytes }.max() ?? 0
    #expect(largest < PieceSizes().bytes + 2_000)
    // The names of the documents, in chunks that go as they are used up.
    #expect(held.allSatisfy { (1..<20 * Self.count).contains($0) }, "\(held)")
    #expect(budget.usedBytes == 0)
  }

  @Test("a caller who leaves many of them unread has less memory for the next ones, and others have theirs")
  func callers() async throws {
    let fixture = try await Self.fixture(budget: 800_000)
    func firstPage(for caller: String) async throws -> QueryPage {
      try await CallSender.$current.withValue(caller) {
        try await fixture.storage.page(of: Self.query(), after: nil, at: nil)
      }
    }
    var unread: [QueryPage] = []
    while unread.count < 1_000, let page = try? await firstPage(for: "a") { unread.append(page) }
    #expect((2..<1_000).contains(unread.count))
    let refused = await #expect(throws: StatusError.self) { try await firstPage(for: "a") }
    #expect(refused?.code == .resourceExhausted)
    #expect(try await firstPage(for: "b").next != nil)
    unread = []
    #expect(fixture.sortBudget.usedBytes == 0)
    #expect(try await firstPage(for: "a").next != nil)
  }

  @Test("it is one state, however much is written between its pieces, and also in the past")
  func oneState() async throws {
    let fixture = try await Self.fixture()
    let expected = try await fixture.storage.run(Self.query(.descending), at: nil)
    let pieces = try await fixture.pieces(of: Self.query(.descending)) { count in
      let numbers = stride(from: count, to: Self.count, by: 3)
      let writes = numbers.map {
        $0 % 2 == 0 ? Mutation.delete(key("c/d\($0)")) : .set(key("c/d\($0)"), ["n": 1.value])
      }
      _ = try await fixture.storage.commit(CommitRequest(mutations: writes))
    }
    #expect(pieces.flatMap(\.documents) == expected.documents)
    let past = try await fixture.pieces(of: Self.query(.descending), at: expected.readVersion)
    #expect(past.flatMap(\.documents) == expected.documents)
    #expect(past.first?.execution?.isSortedByKeys == true)
  }

  @Test("a limit keeps as many keys as it needs", arguments: [10, 300])
  func limit(limit: Int) async throws {
    // Twice the keys of the limit, of about 120 bytes, are half of the budget.
    let fixture = try await Self.fixture(budget: 2 * 2 * limit * 150)
    let expected = try await fixture.storage.run(Self.query(limit: limit), at: nil).documents
    let pieces = try await fixture.pieces(of: Self.query(limit: limit), bytes: 5_000)
    #expect(pieces.flatMap(\.documents) == expected)
    #expect(pieces.first?.execution?.isSortedByKeys == true)
  }

  @Test(
    "keys beyond the budget are RESOURCE_EXHAUSTED; the text names the flag and the index, and with the index there is an answer"
  )
  func exhausted() async throws {
    let factory = TestMetrics()
    let metrics = ServerMetrics(factory, allowed: ServerLimits().numbers(with: DatabaseLimits()))
    let fixture = try await Self.fixture(budget: 20_000, fillsIndexes: true, metrics: metrics)
    let error = await #expect(throws: StatusError.self) { try await fixture.pieces(of: Self.query()) }
    #expect(error?.code == .resourceExhausted)
    #expect(error?.message.contains("20000 bytes for them (--max-sort-bytes)") == true)
    #expect(error?.message.contains(#"{"fieldPath": "n", "order": "ASCENDING"}"#) == true)
    #expect(factory.counterTotal(label: "hearth.server.limit.exceeded", dimensions: [("limit", "sort_bytes")]) == 1)
    #expect(fixture.sortBudget.usedBytes == 0)
    try await waitUntil { (try? await fixture.pieces(of: Self.query())) != nil }
    let pieces = try await fixture.pieces(of: Self.query())
    #expect(pieces.flatMap(\.documents) == (try await fixture.storage.run(Self.query(), at: nil).documents))
    #expect(pieces.allSatisfy { $0.execution?.plan == .index })
  }

  @Test("a filter that an index orders but does not bind is answered by it when the budget is too small")
  func unequal() async throws {
    let fixture = try await Self.fixture(budget: 20_000, fillsIndexes: true)
    let query = Query(path: path("c")).with(filter: .field(field("m"), .notEqual, 1.value))
    let expected = try await fixture.storage.run(query, at: nil).documents
    #expect(expected.count == 1_000)
    let error = await #expect(throws: StatusError.self) { try await fixture.pieces(of: query) }
    #expect(error?.message.contains(#"{"fieldPath": "m", "order": "ASCENDING"}"#) == true)
    try await waitUntil { (try? await fixture.pieces(of: query)) != nil }
    #expect(try await fixture.pieces(of: query).flatMap(\.documents) == expected)
  }

  @Test("an order alone gets an index if its result had to be sorted by its keys")
  func orderAlone() async throws {
    let fixture = try await Self.fixture(fillsIndexes: true)
    let first = try await fixture.pieces(of: Self.query())
    #expect(first.first?.execution?.plan == .scan)
    try await waitUntil { try await fixture.pieces(of: Self.query()).first?.execution?.plan == .index }
    let pieces = try await fixture.pieces(of: Self.query())
    #expect(pieces.flatMap(\.documents) == first.flatMap(\.documents))
    let read = pieces.reduce(0) { $0 + ($1.execution?.rowsRead ?? 0) }
    #expect(read <= Self.count + pieces.count)
  }

  @Test("pieces of a collection read each document once, whatever the sizes of piece and collection")
  func keyWalk() async throws {
    let fixture = try StorageFixture()
    for start in stride(from: 0, to: 9_000, by: 1_000) {
      let writes = (start..<start + 1_000).map { Mutation.set(key("c/d\($0)"), ["n": $0.value]) }
      _ = try await fixture.storage.commit(CommitRequest(mutations: writes))
    }
    var query = Query(path: path("c")).with(order: OrderBy(path: .documentKey, direction: .ascending))
    for limit in [nil, 5_000, 8_999] {
      query.limit = limit
      let pieces = try await fixture.pieces(of: query)
      #expect(pieces.flatMap(\.documents).count == limit ?? 9_000)
      let read = pieces.reduce(0) { $0 + ($1.execution?.rowsRead ?? 0) }
      #expect(read <= (limit ?? 9_000) + 2 * pieces.count, "limit \(limit ?? -1): \(read) documents were read")
    }
  }
}
