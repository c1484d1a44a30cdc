import HearthModel
import HearthPlan
import HearthStore
import Testing

@Suite("Aggregation of stored documents")
struct AggregationExecutionTests {
  private let store: DocumentStore
  private let aggregations = [
    Aggregation(alias: "count", operation: .count(upTo: nil)), Aggregation(alias: "few", operation: .count(upTo: 7)),
    Aggregation(alias: "sum", operation: .sum(field("m"))),
    Aggregation(alias: "average", operation: .average(field("m"))),
  ]

  init() throws {
    store = try DocumentStore(database: Database(.memory))
    try store.database.transaction("Store") {
      for number in 0..<1000 {
        let value: Value = number.isMultiple(of: 7) ? .double(0.5) : .integer(Int64(number))
        try store.set(found("c/d\(number)", 1, ["n": .integer(Int64(number % 20)), "m": value]))
      }
      try store.set(found("c/text", 1, ["n": .integer(3), "m": "no number"]))
      try store.set(missing("c/gone", 1))
    }
  }

  /// The aggregations, computed from the documents of the result one by one.
  private func expected(_ documents: [Document]) throws -> [String: Value] {
    let values = try documents.map { try $0.fields.value(at: field("m")) }
    let integers = values.compactMap { if case .integer(let number)? = $0 { number } else { nil } }
    let doubles = values.compactMap { if case .double(let number)? = $0 { number } else { nil } }
    let sum = Double(integers.reduce(0, +)) + doubles.reduce(0, +)
    let count = integers.count + doubles.count
    return [
      "count": .integer(Int64(documents.count)), "few": .integer(Int64(min(documents.count, 7))),
      "sum": doubles.isEmpty ? .integer(integers.reduce(0, +)) : .double(sum),
      "average": count == 0 ? .null : .double(sum / Double(count)),
    ]
  }

  @Test("gives what the documents give, by every way, and copies none of them out")
  func ways() throws {
    let equal = Query(path: path("c"), filters: [.field(field("n"), .equal, .integer(3))])
    let overlays = Overlays(
      .set(key("c/new"), ["n": .integer(3), "m": .integer(5)]), .delete(key("c/d23")),
      .patch(key("c/d24"), ["n": .integer(3)], mask: FieldMask([field("n")])))
    let executor = QueryExecutor(documents: store, localMutations: overlays)
    let documents = try executor.run(equal).documents
    #expect(documents.count == 52)

    let scan = try executor.aggregate(aggregations, over: equal)
    #expect(try scan.totals.values == expected(documents))
    #expect(scan.execution.plan == .scan && scan.execution.resultCount == 52)
    #expect(scan.execution.documentsDecoded == 3, "only those with local mutations")

    let previous = PreviousResult(keys: Set(documents.prefix(40).map(\.key)), limboFreeVersion: version(1))
    let fromPrevious = try executor.aggregate(aggregations, over: equal, previous: previous)
    #expect(fromPrevious.execution.plan == .previousResult)
    #expect(try fromPrevious.totals.values == expected(executor.run(equal, previous: previous).documents))

    let parts = try store.parts(of: .collection(path("c")), count: 3).map {
      try executor.aggregate(aggregations, over: equal, part: $0)
    }
    #expect(try QueryExecutor.merge(parts, of: equal).totals?.values == expected(documents))

    try store.indexes.set([StoreIndexTests.index("c", ("n", .ascending))])
    while try store.indexes.fill() {}
    let indexed = try executor.aggregate(aggregations, over: equal)
    #expect(indexed.execution.plan == .index && indexed.execution.documentsDecoded == 3)
    #expect(try indexed.totals.values == expected(documents))
  }

  @Test("a limit decides which documents take part", arguments: [Query.LimitType.first, .last])
  func limit(type: Query.LimitType) throws {
    let query = Query(path: path("c"), explicitOrders: [OrderBy(path: field("m"))]).with(limit: 10, type: type)
    let executor = QueryExecutor(documents: store)
    let answer = try executor.aggregate(aggregations, over: query)
    #expect(try answer.totals.values == expected(executor.run(query).documents))
    #expect(answer.execution.resultCount == 10)
  }

  @Test("nothing adds up to zero, and has no average")
  func nothing() throws {
    let none = Query(path: path("nowhere"))
    let values = try QueryExecutor(documents: store).aggregate(aggregations, over: none).totals.values
    #expect(values == ["count": .integer(0), "few": .integer(0), "sum": .integer(0), "average": .null])
  }

  @Test("a sum of integers is exact beyond 64 bits until the end")
  func largeIntegers() throws {
    for (id, number) in [("a", Int64.max), ("b", Int64.max), ("c", -Int64.max), ("d", 1)] {
      try store.set(found("big/\(id)", 1, ["m": .integer(number)]))
    }
    let executor = QueryExecutor(documents: store)
    func sum() throws -> Value? {
      try executor.aggregate(aggregations, over: Query(path: path("big"))).totals.values["sum"]
    }
    #expect(try sum() == .double(0x1p63), "one more than fits")
    try store.remove(key("big/d"))
    #expect(try sum() == .integer(.max))
  }
}
