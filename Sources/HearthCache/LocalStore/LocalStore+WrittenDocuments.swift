package import HearthModel

/// A document that the active user may have written.
package struct WrittenDocument: Sendable {
  /// True while a write to it has no outcome that the backend's last snapshot would show: it is pending, or was acknowledged since.
  package var awaitsOutcome: Bool
  /// The document as that snapshot has it; nil if that is not known, or there is none.
  package var confirmed: Document?

  package init(awaitsOutcome: Bool, confirmed: Document?) {
    self.awaitsOutcome = awaitsOutcome
    self.confirmed = confirmed
  }
}

extension LocalStore {
  /// Reads documents as the backend's last snapshot has them, and whether writes to them have an outcome there.
  package func writtenDocuments(among keys: Set<DocumentKey>) throws -> [DocumentKey: WrittenDocument] {
    try read("Synchronize views") {
      let remote = try localDocuments.remoteDocuments(for: keys)
      let local = try localDocuments.overlaid(remote, user: userRow())
      let version = try globals.lastRemoteSnapshotVersion()
      return remote.mapValues { document in
        let isNewer = document.hasCommittedMutations && document.version > version
        let isPending = local[document.key]?.document.hasLocalMutations ?? false
        return WrittenDocument(
          awaitsOutcome: isNewer || isPending, confirmed: isNewer || !document.isFound ? nil : document)
      }
    }
  }
}
