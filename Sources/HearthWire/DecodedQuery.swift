package import HearthModel

/// A structured query in terms of the model, with the parts that only single reads have.
package struct DecodedQuery: Sendable {
  /// The query itself; its limit counts from the start.
  package var query: Query
  /// The number of results to skip.
  package var offset: Int
  /// The fields that the answer is to hold, or `nil` for all. The documents' names alone are asked for by
  /// `[FieldPath.documentKey]`.
  package var projection: [FieldPath]?
  /// The vector search that ranks the results, as it came.
  package var findNearest: Google_Firestore_V1_StructuredQuery.FindNearest?
}
