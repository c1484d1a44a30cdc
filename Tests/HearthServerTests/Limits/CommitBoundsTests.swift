import GRPCCore
import HearthModel
import HearthTransport
import HearthWire
import Metrics
import MetricsTestKit
import SwiftProtobuf
import Testing

@testable import HearthServer

@Suite("Bounds of a commit", .everyStorage)
struct CommitBoundsTests {
  private static func limits(_ change: (inout DatabaseLimits) -> Void) -> DatabaseLimits {
    var limits = DatabaseLimits()
    change(&limits)
    return limits
  }

  private static func sets(_ count: Int) -> [Mutation] { (0..<count).map { .set(key("c/d\($0)"), [:]) } }

  private static func transforms(_ range: Range<Int>) -> [FieldTransform] {
    range.map { FieldTransform(path: field("f\($0)"), operation: .increment(1.value)) }
  }

  @Test("a request with more writes than are allowed is refused with the flag, and counted")
  func writes() async throws {
    let metrics = TestMetrics()
    try await ServerFixture.withServer(databaseLimits: Self.limits { $0.writesPerRequest = 3 }, metrics: metrics) {
      fixture in
      try await fixture.commit(Self.sets(3))
      let refusal = await failure { try await fixture.commit(Self.sets(4)) }
      #expect(refusal?.code == .invalidArgument)
      #expect(refusal?.message.contains("--max-writes-per-request") == true, "\(refusal as Any)")
      #expect(await failure { try await fixture.get("c/d3") }?.code == .notFound)
      let exceeded = try metrics.expectCounter("hearth.server.limit.exceeded", [("limit", "writes_per_request")])
      #expect(exceeded.totalValue == 1)
    }
  }

  @Test("500 transforms are allowed for each document of a commit, in one write or in several")
  func transforms() async throws {
    try await ServerFixture.withServer { fixture in
      let (a, b) = (key("c/a"), key("c/b"))
      let halves = [0..<300, 300..<600].map { Self.transforms($0) }
      try await fixture.commit([.set(a, [:], transforms: halves[0]), .set(b, [:], transforms: halves[1])])
      try await fixture.commit([
        .set(a, [:], transforms: halves[0]), .set(a, [:], transforms: Array(halves[1].prefix(200))),
      ])
      for mutations in [
        [
          Mutation.set(a, [:], transforms: halves[0]),
          .patch(a, [:], mask: .empty, precondition: .none, transforms: halves[1]),
        ],
        [.set(a, [:], transforms: Self.transforms(0..<501))],
      ] {
        let refusal = await failure { try await fixture.commit(mutations) }
        #expect(refusal?.code == .invalidArgument)
        #expect(refusal?.message.contains("500") == true, "\(refusal as Any)")
      }
    }
  }

  @Test("a small commit that changes a large document many times is refused with the flag before others wait for it")
  func rewritten() async throws {
    let metrics = TestMetrics()
    let limits = Self.limits { $0.rewrittenBytesPerCommit = 1 << 20 }
    try await ServerFixture.withServer(databaseLimits: limits, metrics: metrics) { fixture in
      let document = key("c/large")
      try await fixture.commit([.set(document, ["text": .string(String(repeating: "x", count: 100_000))])])
      func merges(_ count: Int) -> [Mutation] {
        (0..<count).map { .patch(document, ["n": $0.value], mask: FieldMask([field("n")])) }
      }
      try await fixture.commit(merges(4))
      for mutations in [
        merges(6), (0..<6).map { _ in .patch(document, [:], mask: .empty, transforms: Self.transforms(0..<1)) },
      ] {
        let refusal = await failure { try await fixture.commit(mutations) }
        #expect(refusal?.code == .invalidArgument)
        #expect(refusal?.message.contains("Transaction too big") == true, "\(refusal as Any)")
        #expect(refusal?.message.contains("--max-rewritten-megabytes") == true, "\(refusal as Any)")
      }
      // Each transform of an array looks through one.
      let unions = (0..<12).map { FieldTransform(path: field("l"), operation: .arrayUnion([$0.value])) }
      let refusal = await failure {
        try await fixture.commit([.patch(document, [:], mask: .empty, transforms: unions)])
      }
      #expect(refusal?.message.contains("Transaction too big") == true, "\(refusal as Any)")
      try await fixture.commit([.patch(document, [:], mask: .empty, transforms: Array(unions.prefix(5)))])
      // A write that replaces a document reads and writes no more than the request holds.
      try await fixture.commit((0..<20).map { .set(document, ["n": $0.value]) })
      let exceeded = try metrics.expectCounter(
        "hearth.server.limit.exceeded", [("limit", "rewritten_bytes_per_commit")])
      #expect(exceeded.totalValue == 3)
    }
  }

