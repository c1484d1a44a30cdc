import Foundation
import GRPCCore
import HearthModel
import HearthTransport
import HearthWire
import SwiftProtobuf
import Testing

@testable import HearthServer

/// Requests that production refuses, with the texts of Google's emulator. `RequestComparisonTests` compares generated requests.
@Suite("Rules of requests", .everyStorage)
struct RequestRulesTests {
  private static let reserved = ["__x__", "__id0__", "__id007__", "__id9223372036854775808__", ".", ".."]
  private static let legal = ["__id7__", "__id-3__", "__id9223372036854775807__", "__x", "x__"]

  @Test("reserved ids are refused in reads, queries, listeners, operands and stored references; numeric ids are legal")
  func ids() async throws {
    try await ServerFixture.withServer { server in
      for id in Self.legal {
        try await server.set("c/\(id)")
        #expect(try await server.get("c/\(id)").name == name("c/\(id)"))
      }
      for id in Self.reserved {
        var query = server.queryRequest(Query(path: path("c")))
        query.parent = name("c/\(id)")
        let reference = Google_Firestore_V1_Value.with { $0.referenceValue = name("c/\(id)") }
        var compared = server.queryRequest(Query(path: path("c")))
        compared.structuredQuery.where.fieldFilter = .with {
          $0.field.fieldPath = "__name__"
          $0.op = .greaterThan
          $0.value = (try? reference.serializedData()) ?? Data()
        }
        for request in [query, compared] {
          let refused = await failure {
            try await server.list(Method.RunQuery.descriptor, request) as [Google_Firestore_V1_RunQueryResponse]
          }
          #expect(refused?.code == .invalidArgument, "\(id)")
          var listen = Google_Firestore_V1_ListenRequest()
          listen.database = ServerFixture.database.resourceName
          listen.addTarget.targetID = 2
          listen.addTarget.query.parent = request.parent
          listen.addTarget.query.structuredQuery = request.structuredQuery
          try await server.listen([listen]) { response in
            guard response.targetChange.targetChangeType == .remove else { return true }
            #expect(response.targetChange.cause.code == 3, "\(id)")
            return false
          }
        }
        let stored = await failure {
          try await server.set(
            "c/ok", ["r": .reference(ReferenceValue(database: ServerFixture.database, key: key("c/\(id)")))])
        }
        #expect(stored?.code == .invalidArgument, "\(id)")
      }
    }
  }

  private func refusal(_ change: @escaping (inout Google_Firestore_V1_StructuredQuery) -> Void) async throws -> String?
  {
    try await ServerFixture.withServer { server in
      var request = server.queryRequest(Query(path: path("c")))
      change(&request.structuredQuery)
      let refused = await failure {
        try await server.list(Method.RunQuery.descriptor, request) as [Google_Firestore_V1_RunQueryResponse]
      }
      #expect(refused == nil || refused?.code == .invalidArgument)
      return refused?.message
    }
  }

  private func order(_ path: String) -> Google_Firestore_V1_StructuredQuery.Order {
    .with {
      $0.field.fieldPath = path
      $0.direction = .ascending
    }
  }

  @Test("a cursor has at most as many values as the request has orders")
  func cursors() async throws {
    let one = try Google_Firestore_V1_Value.with { $0.integerValue = 1 }.serializedData()
    #expect(
      try await refusal { query in
        query.orderBy = [order("n")]
        query.startAt.values = [one, one]
      } == "structured_query.start_at.values: Cursor has too many values.")
    #expect(
      try await refusal { query in
        query.orderBy = [order("n"), order("m")]
        query.startAt.values = [one, one]
      } == nil)
  }

  @Test("names that are no identifiers stand between backticks")
  func quotes() async throws {
    for (path, isLegal) in [
      ("1a", false), ("a b", false), ("é", false), ("`1a`", true), ("m.`a b`", true), ("_a1", true),
    ] {
      let refused = try await refusal { $0.orderBy = [order(path)] }
      #expect((refused == nil) == isLegal, "\(path): \(refused ?? "taken")")
    }
  }

  @Test(
    "sums are refused for what no index of production can answer",
    arguments: [
      (["__name__"], [String](), [String]?.none, "Aggregations are not supported for the property: __key__"),
      (["n"], ["__name__"], nil, "This query requires an index that has fields [n] after __name__"),
      (["n"], ["n", "__name__"], nil, ""), (["n"], [], nil, ""),
      (["n"], [], ["__name__"], "Aggregation over non-key properties is not supported"),
      (["n"], [], ["m"], "The aggregation property n is not present in the base query's property mask."),
      (["n"], [], ["n"], "Cannot apply property masks when aggregation fields are present."),
    ])
  func aggregations(_ sums: [String], orders: [String], projection: [String]?, text: String) async throws {
    try await ServerFixture.withServer { server in
      let base = server.queryRequest(Query(path: path("c")))
      var request = Google_Firestore_V1_RunAggregationQueryRequest()
      request.parent = base.parent
      var query = base.structuredQuery
      query.orderBy = orders.map(order)
      if let projection { query.select.fields = projection.map { path in .with { $0.fieldPath = path } } }
      request.structuredAggregationQuery.structuredQuery = query
      request.structuredAggregationQuery.aggregations = sums.map { path in .with { $0.sum.field.fieldPath = path } }
      let sent = request
      let refused = await failure {
        try await server.list(Method.RunAggregationQuery.descriptor, sent)
          as [Google_Firestore_V1_RunAggregationQueryResponse]
      }
      #expect((refused?.message ?? "").hasPrefix(text) && (refused == nil) == text.isEmpty, "\(refused as Any)")
    }
  }

  @Test("sums over all descendants of a document are refused, those over the collections right below it are not")
  func sumsBelowDocument() async throws {
    try await ServerFixture.withServer { server in
      func refusal(_ collection: String, allDescendants: Bool) async -> String? {
        var request = Google_Firestore_V1_RunAggregationQueryRequest()
        request.parent = name("c/a")
        request.structuredAggregationQuery.structuredQuery.from = [
          .with { ($0.collectionID, $0.allDescendants) = (collection, allDescendants) }
        ]
        request.structuredAggregationQuery.aggregations = ["n", "m"].map { path in
          .with { $0.sum.field.fieldPath = path }
        }
        let sent = request
        return await failure {
          try await server.list(Method.RunAggregationQuery.descriptor, sent)
            as [Google_Firestore_V1_RunAggregationQueryResponse]
        }?.message
      }
      for collection in ["c", ""] {
        let refused = await refusal(collection, allDescendants: true)
        #expect(refused?.hasPrefix("This query requires an index that has fields [m, n] after __name__") == true)
        #expect(await refusal(collection, allDescendants: false) == nil)
      }
    }
  }

  @Test("a field and one within it are not transformed in the same write")
  func nestedTransforms() async throws {
    try await ServerFixture.withServer { server in
      func write(_ paths: [String]) async -> (code: RPCError.Code, message: String)? {
        await failure {
          try await server.commit([
            .patch(
              key("c/d"), [:], mask: FieldMask([]), precondition: .none,
              transforms: paths.map { FieldTransform(path: field($0), operation: .increment(1.value)) })
          ])
        }
      }
      let refused = await write(["m.x", "n", "m"])
      #expect(refused?.message.contains("Cannot transform property m and its nested property") == true)
      #expect(await write(["m.x", "m.y", "n", "n"]) == nil)
    }
  }
}
