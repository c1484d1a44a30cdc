/// A document under a rule for conflicts as the author of a write saw it, who wrote while the file could not be written.
package enum SeenDocument: Equatable, Sendable {
  /// The last write of the document that its author had seen.
  package enum LastWrite: Equatable, Sendable {
    case none
    /// It was pending.
    case pending(BatchID)
    /// The author's own, which waited as well.
    case waiting(BatchIdentity)
  }

  /// It is not known: the file could not be read either.
  case unread
  /// The document with its author's writes; unknown if the cache did not have it. The version is that of the backend's document below these
  /// writes.
  case read(Document, remoteVersion: SnapshotVersion, last: LastWrite)

  /// True if the author of the write had not seen a batch that was pending when the write was stored.
  package func isApart(from batch: BatchID, _ identity: BatchIdentity?) -> Bool {
    guard case .read(_, _, let last) = self else { return false }
    return switch last {
    case .none: true
    case .pending(let seen): batch > seen
    case .waiting(let seen): identity != seen
    }
  }
}
