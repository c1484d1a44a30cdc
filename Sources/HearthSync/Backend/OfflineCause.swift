/// A reason to keep streams to the backend closed.
enum OfflineCause: Hashable {
  case notStarted
  /// Another client of the cache holds the lease: it has the streams for all.
  case secondary
  case disabledByUser
  case credentialChange
  case connectivityChange
  /// The cache does not start, or does not take an answer to a write. Listeners must not see what comes after it.
  case storageFailure
  /// The cache does not take snapshots. Writes and their answers go on.
  case snapshotFailure
  /// The next batch cannot be read. Listeners go on, and so do the answers to what was sent.
  case outboxFailure
  /// The client ends as soon as the backend has answered what was sent.
  case ending
  case shutdown
}
