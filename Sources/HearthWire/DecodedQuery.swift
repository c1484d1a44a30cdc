package import HearthModel

/// A structured query in terms of the model, with the parts that only single reads have.
package struct DecodedQuery: Sendable {
  /// The query itself; its limit counts from the start.
  package var query: Query
  /// The number of results to skip.
  package var offset: Int
  /// The fields that the answer contains, or `nil` for all. `[FieldPath.documentKey]` requests the documents' names alone.
  package var projection: [FieldPath]?
  /// The vector search that ranks the results, as received.
  package var findNearest: Google_Firestore_V1_StructuredQuery.FindNearest?
}
