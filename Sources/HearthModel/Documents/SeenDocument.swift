/// A document under a rule for conflicts as the author of a write saw it, who wrote while the file could not be written.
package enum SeenDocument: Equatable, Sendable {
  /// It is not known: the file could not be read either, or an earlier write of the document waited as well.
  case unread
  /// The document with its author's pending writes; unknown if the cache did not have it. The version is that of the backend's document below
  /// these writes, and the batch the last one of them; nil if none was pending.
  case read(Document, remoteVersion: SnapshotVersion, lastBatch: BatchID?)

  /// True if the author of the write had not seen a batch that was pending when the write was stored.
  package func isApart(from batch: BatchID) -> Bool {
    guard case .read(_, _, let last) = self else { return false }
    return last.map { batch > $0 } ?? true
  }
}
