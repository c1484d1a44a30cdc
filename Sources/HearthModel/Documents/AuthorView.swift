/// A document as the author of a pending write saw it, where that is not what the writes before it make of their base.
package struct AuthorView: Equatable, Sendable {
  /// The document that the write is based on: it is in conflict with any other. Nil if it is what the writes before it make of their base.
  package var document: Document?
  /// As the author saw it, if that is not the document that the write is based on: a write before it has left the outbox since then, or others had
  /// when it was made.
  package var shown: Document?
  /// The version of the backend's document when the write was stored. Nil if what the pending writes show has changed since: then the next write
  /// is not based on the result of this one.
  package var remoteVersion: SnapshotVersion?
  /// True if the author had not seen the write before it.
  package var isApart: Bool

  package init(
    _ document: Document?, shown: Document? = nil, remoteVersion: SnapshotVersion?, isApart: Bool = false
  ) {
    self.document = document
    self.shown = shown
    self.remoteVersion = remoteVersion
    self.isApart = isApart
  }

  /// Returns the part of a document that is stored.
  package static func stored(_ document: Document) -> Document {
    if document.isFound { return .found(document.key, version: .none, fields: document.fields) }
    return document.isMissing ? .missing(document.key, version: .none) : .unknown(document.key)
  }
}
