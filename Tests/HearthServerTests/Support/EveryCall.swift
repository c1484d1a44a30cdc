import Foundation
import HearthModel
import HearthWire
import NIOCore
import RawHTTP2
import SwiftProtobuf

@testable import HearthServer

/// A call of each method of the service, for what holds for all of them.
enum EveryCall {
  typealias Call = (method: String, requests: [any Message])

  private static let database = ServerFixture.database.resourceName
  private static let parent = ServerFixture.database.documentsName
  private static let write = ServerFixture.translator.encode(.set(key("c/a"), ["n": 1.value]))

  private static var query: Google_Firestore_V1_StructuredQuery {
    .with { $0.from = [.with { $0.collectionID = "c" }] }
  }

  private static var group: Google_Firestore_V1_StructuredQuery {
    .with {
      $0.from = [.with { ($0.collectionID, $0.allDescendants) = ("c", true) }]
      $0.orderBy = [.with { ($0.field.fieldPath, $0.direction) = ("__name__", .ascending) }]
    }
  }

  /// A call of each method, and further ones where there are several ways into the databases.
  static var calls: [Call] {
    let transaction = Data(repeating: 1, count: 32)
    return documentCalls + [
      (
        "RunQuery",
        [Google_Firestore_V1_RunQueryRequest.with { ($0.parent, $0.structuredQuery) = (parent, query) }]
      ),
      (
        "RunAggregationQuery",
        [
          Google_Firestore_V1_RunAggregationQueryRequest.with {
            $0.parent = parent
            $0.structuredAggregationQuery.structuredQuery = query
            $0.structuredAggregationQuery.aggregations = [.with { $0.count = .init() }]
          }
        ]
      ),
      ("ListCollectionIds", [Google_Firestore_V1_ListCollectionIdsRequest.with { $0.parent = parent }]),
      (
        "PartitionQuery",
        [
          Google_Firestore_V1_PartitionQueryRequest.with {
            ($0.parent, $0.structuredQuery, $0.partitionCount) = (parent, group, 2)
          }
        ]
      ),
      ("ExecutePipeline", [Google_Firestore_V1_ExecutePipelineRequest.with { $0.database = database }]),
      ("BeginTransaction", [Google_Firestore_V1_BeginTransactionRequest.with { $0.database = database }]),
      ("Commit", [Google_Firestore_V1_CommitRequest.with { ($0.database, $0.writes) = (database, [write]) }]),
      (
        "Commit",
        [
          Google_Firestore_V1_CommitRequest.with {
            ($0.database, $0.writes, $0.transaction) = (database, [write], transaction)
          }
        ]
      ),
      (
        "Rollback",
        [Google_Firestore_V1_RollbackRequest.with { ($0.database, $0.transaction) = (database, transaction) }]
      ),
      ("BatchWrite", [Google_Firestore_V1_BatchWriteRequest.with { ($0.database, $0.writes) = (database, [write]) }]),
      (
        "Write",
        [
          Google_Firestore_V1_WriteRequest.with { $0.database = database },
          Google_Firestore_V1_WriteRequest.with { $0.writes = [write] },
        ]
      ),
      (
        "Listen",
        [
          Google_Firestore_V1_ListenRequest.with {
            $0.database = database
            $0.addTarget.targetID = 2
            $0.addTarget.query = .with { ($0.parent, $0.structuredQuery) = (parent, query) }
          }
        ]
      ),
    ]
  }

  private static var documentCalls: [Call] {
    [
      ("GetDocument", [Google_Firestore_V1_GetDocumentRequest.with { $0.name = name("c/a") }]),
      (
        "ListDocuments",
        [Google_Firestore_V1_ListDocumentsRequest.with { ($0.parent, $0.collectionID) = (parent, "c") }]
      ),
      (
        "CreateDocument",
        [
          Google_Firestore_V1_CreateDocumentRequest.with {
            ($0.parent, $0.collectionID, $0.documentID) = (parent, "c", "a")
            $0.document = documentBytes(nil, ["n": 1.value])
          }
        ]
      ),
      (
        "UpdateDocument",
        [Google_Firestore_V1_UpdateDocumentRequest.with { $0.document = documentBytes("c/a", ["n": 1.value]) }]
      ),
      ("DeleteDocument", [Google_Firestore_V1_DeleteDocumentRequest.with { $0.name = name("c/a") }]),
      (
        "BatchGetDocuments",
        [
          Google_Firestore_V1_BatchGetDocumentsRequest.with {
            ($0.database, $0.documents) = (database, [name("c/a")])
          }
        ]
      ),
      (
        "BatchGetDocuments",
        [
          Google_Firestore_V1_BatchGetDocumentsRequest.with {
            ($0.database, $0.documents, $0.newTransaction) = (database, [name("c/a")], .init())
          }
        ]
      ),
    ]
  }

  /// Makes all calls on a connection, one after the other.
  ///
  /// - Returns: The status of each, in the order of ``calls``.
  static func statuses(
    of client: RawHTTP2Client, authorization: String? = nil
  ) async throws -> [(method: String, status: String?)] {
    let first = client.received.statuses.count
    var statuses: [(method: String, status: String?)] = []
    for (index, call) in calls.enumerated() {
      let stream = UInt32(2 * (first + index) + 1)
      var headers = [":path": "/google.firestore.v1.Firestore/\(call.method)"]
      headers["authorization"] = authorization
      var frames = [RawHTTP2Client.Frame.request(stream, headers)]
      for (number, request) in call.requests.enumerated() {
        frames.append(try .message(request, stream, endsStream: number == call.requests.count - 1))
      }
      try await client.send(frames)
      try await client.wait(for: "\(call.method)") { $0.statuses[stream] != nil || $0.isClosed }
      statuses.append((call.method, client.received.statuses[stream]))
    }
    return statuses
  }
}
