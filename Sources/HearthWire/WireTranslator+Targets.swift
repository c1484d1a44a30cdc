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

  /// Decodes the target of `type`.
  ///
  /// - Throws: a ``WireError`` when several documents are named (see ``decode(_:)-(Google_Firestore_V1_Target.DocumentsTarget)``
  ///   for those), or the query is malformed or has parts that a listener cannot have.
  package func decode(
    target type: Google_Firestore_V1_Target.OneOf_TargetType
  ) throws(WireError) -> HearthModel.Target {
    switch type {
    case .documents(let documents):
      let keys = try decode(documents)
      guard let key = keys.first, keys.count == 1 else {
        throw WireError(
          field: "documents.documents", message: "\(keys.count) documents are named where one is expected")
      }
      return Query(path: key.path).target
    case .query(let query):
      return try at("query") {
        let decoded = try decode(query)
        guard decoded.offset == 0 else {
          throw WireError(field: "structured_query.offset", message: "a listener cannot skip documents")
        }
        guard decoded.findNearest == nil else {
          throw WireError(field: "structured_query.find_nearest", message: "a listener cannot search vectors")
        }
        return decoded.query.target
      }
    }
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
