package import HearthModel

/// A reason why no batch of the outbox is sent.
package enum OutboxObstacle: Equatable, Sendable {
  case networkDisabled
  /// The cache cannot be read or written.
  case cacheFailure
  /// The backend cannot be reached; with the last error, if it is known.
  case offline(StatusError?)
}

/// A conflict that the outbox waits for.
package struct OutboxConflict: Equatable, Sendable {
  package var batchID: BatchID
  /// The documents that are compared, in order.
  package var documents: [DocumentKey]
  /// The failure of the resolution; nil while it is under way.
  package var error: StatusError?
}

/// The condition for moving a batch out of the way that the backend refuses permanently for its size.
///
/// `RESOURCE_EXHAUSTED` is repeated, because it usually means a quota. A batch that is too large for a message gets it as well, and would
/// block every later batch.
package struct UndeliverableWritePolicy: Equatable, Sendable {
  /// After so many refusals in a row.
  package var afterRefusals: Int
  /// Only a batch of at least this size.
  package var largerThanBytes: Int

  package init(afterRefusals: Int, largerThanBytes: Int) {
    self.afterRefusals = afterRefusals
    self.largerThanBytes = largerThanBytes
  }
}
