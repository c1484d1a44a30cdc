package import HearthModel

/// A pending write that the file no longer holds as it was written.
package struct UnreadableBatch: Sendable {
  package var batchID: BatchID
  package var reason: String
  /// The number of the user's row.
  var user: Int64
  var keys: [DocumentKey]
}
