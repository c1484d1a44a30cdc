/// A document under a rule for conflicts as the author of a write saw it, who wrote while the file could not be written.
package enum SeenDocument: Equatable, Sendable {
  /// It is not known: the file could not be read either, or an earlier write of the document waited as well.
  case unread
  /// The document with its author's pending writes; unknown if the cache did not have it. The version is that of the backend's document below
  /// these writes.
  case read(Document, remoteVersion: SnapshotVersion)
}
