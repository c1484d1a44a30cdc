internal import HearthModel

/// The documents whose changes are requested.
enum ChangeScope: Hashable, Sendable {
  /// All documents of some collections.
  case collections(CollectionScope)
  /// These documents.
  case documents(Set<DocumentKey>)

  /// Covers every document that can be in the result of a query.
  init(of query: Query) {
    self = if let key = query.documentKey { .documents([key]) } else { .collections(CollectionScope(of: query)) }
  }

  func contains(_ key: DocumentKey) -> Bool {
    switch self {
    case .collections(let scope): scope.contains(key)
    case .documents(let keys): keys.contains(key)
    }
  }
}
