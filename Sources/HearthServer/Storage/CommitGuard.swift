internal import HearthModel

/// Decides inside the transaction of a commit whether its caller may make it.
protocol CommitGuard: Sendable {
  /// The guard for one attempt to carry the request out, in which it may be asked several times. A request that has waited for locks is
  /// attempted again.
  ///
  /// - Throws: A status if the caller may not make it any more.
  func inOneAttempt() throws(StatusError) -> Self

  /// Decides on the documents in their order. The first denial ends it: documents behind it are not looked at.
  ///
  /// - Parameters:
  ///   - writes: The documents that the request writes or verifies, each once, in the order of their first write. They are read when the guard
  ///     asks for them, so it does so only where its answer depends on them.
  ///   - time: The time of the commit.
  ///   - stored: Reads another document as it is before the commit.
  /// - Throws: PERMISSION_DENIED; what `stored` throws, and what the writes do.
  func check(
    _ writes: [any GuardedWrite], at time: Timestamp, stored: @escaping (DocumentKey) throws -> Document
  ) throws
}

/// A document that a request writes or verifies, before and after all of its writes. It is read, and the writes are evaluated, when the guard
/// asks for that.
protocol GuardedWrite {
  var key: DocumentKey { get }
  /// True if the request only demands that it has not changed.
  var isOnlyVerified: Bool { get }

  func isFoundBefore() throws -> Bool
  func isFoundAfter() throws -> Bool
  func before() throws -> Document
  /// - Throws: PERMISSION_DENIED if the writes cannot be evaluated for all that they would rewrite, INTERNAL for damaged fields.
  func after() throws -> Document

}
