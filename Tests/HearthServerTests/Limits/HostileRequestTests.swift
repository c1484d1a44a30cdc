import Foundation
import GRPCCore
import HearthModel
import HearthServer
import HearthWire
import SwiftProtobuf
import Synchronization
import TestSupport
import Testing

/// Requests of any bytes, sent as they are.
@Suite("Requests that mean harm", .timeLimit(.minutes(3)))
struct HostileRequestTests {
  private static let parent = ServerFixture.database.documentsName
  /// An official client takes each of them for an answer of the backend that the application can understand.
  private static let harmless: Set<RPCError.Code?> = [nil, .invalidArgument, .notFound, .unimplemented]

  @Test("of thousands of filters, and of filters in filters, are refused with the rule that they break")
  func filters() async throws {
    try await ServerFixture.withServer { fixture in
      var filter = Google_Firestore_V1_StructuredQuery.Filter()
      filter.fieldFilter.field.fieldPath = "f"
      filter.fieldFilter.op = .equal
      filter.fieldFilter.value = Data([0x10, 1])
      var many = Google_Firestore_V1_StructuredQuery.Filter()
      many.compositeFilter.op = .and
      many.compositeFilter.filters = Array(repeating: filter, count: 8_000)
      for op in [Google_Firestore_V1_StructuredQuery.CompositeFilter.Operator.and, .or] {
        many.compositeFilter.op = op
        let refusal = await fixture.failure("RunQuery", try query(where: many))
        #expect(refusal?.code == .invalidArgument)
        #expect(
          refusal?.message.contains("100") == true || refusal?.message.contains("30") == true, "\(refusal as Any)")
      }
      var deep: [UInt8] = try filter.serializedBytes()
      for _ in 0..<5_000 { deep = Wire.field(1, Wire.number(1, 1) + Wire.field(2, deep)) }
      let selector = Wire.field(2, Wire.field(2, Array("c".utf8)))
      let request = Wire.field(1, Array(Self.parent.utf8)) + Wire.field(2, selector + Wire.field(3, deep))
      #expect(await fixture.failure("RunQuery", request)?.code == .invalidArgument)
      try await fixture.expectService()
    }
  }

  @Test("to listen to filters in filters end their target, and no other one of the stream")
  func deepTarget() async throws {
    try await ServerFixture.withServer { fixture in
      func target(_ id: TargetID, levels: Int) -> Google_Firestore_V1_ListenRequest {
        var filter = Google_Firestore_V1_StructuredQuery.Filter()
        filter.unaryFilter.field.fieldPath = "f"
        filter.unaryFilter.op = .isNull
        for _ in 0..<levels {
          let inner = filter
          filter = .with {
            $0.compositeFilter.op = .or
            $0.compositeFilter.filters = [inner]
          }
        }
        return .with { [filter] in
          $0.database = ServerFixture.database.resourceName
          $0.addTarget.targetID = id
          $0.addTarget.query.parent = Self.parent
          $0.addTarget.query.structuredQuery.from = [.with { $0.collectionID = "c" }]
          $0.addTarget.query.structuredQuery.where = filter
        }
      }
      let current = Mutex<Set<TargetID>>([])
      let ended = Mutex<[TargetID: Int32]>([:])
      try await fixture.listen([target(1, levels: 200), target(2, levels: 0), target(3, levels: 60)]) { response in
        let (change, ids) = (response.targetChange, response.targetChange.targetIds)
        switch change.targetChangeType {
        case .current: current.withLock { $0.formUnion(ids) }
        case .remove: ended.withLock { ended in for id in ids { ended[id] = change.cause.code } }
        default: break
        }
        return !(current.withLock { $0 == [2] } && ended.withLock { $0.count } == 2)
      }
      #expect(ended.withLock { $0 } == [1: 3, 3: 3])
    }
  }

  private func query(where filter: Google_Firestore_V1_StructuredQuery.Filter) throws -> [UInt8] {
    var request = Google_Firestore_V1_RunQueryRequest()
    request.parent = Self.parent
    request.structuredQuery.from = [.with { $0.collectionID = "c" }]
    request.structuredQuery.where = filter
    return try request.serializedBytes()
  }

  @Test("of arrays in arrays, many or deep, are refused with the document and the field")
  func arrays() async throws {
    try await ServerFixture.withServer { fixture in
      for depth in [21, 1_000, 100_000] {
        let refusal = await fixture.failure("Commit", Self.commit(field: Wire.nestedArrays(depth)))
        #expect(refusal?.code == .invalidArgument, "\(depth)")
      }
      let empty = Wire.field(1, Wire.field(9, []))
      let wide = Wire.field(9, [UInt8](copies: 2_000_000, of: empty))
      let refusal = await fixture.failure("Commit", Self.commit(field: wide))
      #expect(refusal?.code == .invalidArgument)
      #expect(refusal?.message.contains("\(Self.parent)/c/d") == true, "\(refusal as Any)")
      try await fixture.expectService()
    }
  }

  @Test("of more than 10 MiB are refused as a write that will never do, not as one to send again")
  func size() async throws {
    try await ServerFixture.withServer { fixture in
      let value = Wire.field(18, [UInt8](repeating: 0, count: 10 << 20))
      let refusal = await fixture.failure("Commit", Self.commit(field: value))
      #expect(refusal?.code == .invalidArgument)
      #expect(refusal?.message.contains("exceeds the limit: 10485760 bytes") == true, "\(refusal as Any)")
      try await fixture.expectService()
    }
  }

  @Test("whose names have any byte are answered, and never take more than their own document")
  func names() async throws {
    try await ServerFixture.withServer { fixture in
      try await fixture.set("c/d")
      for byte in UInt8.min ... .max {
        for id in [[byte], [0x78, byte, 0x79]] {
          let name = Array("\(Self.parent)/c/".utf8) + id
          let get = await fixture.failure("GetDocument", Wire.field(1, name))
          #expect(Self.harmless.contains(get?.code), "\(byte): \(get as Any)")
          let delete =
            Wire.field(1, Array(ServerFixture.database.resourceName.utf8)) + Wire.field(2, Wire.field(2, name))
          let commit = await fixture.failure("Commit", delete)
          #expect(Self.harmless.contains(commit?.code), "\(byte): \(commit as Any)")
        }
      }
      try await fixture.expectService()
      // Only the document "d" among all these ids was there.
      #expect(await failure { try await fixture.get("c/d") }?.code == .notFound)
    }
  }

  @Test(
    "that end anywhere, or have a wrong byte anywhere, get a status that clients can live with",
    arguments: ["GetDocument", "Commit", "RunQuery", "RunAggregationQuery", "BatchGetDocuments", "ListDocuments"])
  func damaged(method: String) async throws {
    let whole = try #require(try Self.examples()[method])
    var generator = SeededGenerator(seed: 1)
    try await ServerFixture.withServer { fixture in
      for count in whole.indices {
        let refusal = await fixture.failure(method, Array(whole[..<count]))
        #expect(Self.harmless.contains(refusal?.code), "\(count) bytes: \(refusal as Any)")
      }
      for index in whole.indices {
        var damaged = whole
        damaged[index] ^= UInt8.random(in: 1...255, using: &generator)
        let refusal = await fixture.failure(method, damaged)
        #expect(Self.harmless.contains(refusal?.code), "byte \(index): \(refusal as Any)")
      }
      try await fixture.expectService()
    }
  }

  private static func examples() throws -> [String: [UInt8]] {
    let database = ServerFixture.database.resourceName
    var query = Google_Firestore_V1_StructuredQuery()
    query.from = [.with { $0.collectionID = "c" }]
    query.where.fieldFilter = .with {
      ($0.field.fieldPath, $0.op, $0.value) = ("a.b", .greaterThan, Data([0x10, 5]))
    }
    query.orderBy = [.with { ($0.field.fieldPath, $0.direction) = ("a.b", .descending) }]
    query.limit.value = 3
    return [
      "GetDocument": try Google_Firestore_V1_GetDocumentRequest.with { $0.name = "\(parent)/c/d" }.serializedBytes(),
      "Commit": commit(field: Wire.nestedArrays(3)),
      "RunQuery": try Google_Firestore_V1_RunQueryRequest.with { ($0.parent, $0.structuredQuery) = (parent, query) }
        .serializedBytes(),
      "RunAggregationQuery": try Google_Firestore_V1_RunAggregationQueryRequest.with {
        $0.parent = parent
        $0.structuredAggregationQuery.structuredQuery = query
        $0.structuredAggregationQuery.aggregations = [
          .with { $0.count.upTo.value = 5 }, .with { $0.sum.field.fieldPath = "a" },
        ]
      }.serializedBytes(),
      "BatchGetDocuments": try Google_Firestore_V1_BatchGetDocumentsRequest.with {
        ($0.database, $0.documents) = (database, ["\(parent)/c/d", "\(parent)/c/e"])
        $0.mask.fieldPaths = ["a.b"]
      }.serializedBytes(),
      "ListDocuments": try Google_Firestore_V1_ListDocumentsRequest.with {
        ($0.parent, $0.collectionID, $0.pageSize, $0.orderBy) = (parent, "c", 5, "a desc")
      }.serializedBytes(),
    ]
  }

  /// A commit that sets the field `f` of c/d.
  private static func commit(field value: [UInt8]) -> [UInt8] {
    let entry = Wire.field(2, Wire.field(1, [0x66]) + Wire.field(2, value))
    let document = Wire.field(1, Array("\(parent)/c/d".utf8)) + entry
    return Wire.field(1, Array(ServerFixture.database.resourceName.utf8)) + Wire.field(2, Wire.field(1, document))
  }
}

