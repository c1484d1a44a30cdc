import GRPCCore
import HearthModel
import HearthTransport
import HearthWire
import SwiftProtobuf
import Testing

@testable import HearthServer

@Suite("The name of a document of another database", .everyStorage)
struct ForeignNameTests {
  private static let foreign = [
    DatabaseID(projectID: "test", database: "two"), DatabaseID(projectID: "other"),
  ].map { Value.reference(ReferenceValue(database: $0, key: key("c/a"))) }
  private static let own = Value.reference(ReferenceValue(database: ServerFixture.database, key: key("c/a")))

  /// Queries that compare `__name__` with a value, everywhere where one can stand.
  private static func queries(_ value: Value) -> [Query] {
    let (all, group) = (Query(path: path("c")), Query(path: ResourcePath(), collectionGroup: "c"))
    let comparisons: [FieldFilter.Operator] = [
      .equal, .notEqual, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual,
    ]
    var filters = comparisons.map { Filter.field(.documentKey, $0, value) }
    for op in [FieldFilter.Operator.in, .notIn] {
      filters += [.field(.documentKey, op, .array([value])), .field(.documentKey, op, .array([own, value]))]
    }
    filters += [
      .or([.field(field("n"), .equal, 1.value), .field(.documentKey, .equal, value)]),
      .or([
        .and([.field(.documentKey, .in, .array([value])), .field(field("n"), .equal, 1.value)]),
        .field(field("n"), .equal, 2.value),
      ]),
    ]
    var queries = filters.flatMap { [all.with(filter: $0), group.with(filter: $0)] }
    for query in [all, group] {
      for (orders, position) in [
        ([OrderBy(path: .documentKey)], [value]),
        ([OrderBy(path: field("n")), OrderBy(path: .documentKey)], [1.value, value]),
      ] {
        for isInclusive in [true, false] {
          let bound = Bound(position: position, isInclusive: isInclusive)
          let ordered = orders.reduce(query) { $0.with(order: $1) }
          queries += [ordered.with(startAt: bound), ordered.with(endAt: bound)]
        }
      }
    }
    return queries
  }

  @Test(
    "is refused wherever a query compares __name__ with it, in results, aggregations and listeners", arguments: foreign)
  func refused(value: Value) async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.set("c/a", ["n": 1.value])
      for query in Self.queries(value) {
        for (call, refusal) in await Self.refusals(of: query, fixture) {
          #expect(refusal?.code == .invalidArgument, "\(call): \(query)")
          #expect(refusal?.message.contains("database") == true, "\(call): \(refusal as Any)")
        }
      }
      for query in Self.queries(Self.own) {
        for (call, refusal) in await Self.refusals(of: query, fixture) { #expect(refusal == nil, "\(call): \(query)") }
      }
    }
  }

  @Test("may be the value of any other field, and be compared with it", arguments: foreign)
  func otherFields(value: Value) async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.set("c/a", ["r": value])
      #expect(try await fixture.ids(Query(path: path("c")).with(filter: .field(field("r"), .equal, value))) == ["a"])
      let bound = Bound(position: [value], isInclusive: true)
      #expect(
        try await fixture.ids(Query(path: path("c")).with(order: OrderBy(path: field("r"))).with(startAt: bound)) == [
          "a"
        ])
    }
  }

  private typealias Refusal = (code: RPCError.Code, message: String)?

  private static func refusals(of query: Query, _ fixture: ServerFixture) async -> [(String, Refusal)] {
    let (parent, message) = ServerFixture.translator.structuredQuery(query.target)
    let aggregation = Google_Firestore_V1_RunAggregationQueryRequest.with {
      $0.parent = parent
      $0.structuredAggregationQuery.structuredQuery = message
      $0.structuredAggregationQuery.aggregations = [.with { $0.count = .init() }]
    }
    let target = Google_Firestore_V1_ListenRequest.with {
      $0.database = ServerFixture.database.resourceName
      $0.addTarget = .with {
        $0.targetID = 1
        ($0.query.parent, $0.query.structuredQuery) = (parent, message)
      }
    }
    return [
      ("RunQuery", await failure { try await fixture.run(query) }),
      (
        "RunAggregationQuery",
        await failure {
          try await fixture.list(
            Method.RunAggregationQuery.descriptor, aggregation, as: Google_Firestore_V1_RunAggregationQueryResponse.self
          )
        }
      ),
      ("Listen", await listened(target, fixture)),
    ]
  }

  private static func listened(_ request: Google_Firestore_V1_ListenRequest, _ fixture: ServerFixture) async -> Refusal
  {
    let answer = Answer()
    let failure = await failure {
      try await fixture.listen([request]) { response in
        guard case .targetChange(let change)? = response.responseType else { return true }
        if change.targetChangeType == .remove {
          let code = Status.Code(rawValue: Int(change.cause.code)).flatMap { RPCError.Code($0) }
          await answer.set((code ?? .unknown, change.cause.message))
        }
        return ![.remove, .current].contains(change.targetChangeType)
      }
    }
    if let failure { return failure }
    return await answer.refusal
  }

  private actor Answer {
    private(set) var refusal: Refusal = nil
    func set(_ refusal: Refusal) { self.refusal = refusal }
  }
}
