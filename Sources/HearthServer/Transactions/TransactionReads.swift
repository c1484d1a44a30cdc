internal import HearthModel

/// The documents and queries that a transaction has read, at one version. The commit fails if their results have changed since.
struct TransactionReads: Sendable, Equatable {
  var version: SnapshotVersion
  var keys: Set<DocumentKey> = []
  var queries: [Query] = []

  init(version: SnapshotVersion) {
    self.version = version
  }
}
