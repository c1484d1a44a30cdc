package import HearthModel
internal import SwiftProtobuf

extension WireTranslator {
  /// Encodes the target of a Listen request: one document by its name, or a query.
  package func encode(_ target: HearthModel.Target) -> Google_Firestore_V1_Target.OneOf_TargetType {
    if target.isDocumentTarget {
      var documents = Google_Firestore_V1_Target.DocumentsTarget()
      documents.documents = [database.name(of: target.path)]
      return .documents(documents)
    }
    let (parent, structuredQuery) = structuredQuery(target)
    var query = Google_Firestore_V1_Target.QueryTarget()
    query.parent = parent
    query.structuredQuery = structuredQuery
    return .query(query)
  }

  /// The documents of a documents target, each once, in the order of the message.
  package func decode(
    _ message: Google_Firestore_V1_Target.DocumentsTarget
  ) throws(WireError) -> [DocumentKey] {
    guard !message.documents.isEmpty else {
      throw WireError(field: "documents.documents", message: "no document is named")
    }
    var keys: [DocumentKey] = []
    var seen: Set<DocumentKey> = []
    for (index, name) in message.documents.enumerated() {
      let key = try key(fromName: name, at: "documents.documents[\(index)]")
      if seen.insert(key).inserted {
        keys.append(key)
      }
    }
    return keys
  }

  /// The query of a query target.
  package func decode(_ message: Google_Firestore_V1_Target.QueryTarget) throws(WireError) -> DecodedQuery {
    guard case .structuredQuery(let query)? = message.queryType else {
      throw WireError(field: "query_type", message: "no structured query is set")
    }
    return try decode(parent: message.parent, query: query)
  }
}
