package import HearthModel
internal import HearthStore

/// A pending write that the file no longer holds as it was written.
package struct UnreadableBatch: Sendable {
  package var batchID: BatchID
  package var reason: String
  /// The number of the user's row.
  var user: Int64
  var keys: [DocumentKey]
}

/// Where the bytes of batches lie that could not be read, for whoever can make something of them.
enum UnreadableBatches {
  static let schema = Schema(
    component: "unreadable batches",
    migrations: [
      Migration(
        version: 1, name: "unreadable batches",
        statements: [
          """
          CREATE TABLE cache_unreadable_batches (
            batch_id INTEGER PRIMARY KEY,
            user_id INTEGER NOT NULL,
            batch BLOB,
            reason TEXT NOT NULL
          )
          """
        ])
    ],
    probes: ["SELECT batch_id, user_id, batch, reason FROM cache_unreadable_batches"])
}
