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

  /// The key of a document that exists, matches and is not beyond the edge of what the limit lets through; nil for any
  /// other.
  ///
  /// - Parameter edge: the outermost of as many matching documents as the limit allows, nil when there are fewer.
  func matchingKey(of stored: StoredDocument, inside edge: Document?) throws -> DocumentKey? {
    guard try stored.kind == .found else { return nil }
    return try stored.withFields { fields in
      if let anyKey {
        for filter in fieldFilters where try !filter.matches(key: anyKey, fields: fields) { return nil }
      }
      let key = try stored.key
      if let edge {
        let inward: Ordering = query.limitType == .first ? .ascending : .descending
        guard try query.compare(key: key, fields: fields, to: edge) == inward else { return nil }
      }
      return try query.matches(key: key, fields: fields) ? key : nil
    }
  }
}
