internal import Synchronization

/// The part that the calls of one connection have of what all connections share.
final class ConnectionShare: Sendable {
  /// Bytes of the requests in progress, kept by ``RequestBudget``.
  let requestBytes = Atomic(0)
}
