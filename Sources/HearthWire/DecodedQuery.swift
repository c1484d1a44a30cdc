package import HearthModel

/// A structured query in terms of the model, with the parts that only single reads have.
package struct DecodedQuery: Sendable {
  /// The query itself; its limit counts from the start.
  package var query: Query
  /// True if the query, which is for all collections, means only those directly below its path.
  package var isShallow = false
  /// The number of results to skip.
  package var offset: Int
  /// The fields that the answer contains, or `nil` for all. `[FieldPath.documentKey]` requests the documents' names alone.
  package var projection: [FieldPath]?
  /// The vector search that ranks the results, as received.
  package var findNearest: Google_Firestore_V1_StructuredQuery.FindNearest?

  package init(
    query: Query, isShallow: Bool = false, offset: Int = 0, projection: [FieldPath]? = nil,
    findNearest: Google_Firestore_V1_StructuredQuery.FindNearest? = nil
  ) {
    self.query = query
    self.isShallow = isShallow
    self.offset = offset
    self.projection = projection
    self.findNearest = findNearest
  }
}
