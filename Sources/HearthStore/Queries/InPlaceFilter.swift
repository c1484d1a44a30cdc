internal import HearthModel

/// Tests stored documents against a query where they lie.
///
/// Conditions that do not look at the key are tested first, so that no key is built for a document that fails them. It is a class, because
/// a structure would be copied, with reference counting, for each document.
final class InPlaceFilter {
  private let query: Query
  /// Documents that have changed later are left out; nil for the present.
  private let version: SnapshotVersion?
  /// The conditions that do not look at the key; nil where there are none.
  let conditions: FieldConditions?
  private let database: Database
  private let comparisonCount: Int

  /// - Parameter database: The one that the documents are read from, which counts the work.
  init(_ query: Query, asOf version: SnapshotVersion? = nil, in database: Database) {
    self.query = query
    self.version = version
    self.database = database
    conditions = FieldConditions(query.filters)
    comparisonCount = query.comparisonCount
  }

  /// The key of a document that exists, matches and is not beyond the edge of what the limit lets through; nil for any
  /// other.
  ///
  /// - Parameter edge: the outermost of as many matching documents as the limit allows, nil when there are fewer.
  func matchingKey(of stored: StoredDocument, inside edge: Document?) throws -> DocumentKey? {
    try database.noteWork(bytes: stored.fieldBytes * comparisonCount)
    // First, because it says no for most documents of a scan. Those that do not exist have no fields, and fail too.
    if let conditions, try !stored.meets(conditions) { return nil }
    guard try stored.kind == .found else { return nil }
    if let version, try stored.version > version { return nil }
    let key = try stored.key
    return try stored.withFields { fields in
      if let edge, try !query.sorts(key: key, fields: fields, inside: edge) { return nil }
      return try query.matches(key: key, fields: fields) ? key : nil
    }
  }
}
