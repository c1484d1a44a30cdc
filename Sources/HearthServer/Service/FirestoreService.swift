internal import HearthModel
internal import HearthWire
internal import SwiftProtobuf

/// The gRPC service `google.firestore.v1.Firestore`: calls the storage and encodes answers.
struct FirestoreService: Sendable {
  static let name = "google.firestore.v1.Firestore"

  let backend: EmbeddedBackend

  /// The methods that are served. `ExecutePipeline` and `PartitionQuery` are not.
  var methods: [CallMethod] {
    [
      .unary("GetDocument", getDocument), .unary("ListDocuments", listDocuments),
      .unary("CreateDocument", createDocument), .unary("UpdateDocument", updateDocument),
      .unary("DeleteDocument", deleteDocument), .serverStreaming("BatchGetDocuments", batchGetDocuments),
      .unary("BeginTransaction", beginTransaction), .unary("Commit", commit), .unary("Rollback", rollback),
      .unary("BatchWrite", batchWrite), .serverStreaming("RunQuery", runQuery),
      .serverStreaming("RunAggregationQuery", runAggregationQuery), .unary("ListCollectionIds", listCollectionIds),
      .bidirectional("Write", write), .bidirectional("Listen", listen),
    ]
  }
}
