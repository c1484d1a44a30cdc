internal import HearthModel
internal import HearthRPC
internal import HearthWire
internal import SwiftProtobuf

/// The gRPC service `google.firestore.v1.Firestore`: calls the storage and encodes answers.
struct FirestoreService: Sendable {
  static let name = "google.firestore.v1.Firestore"

  let sessions: Sessions
  let targets: TargetBudget

  init(sessions: Sessions) {
    self.sessions = sessions
    targets = TargetBudget(maximumBytes: sessions.limits.targetBytes)
  }

  /// The methods of the service. `ExecutePipeline` only says that it is not served.
  var methods: [CallMethod] {
    let counter = RequestCounter(limits: sessions.limits)
    let methods: [CallMethod] = [
      .unary("GetDocument", encoded: Google_Firestore_V1_Document.self, getDocument),
      .unary("ListDocuments", encoded: Google_Firestore_V1_ListDocumentsResponse.self, listDocuments),
      .unary("CreateDocument", encoded: Google_Firestore_V1_Document.self, createDocument),
      .unary("UpdateDocument", encoded: Google_Firestore_V1_Document.self, updateDocument),
      .unary("DeleteDocument", deleteDocument), .serverStreaming("BatchGetDocuments", batchGetDocuments).lasting,
      .unary("BeginTransaction", beginTransaction),
      .unary("Commit", preparing: prepareCommit, commit).brief.endingTransaction(Self.endsTransaction),
      .unary("Rollback", rollback),
      .unary("BatchWrite", preparing: prepareBatchWrite, batchWrite), .serverStreaming("RunQuery", runQuery).lasting,
      .serverStreaming("RunAggregationQuery", runAggregationQuery), .unary("ListCollectionIds", listCollectionIds),
      .unary("PartitionQuery", partitionQuery), .serverStreaming("ExecutePipeline", executePipeline),
      .bidirectional("Write", write), .bidirectional("Listen", listen),
    ]
    return methods.map { method in
      method.counting { (request, message) throws(CallStatus) in try counter.count(request, as: message) }
        .carriedOut(within: Self.carryOut)
    }
  }

  /// Carries out a call as one of its caller's, whose reads and commits take turns with those of others.
  private static func carryOut(_ call: ServerCall, _ run: () async throws -> Void) async throws {
    guard let sender = (call.identity?.caller as? Caller)?.sender(from: call.origin), !sender.isEmpty else {
      return try await run()
    }
    try await CallSender.$current.withValue(sender, operation: run)
  }
}
