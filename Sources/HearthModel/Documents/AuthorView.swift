/// A document as the author of a pending write saw it, if at least two others of the document were pending then.
package struct AuthorView: Equatable, Sendable {
  /// Nil if the author saw what the writes before it make of their base.
  package var document: Document?
  /// The version of the backend's document when the write was stored.
  package var remoteVersion: SnapshotVersion
  /// True if the author had not seen the write before it.
  package var isApart: Bool

  package init(_ document: Document?, remoteVersion: SnapshotVersion, isApart: Bool = false) {
    self.document = document
    self.remoteVersion = remoteVersion
    self.isApart = isApart
  }

  /// Returns the part of a document that is stored.
  package static func stored(_ document: Document) -> Document {
    if document.isFound { return .found(document.key, version: .none, fields: document.fields) }
    return document.isMissing ? .missing(document.key, version: .none) : .unknown(document.key)
  }
}
