package import HearthModel

/// A pending write whose contents in the file are damaged.
package struct UnreadableBatch: Sendable {
  package var batchID: BatchID
  package var reason: String
  /// The number of the user's row.
  var user: Int64
  var keys: [DocumentKey]
}
