package import HearthModel

/// The documents and queries that a transaction has read, at one version. The commit fails if their results changed since.
package struct TransactionReads: Sendable, Equatable {
  package var version: SnapshotVersion
  package var keys: Set<DocumentKey> = []
  package var queries: [Query] = []

  package init(version: SnapshotVersion) {
    self.version = version
  }
}
