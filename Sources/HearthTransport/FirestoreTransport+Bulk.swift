internal import Foundation
internal import GRPCCore
internal import GRPCNIOTransportHTTP2
internal import GRPCProtobuf
package import HearthModel
internal import HearthWire
internal import SwiftProtobuf

/// Calls for programs that read and write many documents without keeping them.
extension FirestoreTransport {
  /// Runs a query once.
  ///
  /// - Parameters:
  ///   - query: The query. The documents come in the order of its target, so that a limit to the last documents comes reversed.
  ///   - fields: The fields that are sent; nil for all, an empty list for keys only.
  ///   - version: A version that an earlier answer named; nil for the present state.
  ///   - timeout: The time that the backend has for the whole result; nil for that of all calls.
  ///   - onDocument: Called for each document, in order, while further ones are on their way. The backend waits while it runs.
  /// - Returns: The version that was read, if the backend names it.
  package func runQuery(
    _ query: Query, selecting fields: [FieldPath]? = nil, at version: SnapshotVersion? = nil,
    timeout: Duration? = nil, onDocument: @escaping @Sendable (Document) -> Void
  ) async throws(StatusError) -> SnapshotVersion? {
    var request = Google_Firestore_V1_RunQueryRequest()
    let (parent, structuredQuery) = translator.structuredQuery(query.target)
    request.parent = parent
    request.structuredQuery = structuredQuery
    if let fields {
      request.structuredQuery.select.fields = (fields.isEmpty ? [.documentKey] : fields).map {
        Google_Firestore_V1_StructuredQuery.FieldReference(path: $0)
      }
    }
    if let version { request.readTime = translator.encode(version) }
    let message = request
    let translator = translator
    return try await call(timeout: timeout) { client, metadata, options in
      try await client.serverStreaming(
        request: ClientRequest(message: message, metadata: metadata),
        descriptor: Google_Firestore_V1_Firestore.Method.RunQuery.descriptor,
        serializer: ProtobufSerializer<Google_Firestore_V1_RunQueryRequest>(),
        deserializer: IncomingMessageDeserializer<Google_Firestore_V1_RunQueryResponse>(), options: options
      ) { response in
        var readTime: SnapshotVersion?
        for try await message in response.messages {
          if message.hasReadTime {
            readTime = SnapshotVersion(try translator.decode(message.readTime, at: "RunQueryResponse.read_time"))
          }
          guard !message.document.isEmpty else { continue }
          onDocument(
            try translator.decode(
              documentBytes: message.document, readTime: readTime ?? .none, at: "RunQueryResponse.document"))
        }
        return readTime
      }
    }
  }

  /// Carries out each mutation by itself, in no particular order. No document may be written twice.
  ///
  /// - Returns: For each mutation the reason why it was refused, or nil.
  package func batchWrite(_ mutations: [Mutation]) async throws(StatusError) -> [StatusError?] {
    var request = Google_Firestore_V1_BatchWriteRequest()
    request.database = configuration.databaseID.resourceName
    request.writes = mutations.map { translator.encode($0) }
    let message = request
    let answer = try await call { client, metadata, options in
      try await client.unary(
        request: ClientRequest(message: message, metadata: metadata),
        descriptor: Google_Firestore_V1_Firestore.Method.BatchWrite.descriptor,
        serializer: ProtobufSerializer<Google_Firestore_V1_BatchWriteRequest>(),
        deserializer: IncomingMessageDeserializer<Google_Firestore_V1_BatchWriteResponse>(), options: options
      ) { response in
        try response.message
      }
    }
    guard answer.status.count == mutations.count else {
      throw StatusError(
        code: .internal,
        message:
          "\(configuration.endpoint) answered \(mutations.count) separate writes with \(answer.status.count) results.")
    }
    return answer.status.map { translator.decode($0) }
  }

  /// The ids of the collections right below a document, or below the root, in order.
  package func collectionIDs(
    below parent: ResourcePath, at version: SnapshotVersion? = nil
  ) async throws(StatusError) -> [String] {
    var ids: [String] = []
    var token = ""
    repeat {
      var request = Google_Firestore_V1_ListCollectionIdsRequest()
      request.parent = configuration.databaseID.name(of: parent)
      request.pageSize = 1000
      request.pageToken = token
      if let version { request.readTime = translator.encode(version) }
      let message = request
      let answer = try await call { client, metadata, options in
        try await client.unary(
          request: ClientRequest(message: message, metadata: metadata),
          descriptor: Google_Firestore_V1_Firestore.Method.ListCollectionIds.descriptor,
          serializer: ProtobufSerializer<Google_Firestore_V1_ListCollectionIdsRequest>(),
          deserializer: IncomingMessageDeserializer<Google_Firestore_V1_ListCollectionIdsResponse>(), options: options
        ) { response in
          try response.message
        }
      }
      ids += answer.collectionIds
      token = answer.nextPageToken
    } while !token.isEmpty
    return ids
  }

  /// Keys that divide the documents of all collections with one id into parts of similar size, in order. Fewer parts than
  /// `partCount`, also one, are a full answer.
  package func partitionPoints(
    ofCollectionGroup id: String, partCount: Int, at version: SnapshotVersion? = nil
  ) async throws(StatusError) -> [DocumentKey] {
    guard partCount > 1 else { return [] }
    var points: [DocumentKey] = []
    var token = ""
    repeat {
      var request = Google_Firestore_V1_PartitionQueryRequest()
      let query = Query(path: ResourcePath(), collectionGroup: id)
      (request.parent, request.structuredQuery) = translator.structuredQuery(query.target)
      request.partitionCount = Int64(partCount - 1)
      request.pageToken = token
      if let version { request.readTime = translator.encode(version) }
      let message = request
      let answer = try await call { client, metadata, options in
        try await client.unary(
          request: ClientRequest(message: message, metadata: metadata),
          descriptor: Google_Firestore_V1_Firestore.Method.PartitionQuery.descriptor,
          serializer: ProtobufSerializer<Google_Firestore_V1_PartitionQueryRequest>(),
          deserializer: IncomingMessageDeserializer<Google_Firestore_V1_PartitionQueryResponse>(), options: options
        ) { response in
          try response.message
        }
      }
      for cursor in answer.partitions {
        guard let bytes = cursor.values.first else { continue }
        let value = try decoded { try translator.decode(valueBytes: bytes, at: "PartitionQueryResponse.partitions") }
        if case .reference(let reference) = value { points.append(reference.key) }
      }
      token = answer.nextPageToken
    } while !token.isEmpty
    return points.sorted()
  }
}

extension Google_Firestore_V1_StructuredQuery.FieldReference {
  fileprivate init(path: FieldPath) {
    self.init()
    fieldPath = path.canonicalString
  }
}
