package import HearthModel

/// What a transaction has read, and when: the commit fails if any of it has changed since.
package struct TransactionReads: Sendable, Equatable {
  package var version: SnapshotVersion
  package var keys: Set<DocumentKey> = []
  package var queries: [Query] = []

  package init(version: SnapshotVersion) {
    self.version = version
  }
}
