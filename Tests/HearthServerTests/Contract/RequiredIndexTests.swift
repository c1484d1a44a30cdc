import Foundation
import GRPCCore
import HearthModel
import HearthTransport
import HearthWire
import SwiftProtobuf
import TestSupport
import Testing

@testable import HearthServer

@Suite("Required indexes and the details of statuses")
struct RequiredIndexTests {
  private static let query = Query(path: path("c")).with(filter: .field(field("a"), .equal, 1.value))
    .with(order: OrderBy(path: field("b"), direction: .descending))

  private func limits() -> DatabaseLimits {
    var limits = DatabaseLimits()
    limits.requiresIndexes = true
    return limits
  }

  /// The details of the status with which a call fails.
  private func details(of body: () async throws -> some Sendable) async throws -> [Google_Protobuf_Any] {
    do {
      _ = try await body()
      return []
    } catch let error as RPCError {
      let bytes = try #require(error.metadata[binaryValues: "grpc-status-details-bin"].first { _ in true })
      let status = try Google_Rpc_Status(serializedBytes: bytes)
      #expect(status.code == Int32(error.code.rawValue) && status.message == error.message)
      return status.details
    }
  }

  private static let inGroup = Query(path: ResourcePath(), collectionGroup: "c").with(
    filter: .field(field("a"), .equal, 1.value))

  @Test(
    "a query without its index is refused with the definition, which makes it pass once it is declared",
    arguments: [
      (query, "requires an index", "create_composite="),
      (inGroup, "requires a COLLECTION_GROUP_ASC index for collection c and field a", "create_exemption="),
    ])
  func definition(query: Query, what: String, link: String) async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let file = "\(folder)/firestore.indexes.json"
      try Data("{\"indexes\": []}".utf8).write(to: URL(fileURLWithPath: file))
      try await ServerFixture.withServer(databaseLimits: limits(), indexFile: file) { server in
        try await server.set("c/x", ["a": 1.value, "b": 2.value])
        let refused = await failure { try await server.ids(query) }
        #expect(refused?.code == .failedPrecondition)
        let text = try #require(refused?.message)
        #expect(text.hasPrefix("The query \(what). You can create it here: https://"), "\(text)")
        #expect(text.contains("/firestore/indexes?\(link)"), "\(text)")
        let definition = try #require(
          text.range(of: "--indexes, in addition to those that are there: ").map { text[$0.upperBound...] })
        // It is a whole file.
        try Data(definition.utf8).write(to: URL(fileURLWithPath: file), options: .atomic)
        try await waitUntil { await failure { try await server.ids(query) } == nil }
        #expect(try await server.ids(query) == ["x"])
      }
    }
  }

  @Test("the definition is a detail of the status, for queries, aggregations, transactions and listeners")
  func detail() async throws {
    try await ServerFixture.withServer(databaseLimits: limits()) { server in
      let details = try await details { try await server.run(Self.query) }
      #expect(details.map(\.typeURL) == ["type.googleapis.com/google.rpc.PreconditionFailure"])
      let violation = String(decoding: details.first?.value ?? Data(), as: UTF8.self)
      #expect(violation.contains("MISSING_INDEX"))
      var aggregation = Google_Firestore_V1_RunAggregationQueryRequest()
      let request = server.queryRequest(Self.query)
      aggregation.parent = request.parent
      aggregation.structuredAggregationQuery.structuredQuery = request.structuredQuery
      aggregation.structuredAggregationQuery.aggregations = [.with { $0.count = .init() }]
      let refused = await failure {
        try await server.list(Method.RunAggregationQuery.descriptor, aggregation)
          as [Google_Firestore_V1_RunAggregationQueryResponse]
      }
      #expect(refused?.code == .failedPrecondition)

      var listen = Google_Firestore_V1_ListenRequest()
      listen.database = ServerFixture.database.resourceName
      listen.addTarget.targetID = 2
      listen.addTarget.query.parent = request.parent
      listen.addTarget.query.structuredQuery = request.structuredQuery
      try await server.listen([listen]) { response in
        guard response.targetChange.targetChangeType == .remove else { return true }
        #expect(response.targetChange.cause.code == 9)
        #expect(response.targetChange.cause.details.count == 1)
        return false
      }
    }
  }

  @Test("queries that production answers without a declared index pass")
  func passes() async throws {
    try await ServerFixture.withServer(databaseLimits: limits()) { server in
      try await server.set("c/x", ["a": 1.value, "b": 2.value])
      let plain = Query(path: path("c")).with(filter: .field(field("a"), .equal, 1.value))
      #expect(try await server.ids(plain.with(filter: .field(field("b"), .equal, 2.value))) == ["x"])
      #expect(try await server.ids(Query(path: path("c"))) == ["x"])
    }
  }

  @Test("trouble that passes says when to come again; a wrong request has no details")
  func retryInfo() async throws {
    var limits = DatabaseLimits()
    limits.transactions = 1
    try await ServerFixture.withServer(databaseLimits: limits) { server in
      var request = Google_Firestore_V1_BeginTransactionRequest()
      request.database = ServerFixture.database.resourceName
      func begin() async throws -> Google_Firestore_V1_BeginTransactionResponse {
        try await server.unary(Method.BeginTransaction.descriptor, request)
      }
      _ = try await begin()
      let details = try await details(of: begin)
      #expect(details.map(\.typeURL) == ["type.googleapis.com/google.rpc.RetryInfo"])
      #expect(Array(details.first?.value ?? Data()) == [0x0A, 2, 0x08, 1], "a second")
      do {
        _ = try await server.get("a")
        Issue.record("a collection was read as a document")
      } catch let error as RPCError {
        #expect(Array(error.metadata[binaryValues: "grpc-status-details-bin"]).isEmpty)
      }
    }
  }
}
