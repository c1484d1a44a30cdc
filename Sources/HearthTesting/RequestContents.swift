internal import Foundation
internal import HearthWire
internal import SwiftProtobuf

/// The parts of a request that the script needs.
struct RequestContents {
  var kind: BackendRequests.Kind
  /// Documents, or collections of queries, from the database's root.
  var paths: [String]
  var writes: [ReceivedWrite] = []
  /// The label of the batch of writes; nil for writes that have none, and for other requests.
  var batch: String?
  /// The target that a listener asks for.
  var targetID: Int32?

  /// Nil for a message that asks for nothing, such as the opening of a stream.
  static func of(_ message: any Sendable) -> RequestContents? {
    switch message {
    case let request as Google_Firestore_V1_WriteRequest:
      var contents = of(writes: request.writes)
      contents?.batch = request.labels[WireTranslator.batchLabelName]
      return contents
    case let request as Google_Firestore_V1_CommitRequest: return of(writes: request.writes)
    case let request as Google_Firestore_V1_ListenRequest:
      guard case .addTarget(let target)? = request.targetChange else { return nil }
      return RequestContents(kind: .listen, paths: paths(of: target), targetID: target.targetID)
    case let request as Google_Firestore_V1_BatchGetDocumentsRequest:
      return RequestContents(kind: .read, paths: request.documents.map(path))
    case let request as Google_Firestore_V1_RunQueryRequest:
      return RequestContents(kind: .read, paths: [path(of: request.structuredQuery, below: request.parent)])
    case let request as Google_Firestore_V1_RunAggregationQueryRequest:
      let query = request.structuredAggregationQuery.structuredQuery
      return RequestContents(kind: .read, paths: [path(of: query, below: request.parent)])
    default:
      return nil
    }
  }

  private static func of(writes: [Google_Firestore_V1_Write]) -> RequestContents? {
    guard !writes.isEmpty else { return nil }
    let writes = writes.compactMap(write)
    return RequestContents(kind: .write, paths: writes.map(\.documentPath), writes: writes)
  }

  private static func paths(of target: Google_Firestore_V1_Target) -> [String] {
    switch target.targetType {
    case .documents(let documents): documents.documents.map(path)
    case .query(let query): [path(of: query.structuredQuery, below: query.parent)]
    case nil: []
    }
  }

  private static func write(_ write: Google_Firestore_V1_Write) -> ReceivedWrite? {
    switch write.operation {
    case .update(let document):
      guard let name = documentName(document) else { return nil }
      return ReceivedWrite(documentPath: path(name), kind: write.hasUpdateMask ? .update : .set)
    case .delete(let name): return ReceivedWrite(documentPath: path(name), kind: .delete)
    case .transform(let transform): return ReceivedWrite(documentPath: path(transform.document), kind: .update)
    case .verify, nil: return nil
    }
  }

  /// The name in the bytes of a document, whose other fields are skipped.
  private static func documentName(_ document: Data) -> String? {
    (try? Google_Firestore_V1_Document(serializedBytes: document))?.name
  }

  /// `projects/p/databases/d/documents/cities/SF` is `cities/SF`.
  private static func path(_ name: String) -> String {
    name.split(separator: "/", omittingEmptySubsequences: false).dropFirst(5).joined(separator: "/")
  }

  private static func path(of query: Google_Firestore_V1_StructuredQuery, below parent: String) -> String {
    let collection = query.from.first?.collectionID ?? ""
    let parent = path(parent)
    return parent.isEmpty ? collection : "\(parent)/\(collection)"
  }
}
