internal import HearthModel

/// Tests stored documents against a query where they lie.
///
/// Conditions that do not look at the key are tested first, so that no key is built for a document that fails them.
struct InPlaceFilter {
  private let query: Query
  private let fieldFilters: [Filter]
  /// Stands for the key where nothing depends on it.
  private let anyKey: DocumentKey?

  init(_ query: Query) {
    self.query = query
    anyKey = try? DocumentKey(ResourcePath(["collection", "document"]))
    fieldFilters = query.filters.filter { !$0.flattened.contains(where: \.path.isDocumentKey) }
  }

  /// The key of a document that exists and matches; nil for any other.
  func matchingKey(of stored: StoredDocument) throws -> DocumentKey? {
    guard try stored.kind == .found else { return nil }
    return try stored.withFields { fields in
      if let anyKey {
        for filter in fieldFilters where try !filter.matches(key: anyKey, fields: fields) { return nil }
      }
      let key = try stored.key
      return try query.matches(key: key, fields: fields) ? key : nil
    }
  }
}