/// Protobuf messages that no library would write.
private enum Wire {
  static func varint(_ number: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    var rest = number
    while rest > 0x7F {
      bytes.append(UInt8(rest & 0x7F) | 0x80)
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }

  static func number(_ number: Int, _ value: Int) -> [UInt8] { varint(number << 3) + varint(value) }

  static func field(_ number: Int, _ bytes: [UInt8]) -> [UInt8] {
    varint(number << 3 | 2) + varint(bytes.count) + bytes
  }

  /// A value: an array in an array in an array, written from the inside out without copying.
  static func nestedArrays(_ depth: Int) -> [UInt8] {
    var heads: [[UInt8]] = []
    var count = 0
    for level in 0..<depth {
      let element = level == 0 ? [] : varint(1 << 3 | 2) + varint(count)
      count += element.count
      heads.append(varint(9 << 3 | 2) + varint(count) + element)
      count += heads[level].count - element.count
    }
    return Array(heads.reversed().joined())
  }
}

extension ServerFixture {
  /// The status of a call with a request of any bytes; nil for success.
  func failure(_ method: String, _ request: [UInt8]) async -> (code: RPCError.Code, message: String)? {
    let name = "google.firestore.v1.Firestore"
    let descriptor = MethodDescriptor(service: ServiceDescriptor(fullyQualifiedService: name), method: method)
    return await HearthServerTests.failure {
      try await client.serverStreaming(
        request: ClientRequest(message: request), descriptor: descriptor, serializer: AnyBytes(),
        deserializer: AnyBytes(), options: .defaults
      ) { response in
        for try await _ in response.messages {}
      }
    }
  }

  /// Checks that another client is served as ever.
  fileprivate func expectService() async throws {
    try await set("service/check", ["n": .integer(1)])
    let document = try await get("service/check")
    #expect(!document.name.isEmpty)
  }
}

struct AnyBytes: MessageSerializer, MessageDeserializer {
  func serialize<Bytes: GRPCContiguousBytes>(_ message: [UInt8]) throws -> Bytes { Bytes(message) }
  func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> [UInt8] { bytes.withUnsafeBytes { Array($0) } }
}
