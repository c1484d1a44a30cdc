import Foundation
import GRPCCore
import HearthModel
import HearthTransport
import HearthWire
import SwiftProtobuf
import Testing

@testable import HearthServer

@Suite("Queries", .everyStorage)
struct QueryCallTests {
  private static let collection = Query(path: path("c"))

  private func withNumbers(_ body: (ServerFixture) async throws -> Void) async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.commit(
        (0..<10).map {
          .set(key("c/d\($0)"), ["n": $0.value, "odd": .boolean($0 % 2 == 1), "l": .array([($0 / 2).value])])
        })
      try await body(fixture)
    }
  }

  @Test("filters, orders, limits and cursors work together")
  func structure() async throws {
    try await withNumbers { fixture in
      let odd = Self.collection.with(filter: .field(field("odd"), .equal, .boolean(true)))
      let descending = odd.with(order: OrderBy(path: field("n"), direction: .descending))
      let ids1 = try await fixture.ids(descending.with(limit: 3))
      #expect(ids1 == ["d9", "d7", "d5"])
      let bounded = descending.with(startAt: Bound(position: [7.value], isInclusive: false))
      let ids2 = try await fixture.ids(bounded)
      #expect(ids2 == ["d5", "d3", "d1"])
      let contains = Self.collection.with(filter: .field(field("l"), .arrayContains, 2.value))
      let ids3 = try await fixture.ids(contains)
      #expect(ids3 == ["d4", "d5"])
      let either = Self.collection.with(
        filter: .or([.field(field("n"), .lessThan, 1.value), .field(field("n"), .in, .array([8.value, 9.value]))]))
      let ids4 = try await fixture.ids(either)
      #expect(ids4 == ["d0", "d8", "d9"])
    }
  }

  @Test("an offset is reported once, the last message says done")
  func offset() async throws {
    try await withNumbers { fixture in
      var request = fixture.queryRequest(Self.collection.with(limit: 3))
      request.structuredQuery.offset = 4
      request.structuredQuery.select.fields = [.with { $0.fieldPath = "n" }]
      let responses: [Google_Firestore_V1_RunQueryResponse] = try await fixture.list(
        Method.RunQuery.descriptor, request)
      #expect(responses.map(\.skippedResults) == [4, 0, 0])
      #expect(responses.map(\.done) == [false, false, true])
      #expect(responses.allSatisfy { $0.hasReadTime })
      let first = try ServerFixture.translator.decode(documentBytes: responses[0].document, readTime: .none)
      #expect(first.key.id == "d4")
      let fields = try first.fields.decoded()
      #expect(fields.keys == ["n"])
    }
  }

  @Test("a query without result sends one message with a read time")
  func empty() async throws {
    try await ServerFixture.withServer { fixture in
      let responses = try await fixture.run(Query(path: path("nothing")))
      #expect(responses.count == 1)
      #expect(responses[0].document.isEmpty && responses[0].hasReadTime && responses[0].done)
    }
  }

  @Test("a collection group finds documents at every depth")
  func collectionGroup() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.commit(["x/1", "a/1/x/2", "a/1/b/1/x/3", "y/1"].map { .set(key($0), [:]) })
      let ids = try await fixture.ids(Query(path: ResourcePath(), collectionGroup: "x"))
      #expect(ids == ["3", "2", "1"])
    }
  }

  @Test("a past state can be read: changed, new and deleted documents are as they were")
  func readTime() async throws {
    try await withNumbers { fixture in
      let then = try await fixture.run(Self.collection)[0].readTime
      try await fixture.commit([
        .delete(key("c/d0")), .set(key("c/d1"), ["n": 100.value]), .set(key("c/new"), ["n": (-1).value]),
      ])
      let query = Self.collection.with(order: OrderBy(path: field("n"), direction: .ascending)).with(limit: 3)
      #expect(try await fixture.ids(query) == ["new", "d2", "d3"])
      var request = fixture.queryRequest(query)
      request.readTime = then
      let responses: [Google_Firestore_V1_RunQueryResponse] = try await fixture.list(
        Method.RunQuery.descriptor, request)
      let ids = try responses.map {
        try ServerFixture.translator.decode(documentBytes: $0.document, readTime: .none).key.id
      }
      #expect(ids == ["d0", "d1", "d2"])

      var get = Google_Firestore_V1_GetDocumentRequest()
      get.name = name("c/d1")
      get.readTime = then
      let past: Google_Firestore_V1_Document = try await fixture.unary(Method.GetDocument.descriptor, get)
      #expect(past.fields["n"]?.integerValue == 1)

      request.readTime.seconds += 3600
      let future = await failure {
        try await fixture.list(Method.RunQuery.descriptor, request) as [Google_Firestore_V1_RunQueryResponse]
      }
      #expect(future?.code == .invalidArgument)
      request.readTime = then
      request.readTime.nanos += 1
      let fine = await failure {
        try await fixture.list(Method.RunQuery.descriptor, request) as [Google_Firestore_V1_RunQueryResponse]
      }
      #expect(fine?.code == .invalidArgument)
      request.readTime = Google_Protobuf_Timestamp(seconds: then.seconds - 7200, nanos: 0)
      let old = await failure {
        try await fixture.list(Method.RunQuery.descriptor, request) as [Google_Firestore_V1_RunQueryResponse]
      }
      #expect(old?.code == .failedPrecondition)
      #expect(
        old?.message.firstMatch(of: /is too old: the history of this database begins at \d{4}-\d\d-\d\dT/) != nil,
        "\(old?.message ?? "")")
    }
  }

  static let refused: [(String, Query)] = [
    ("'IN' requires an non-empty ArrayValue.", collection.with(filter: .field(field("a"), .in, .array([])))),
    (
      "'IN' supports up to 30 comparison values.",
      collection.with(filter: .field(field("a"), .in, .array((0..<31).map(\.value))))
    ),
    (
      "'NOT_IN' supports up to 10 comparison values.",
      collection.with(filter: .field(field("a"), .notIn, .array((0..<11).map(\.value))))
    ),
    (
      "A maximum of 1 'ARRAY_CONTAINS' filter is allowed per disjunction.",
      collection.with(filter: .field(field("a"), .arrayContains, 1.value)).with(
        filter: .field(field("b"), .arrayContains, 1.value))
    ),
    (
      "Only a single 'NOT_EQUAL', 'NOT_IN', 'IS_NOT_NAN', or 'IS_NOT_NULL' filter allowed per query.",
      collection.with(filter: .field(field("a"), .notEqual, 1.value)).with(
        filter: .field(field("b"), .notEqual, 1.value))
    ),
    (
      "'NOT_IN' cannot be used in the same query with 'IN', 'ARRAY_CONTAINS_ANY' or 'OR'.",
      collection.with(filter: .field(field("a"), .notIn, .array([1.value]))).with(
        filter: .field(field("b"), .in, .array([1.value])))
    ),
  ]

  @Test("queries beyond the documented limits are refused with production's words", arguments: refused)
  func limits(message: String, query: Query) async throws {
    #expect(throws: StatusError(code: .invalidArgument, message: message)) { try QueryLimits.check(query) }
  }

  @Test("more than 30 disjunctions are too many")
  func disjunctions() {
    let six = Value.array((0..<6).map(\.value))
    let query = Self.collection.with(filter: .field(field("a"), .in, six)).with(filter: .field(field("b"), .in, six))
    let tooMany = #expect(throws: StatusError.self) { try QueryLimits.check(query) }
    #expect(tooMany?.message.contains("Result had 36 disjunctions which is more than the maximum of 30") == true)
    // Null in a list finds nothing, and counts.
    let four = Value.array([.integer(1), .integer(2), .integer(3), .null])
    let (pair, lists) = (
      Value.array([.integer(1), .null]), Self.collection.with(filter: .field(field("a"), .in, four))
    )
    let counted = lists.with(filter: .field(field("b"), .in, four)).with(
      filter: .field(field("c"), .arrayContainsAny, pair))
    #expect(throws: StatusError.self) { try QueryLimits.check(counted) }
  }

  @Test("filters, orders and a parent count together, to a hundred")
  func components() throws {
    func query(filters: Int, orders: Int, in collection: Query) -> Query {
      let conditions = (0..<filters).map { Filter.field(field("f\($0 % 7)"), .equal, $0.value) }
      var query = Query(path: collection.path, filters: conditions)
      for n in 0..<orders { query = query.with(order: OrderBy(path: field("o\(n)"), direction: .ascending)) }
      return query
    }
    let below = Query(path: path("c/d/e"))
    try QueryLimits.check(query(filters: 60, orders: 40, in: Self.collection))
    try QueryLimits.check(query(filters: 60, orders: 39, in: below))
    for (filters, collection) in [(61, Self.collection), (60, below), (50_000, Self.collection)] {
      let error = #expect(throws: StatusError.self) {
        try QueryLimits.check(query(filters: filters, orders: 40, in: collection))
      }
      #expect(error?.message.hasPrefix("The query has \(filters) filters, 40 orders and ") == true)
    }
  }

  @Test(
    "a filter's value has at most the 1,500 bytes that an index holds of it",
    arguments: [
      FieldFilter.Operator.equal, .greaterThan, .notEqual, .in, .notIn, .arrayContains, .arrayContainsAny,
    ])
  func largeOperands(_ op: FieldFilter.Operator) throws {
    let isList = op == .in || op == .notIn || op == .arrayContainsAny
    let isMembership = op == .arrayContains || op == .arrayContainsAny
    func refusal(_ value: Value, at name: String = "n") -> String? {
      let filter = Filter.field(field(name), op, isList ? .array(["short", value]) : value)
      do throws(StatusError) {
        try QueryLimits.check(Query(path: Self.collection.path, filters: [filter]))
        return nil
      } catch {
        return error.message
      }
    }
    func text(_ length: Int) -> Value { .string(String(repeating: "x", count: length)) }
    let refused = "value for n\(isMembership ? "[*]" : "") is too large to be used in a query"
    // As the emulator counts: a string has one byte more, a number 8, a name 16 and one for each segment.
    for (fits, isTooLarge) in [
      (text(1499), text(1500)), (.bytes(Array(repeating: 1, count: 1500)), .bytes(Array(repeating: 1, count: 1501))),
      ([text(1490), 1], [text(1492), 1]), (["x": text(1497)], ["x": text(1498)]),
    ] as [(Value, Value)] {
      #expect(refusal(fits) == nil && refusal(isTooLarge) == refused)
    }
  }

  @Test("a membership that stands twice is taken, two different ones are refused")
  func repeatedMemberships() throws {
    func query(_ elements: Int64...) -> Query {
      Query(path: Self.collection.path, filters: elements.map { .field(field("n"), .arrayContains, .integer($0)) })
    }
    try QueryLimits.check(query(1, 1))
    #expect(throws: StatusError.self) { try QueryLimits.check(query(1, 2)) }
  }

  @Test(
    "sums over all collections take the first documents by their fields, whatever their collections", arguments: 0..<8)
  func sumsOverCollections(seed: Int) async throws {
    let values = [("a/1", 256), ("b/1", 64), ("b/2", 4), ("c/1", 1), ("c/2", 128), ("d/1", 2), ("d/2", 8)]
    let (limit, offset) = ([nil, 0, 1, 3][seed % 4], [0, 2][seed / 4])
    try await ServerFixture.withServer { server in
      try await server.commit(values.map { .set(key($0.0), ["n": .integer(Int64($0.1))]) } + [.set(key("a/0"), [:])])
      var request = Google_Firestore_V1_RunAggregationQueryRequest()
      request.parent = ServerFixture.database.documentsName
      request.structuredAggregationQuery.structuredQuery.from = [.init()]
      request.structuredAggregationQuery.structuredQuery.offset = Int32(offset)
      if let limit { request.structuredAggregationQuery.structuredQuery.limit.value = Int32(limit) }
      request.structuredAggregationQuery.aggregations = [.with { $0.sum.field.fieldPath = "n" }]
      let responses: [Google_Firestore_V1_RunAggregationQueryResponse] = try await server.list(
        Method.RunAggregationQuery.descriptor, request)
      let expected = values.map(\.1).sorted().dropFirst(offset).prefix(limit ?? .max).reduce(0, +)
      #expect(responses.first?.result.aggregateFields["field_1"]?.integerValue == Int64(expected))
    }
  }

  @Test("count, sum and average: integers stay exact, non-numbers are skipped, nothing averages to null")
  func aggregation() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.commit([
        .set(key("c/1"), ["n": .integer(Int64.max)]), .set(key("c/2"), ["n": 1.value]),
        .set(key("c/3"), ["n": (-1).value]),
        .set(key("c/4"), ["n": .string("no")]),
      ])
      var request = Google_Firestore_V1_RunAggregationQueryRequest()
      request.parent = ServerFixture.database.documentsName
      request.structuredAggregationQuery.structuredQuery = fixture.queryRequest(Self.collection).structuredQuery
      // As Google's clients do it: only the orders that the user asks for.
      request.structuredAggregationQuery.structuredQuery.orderBy = []
      request.structuredAggregationQuery.aggregations = [
        .with { $0.count = .init() }, .with { $0.sum.field.fieldPath = "n" },
        .with {
          $0.alias = "up"; $0.count.upTo.value = 2
        },
      ]
      let responses: [Google_Firestore_V1_RunAggregationQueryResponse] = try await fixture.list(
        Method.RunAggregationQuery.descriptor, request)
      let fields = try #require(responses.first).result.aggregateFields
      #expect(fields["field_1"]?.integerValue == 4)
      #expect(fields["field_2"]?.integerValue == Int64.max)
      #expect(fields["up"]?.integerValue == 2)
      request.structuredAggregationQuery.structuredQuery =
        fixture.queryRequest(Query(path: path("none"))).structuredQuery
      request.structuredAggregationQuery.structuredQuery.orderBy = []
      request.structuredAggregationQuery.aggregations = [.with { $0.avg.field.fieldPath = "n" }]
      let nothing: [Google_Firestore_V1_RunAggregationQueryResponse] = try await fixture.list(
        Method.RunAggregationQuery.descriptor, request)
      #expect(nothing.first?.result.aggregateFields["field_1"]?.valueType == .nullValue(.nullValue))
    }
  }
}
