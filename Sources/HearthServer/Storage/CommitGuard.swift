internal import HearthModel

/// Decides inside the transaction of a commit whether its caller may make it.
protocol CommitGuard: Sendable {
  /// The guard for one attempt to carry the request out, in which it may be asked several times. A request that has waited for locks is
  /// attempted again.
  ///
  /// - Throws: A status if the caller may not make it any more.
  func inOneAttempt() throws(StatusError) -> Self

  /// - Parameters:
  ///   - writes: The documents that the request writes or verifies, each once, in the order of their first write.
  ///   - time: The time of the commit.
  ///   - stored: Reads another document as it is before the commit.
  /// - Throws: PERMISSION_DENIED; what `stored` throws.
  func check(
    _ writes: [GuardedWrite], at time: Timestamp, stored: (DocumentKey) throws -> Document
  ) throws
}

/// A document that a request writes, before and after all of its writes.
struct GuardedWrite: Sendable {
  var transition: DocumentTransition
  /// True if the request only demands that it has not changed.
  var isOnlyVerified: Bool
}
