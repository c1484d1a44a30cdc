import Foundation
import GRPCCore
import HearthModel
import HearthTransport
import HearthWire
import SwiftProtobuf
import TestSupport
import Testing

@testable import HearthServer

@Suite("find_nearest", .everyStorage)
struct VectorSearchTests {
  typealias FindNearest = Google_Firestore_V1_StructuredQuery.FindNearest

  /// - Returns: the request for the documents nearest to (1, 0).
  private static func request(
    _ measure: FindNearest.DistanceMeasure, limit: Int32 = 10, _ change: (inout FindNearest) -> Void = { _ in }
  ) throws -> Google_Firestore_V1_RunQueryRequest {
    var search = FindNearest()
    search.vectorField.fieldPath = "v"
    search.queryVector = try Google_Firestore_V1_Value(serializedBytes: Value.vector([1, 0]).encoded())
    search.distanceMeasure = measure
    search.limit.value = limit
    change(&search)
    var request = Google_Firestore_V1_RunQueryRequest()
    request.parent = ServerFixture.database.documentsName
    request.structuredQuery.from = [.with { $0.collectionID = "c" }]
    request.structuredQuery.findNearest = search
    return request
  }

  private static func withVectors<R: Sendable>(_ body: (ServerFixture) async throws -> R) async throws -> R {
    try await ServerFixture.withServer { fixture in
      try await fixture.set("c/same", ["v": .vector([1, 0]), "color": .string("red")])
      try await fixture.set("c/near", ["v": .vector([2, 1]), "color": .string("blue")])
      try await fixture.set("c/far", ["v": .vector([-3, 0]), "color": .string("red")])
      try await fixture.set("c/long", ["v": .vector([1, 0, 0])])
      try await fixture.set("c/none", ["v": 1.value])
      return try await body(fixture)
    }
  }

  private static func results(
    _ fixture: ServerFixture, _ request: Google_Firestore_V1_RunQueryRequest
  ) async throws -> [Document] {
    let responses: [Google_Firestore_V1_RunQueryResponse] = try await fixture.list(Method.RunQuery.descriptor, request)
    return try responses.filter { !$0.document.isEmpty }.map {
      try ServerFixture.translator.decode(documentBytes: $0.document, readTime: .none)
    }
  }

  @Test(
    "finds vectors of as many dimensions, the nearest first, with their distance",
    arguments: [
      (FindNearest.DistanceMeasure.euclidean, ["same", "near", "far"], [0, 2.0.squareRoot(), 4]),
      (.cosine, ["same", "near", "far"], [0, 1 - 2 / 5.0.squareRoot(), 2]),
      (.dotProduct, ["near", "same", "far"], [2, 1, -3]),
    ])
  func order(measure: FindNearest.DistanceMeasure, ids: [String], distances: [Double]) async throws {
    try await Self.withVectors { fixture in
      let found = try await Self.results(fixture, try Self.request(measure) { $0.distanceResultField = "distance" })
      #expect(found.map(\.key.id) == ids)
      for (document, expected) in zip(found, distances) {
        guard case .double(let distance)? = try document.fields.value(at: field("distance")) else {
          Issue.record("no distance in \(document)")
          continue
        }
        #expect(abs(distance - expected) < 1e-12)
      }
    }
  }

  @Test("the angle between vectors of one direction is exactly 0, also of very short and very long ones")
  func angle() async throws {
    for vector in [[0.1, 0.2, 0.3], [3, 1, 4], [1e-100, 2e-100, 0], [1e100, 1e100, 1e100]] {
      let value = Value.vector(vector)
      let search = try VectorSearch(
        .with {
          $0.vectorField.fieldPath = "v"
          $0.queryVector = try Google_Firestore_V1_Value(serializedBytes: value.encoded())
          ($0.distanceMeasure, $0.limit.value) = (.cosine, 1)
        }, ServerFixture.translator)
      let document = Document.found(key("c/a"), version: .none, fields: EncodedFields(["v": value]))
      let distance = try #require(try search.distance(of: document))
      #expect(vector[0] < 1e-50 || vector[0] > 1e50 ? abs(distance) < 1e-12 : distance == 0, "\(vector): \(distance)")
    }
  }

  @Test("keeps to limit, threshold and the query's own filter")
  func bounds() async throws {
    try await Self.withVectors { fixture in
      #expect(try await Self.results(fixture, Self.request(.euclidean, limit: 1)).map(\.key.id) == ["same"])
      let near = try Self.request(.euclidean) { $0.distanceThreshold.value = 2 }
      #expect(try await Self.results(fixture, near).map(\.key.id) == ["same", "near"])
      let large = try Self.request(.dotProduct) { $0.distanceThreshold.value = 1 }
      #expect(try await Self.results(fixture, large).map(\.key.id) == ["near", "same"])
      var red = try Self.request(.euclidean)
      red.structuredQuery.where.fieldFilter = .with {
        ($0.field.fieldPath, $0.op, $0.value) = ("color", .equal, Data(Value.string("red").encoded()))
      }
      #expect(try await Self.results(fixture, red).map(\.key.id) == ["same", "far"])
    }
  }

  @Test("refuses what has no meaning")
  func refusals() async throws {
    try await ServerFixture.withServer { fixture in
      let wrong: [Google_Firestore_V1_RunQueryRequest] = [
        try Self.request(.unspecified), try Self.request(.cosine, limit: 0), try Self.request(.cosine, limit: 1001),
        try Self.request(.cosine) { $0.queryVector = .with { $0.integerValue = 1 } },
        try Self.request(.cosine) { $0.distanceResultField = "__x__" },
        try Self.request(.cosine) { $0.distanceThreshold.value = .nan },
      ]
      for request in wrong {
        let refusal = await failure { try await Self.results(fixture, request) }
        #expect(refusal?.code == .invalidArgument, "\(request)")
      }
      var listener = Google_Firestore_V1_ListenRequest()
      listener.database = ServerFixture.database.resourceName
      listener.addTarget.targetID = 1
      listener.addTarget.query.parent = ServerFixture.database.documentsName
      listener.addTarget.query.structuredQuery = try Self.request(.cosine).structuredQuery
      let responses: [Google_Firestore_V1_ListenResponse] = try await fixture.converse(
        Method.Listen.descriptor, [listener])
      #expect(responses.map(\.targetChange.targetChangeType) == [.add, .remove])
      #expect(responses.last?.targetChange.cause.code == 3)
    }
  }
}
