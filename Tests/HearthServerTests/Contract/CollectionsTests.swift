import Foundation
import GRPCCore
import HearthModel
import HearthServer
import HearthTransport
import HearthWire
import SwiftProtobuf
import TestSupport
import Testing

/// Reads of more than one collection, in the present and in the past.
@Suite("Many collections", .everyStorage)
struct CollectionsTests {
  private static let parent = ServerFixture.database.documentsName

  @Test("without a collection id the documents of all collections right below the parent are found, or of all below it")
  func allCollections() async throws {
    try await ServerFixture.withServer { fixture in
      for path in ["b/1", "a/2", "a/1", "a/1/x/9", "b/1/y/8"] { try await fixture.set(path, ["n": 1.value]) }
      func names(_ change: (inout Google_Firestore_V1_RunQueryRequest) -> Void) async throws -> [String] {
        var request = Google_Firestore_V1_RunQueryRequest()
        request.parent = Self.parent
        request.structuredQuery = .init()
        change(&request)
        let responses: [Google_Firestore_V1_RunQueryResponse] = try await fixture.list(
          Method.RunQuery.descriptor, request)
        return try responses.filter { !$0.document.isEmpty }.map {
          try ServerFixture.translator.decode(documentBytes: $0.document, readTime: .none).key.canonicalString
        }
      }
      #expect(try await names { _ in } == ["a/1", "a/2", "b/1"])
      #expect(try await names { $0.structuredQuery.limit.value = 2 } == ["a/1", "a/2"])
      #expect(
        try await names { ($0.structuredQuery.offset, $0.structuredQuery.limit.value) = (1, 2) } == ["a/2", "b/1"])
      #expect(try await names { $0.structuredQuery.from = [.init()] } == ["a/1", "a/2", "b/1"])
      #expect(try await names { $0.parent += "/a/1" } == ["a/1/x/9"])
      #expect(try await names { $0.parent += "/none/1" } == [])
      let everything = try await names { $0.structuredQuery.from = [.with { $0.allDescendants = true }] }
      #expect(everything == ["a/1", "a/1/x/9", "a/2", "b/1", "b/1/y/8"])
      let refusal = await failure {
        try await names {
          $0.structuredQuery.orderBy = [.with { ($0.field.fieldPath, $0.direction) = ("n", .ascending) }]
        }
      }
      #expect(refusal?.code == .invalidArgument)
    }
  }

  @Test("a list without a collection id goes through all collections, page by page")
  func listing() async throws {
    try await ServerFixture.withServer { fixture in
      let paths = ["a/1", "a/2", "b/1", "c/1", "c/2"]
      for path in paths { try await fixture.set(path) }
      var request = Google_Firestore_V1_ListDocumentsRequest()
      (request.parent, request.pageSize) = (Self.parent, 2)
      var found: [String] = []
      repeat {
        let page: Google_Firestore_V1_ListDocumentsResponse = try await fixture.unary(
          Method.ListDocuments.descriptor, request)
        #expect(page.documents.count <= 2)
        found += try page.documents.map {
          try ServerFixture.translator.decode(documentBytes: $0, readTime: .none).key.canonicalString
        }
        request.pageToken = page.nextPageToken
      } while !request.pageToken.isEmpty
      #expect(found == paths)
    }
  }

  @Test("collection ids and missing documents are those of the read time")
  func past() async throws {
    let clock = ManualClock()
    try await ServerFixture.withServer(clock: clock.clock) { fixture in
      try await fixture.set("old/1")
      try await fixture.set("p/1/below/x")
      clock.advance(seconds: 1)
      let then = SwiftProtobuf.Google_Protobuf_Timestamp.with {
        ($0.seconds, $0.nanos) = (clock.now / 1_000_000, Int32(clock.now % 1_000_000) * 1_000)
      }
      clock.advance(seconds: 1)
      try await fixture.commit([.delete(key("old/1")), .delete(key("p/1/below/x"))])
      try await fixture.set("new/1")
      try await fixture.set("p/2/below/x")
      func ids(at time: Google_Protobuf_Timestamp?) async throws -> [String] {
        var request = Google_Firestore_V1_ListCollectionIdsRequest()
        request.parent = Self.parent
        if let time { request.readTime = time }
        let response: Google_Firestore_V1_ListCollectionIdsResponse = try await fixture.unary(
          Method.ListCollectionIds.descriptor, request)
        return response.collectionIds
      }
      #expect(try await ids(at: nil) == ["new", "p"])
      #expect(try await ids(at: then) == ["old", "p"])
      func missing(at time: Google_Protobuf_Timestamp?) async throws -> [String] {
        var request = Google_Firestore_V1_ListDocumentsRequest()
        (request.parent, request.collectionID, request.showMissing) = (Self.parent, "p", true)
        if let time { request.readTime = time }
        let response: Google_Firestore_V1_ListDocumentsResponse = try await fixture.unary(
          Method.ListDocuments.descriptor, request)
        return try response.documents.map {
          try Google_Firestore_V1_Document(serializedBytes: $0).name.split(separator: "/").last.map(String.init) ?? ""
        }
      }
      #expect(try await missing(at: nil) == ["2"])
      #expect(try await missing(at: then) == ["1"])
    }
  }

  @Test("partitions divide a group into parts that hold every document once, also those of the past")
  func partitions() async throws {
    let clock = ManualClock()
    try await ServerFixture.withServer(clock: clock.clock) { fixture in
      for first in [0, 300] {
        try await fixture.commit((first..<first + 300).map { .set(key("a/\($0 % 7)/g/\(1000 + $0)"), [:]) })
      }
      clock.advance(seconds: 1)
      let then = clock.now
      clock.advance(seconds: 1)
      try await fixture.commit((0..<500).map { .delete(key("a/\($0 % 7)/g/\(1000 + $0)")) })
      var request = Google_Firestore_V1_PartitionQueryRequest()
      (request.parent, request.partitionCount) = (Self.parent, 3)
      request.structuredQuery.from = [.with { ($0.collectionID, $0.allDescendants) = ("g", true) }]
      request.structuredQuery.orderBy = [.with { ($0.field.fieldPath, $0.direction) = ("__name__", .ascending) }]
      let present: Google_Firestore_V1_PartitionQueryResponse = try await fixture.unary(
        Method.PartitionQuery.descriptor, request)
      #expect(present.partitions.isEmpty, "a hundred documents are not worth a division")
      request.readTime = .with { $0.seconds = then / 1_000_000 }
      let whole: Google_Firestore_V1_PartitionQueryResponse = try await fixture.unary(
        Method.PartitionQuery.descriptor, request)
      try #require(whole.partitions.count == 3)
      #expect(whole.partitions.map(\.before) == [true, true, true])
      // Page by page they are the same.
      var paged: [Google_Firestore_V1_Cursor] = []
      request.pageSize = 2
      repeat {
        let page: Google_Firestore_V1_PartitionQueryResponse = try await fixture.unary(
          Method.PartitionQuery.descriptor, request)
        paged += page.partitions
        request.pageToken = page.nextPageToken
      } while !request.pageToken.isEmpty
      #expect(paged == whole.partitions)

      var counts: [Int] = []
      for index in 0...3 {
        var part = Google_Firestore_V1_RunQueryRequest()
        (part.parent, part.structuredQuery) = (Self.parent, request.structuredQuery)
        if index > 0 { part.structuredQuery.startAt = whole.partitions[index - 1] }
        if index < 3 { part.structuredQuery.endAt = whole.partitions[index] }
        part.readTime = request.readTime
        let responses: [Google_Firestore_V1_RunQueryResponse] = try await fixture.list(
          Method.RunQuery.descriptor, part)
        counts.append(responses.count { !$0.document.isEmpty })
      }
      #expect(counts == [150, 150, 150, 150])

      request.pageToken = ""
      request.partitionCount = 0
      let refusal = await failure {
        try await fixture.unary(Method.PartitionQuery.descriptor, request) as Google_Firestore_V1_PartitionQueryResponse
      }
      #expect(refusal?.code == .invalidArgument)
    }
  }
}
