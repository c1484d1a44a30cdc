/// The collections that a query looks into.
package enum CollectionScope: Hashable, Sendable {
  /// One collection, without the subcollections of its documents.
  case collection(ResourcePath)
  /// All collections with this id whose path begins with `under`; the empty path means the whole database.
  case group(String, under: ResourcePath)
  /// All collections whose path begins with `under`; the empty path means the whole database.
  case everything(under: ResourcePath)

  /// The scope of a query that is not for a single document.
  package init(of query: Query) {
    if let group = query.collectionGroup {
      self = group.isEmpty ? .everything(under: query.path) : .group(group, under: query.path)
    } else {
      self = .collection(query.path)
    }
  }

  /// Returns whether a document with this key lies in one of the collections.
  package func contains(_ key: DocumentKey) -> Bool {
    switch self {
    case .collection(let path): path == key.collectionPath
    case .group(let id, let path):
      key.collectionGroup.utf8.elementsEqual(id.utf8) && path.isPrefix(of: key.collectionPath)
    case .everything(let path):
      path.isPrefix(of: key.collectionPath)
    }
  }
}