  @Test("the other limits of what a request holds can be set, too")
  func others() async throws {
    let limits = Self.limits { ($0.documentsPerRequest, $0.fieldsPerMask, $0.queryComponents) = (2, 2, 2) }
    try await ServerFixture.withServer(databaseLimits: limits) { fixture in
      func get(_ names: [String], mask: [String]) async -> String? {
        await failure {
          try await fixture.list(
            Method.BatchGetDocuments.descriptor,
            Google_Firestore_V1_BatchGetDocumentsRequest.with {
              $0.database = ServerFixture.database.resourceName
              ($0.documents, $0.mask.fieldPaths) = (names.map { name("c/\($0)") }, mask)
            }, as: Google_Firestore_V1_BatchGetDocumentsResponse.self)
        }?.message
      }
      #expect(await get(["a", "b"], mask: ["f", "g"]) == nil)
      #expect(await get(["a", "b", "b"], mask: [])?.contains("--max-documents-per-request") == true)
      #expect(await get(["a"], mask: ["f", "g", "h"])?.contains("--max-fields-per-mask") == true)
      let orders = ["f", "g", "h"].reduce(Query(path: path("c"))) { $0.with(order: OrderBy(path: field($1))) }
      let refusal = await failure { try await fixture.run(orders) }
      #expect(refusal?.code == .invalidArgument && refusal?.message.contains("--max-query-components") == true)
      let list = await failure {
        let request = Google_Firestore_V1_ListDocumentsRequest.with {
          ($0.parent, $0.collectionID, $0.orderBy) = (ServerFixture.database.documentsName, "c", "f, g, h")
        }
        return try await fixture.unary(
          Method.ListDocuments.descriptor, request, as: Google_Firestore_V1_ListDocumentsResponse.self)
      }
      #expect(list?.code == .invalidArgument && list?.message.contains("--max-query-components") == true)
    }
  }

  @Test("a target that holds too much ends, and the other targets of its stream go on")
  func targets() async throws {
    try await ServerFixture.withServer(databaseLimits: Self.limits { $0.queryComponents = 2 }) { fixture in
      func request(_ id: Int32, orders: Int) -> Google_Firestore_V1_ListenRequest {
        .with {
          $0.database = ServerFixture.database.resourceName
          $0.addTarget.targetID = id
          $0.addTarget.query.parent = ServerFixture.database.documentsName
          $0.addTarget.query.structuredQuery.from = [.with { $0.collectionID = "c" }]
          $0.addTarget.query.structuredQuery.orderBy = (0..<orders).map { number in
            .with { $0.field.fieldPath = "f\(number)" }
          }
        }
      }
      let seen = Seen()
      try await fixture.listen([request(1, orders: 3), request(2, orders: 2), request(3, orders: 3)]) { response in
        guard case .targetChange(let change)? = response.responseType else { return true }
        for id in change.targetIds { await seen.add(id, change.targetChangeType, change.cause.message) }
        return await !seen.isComplete
      }
      #expect(await seen.removed.keys.sorted() == [1, 3])
      #expect(await seen.removed.values.allSatisfy { $0.contains("--max-query-components") })
      #expect(await seen.current == [2])
    }
  }

  private actor Seen {
    var removed: [Int32: String] = [:]
    var current: [Int32] = []
    var isComplete: Bool { removed.count == 2 && current.count == 1 }

    func add(_ id: Int32, _ type: Google_Firestore_V1_TargetChange.TargetChangeType, _ message: String) {
      if type == .remove { removed[id] = message }
      if type == .current { current.append(id) }
    }
  }
}
