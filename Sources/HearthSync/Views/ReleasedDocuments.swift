internal import HearthModel

/// The documents of a view that are shown unchanged, although they have the outcome of a write that the backend has not sent yet.
///
/// | event | a released document | a document that has lost a write |
/// |---|---|---|
/// | a change is shown | no longer released | no longer released, if it was part of the change |
/// | the backend is not reached | - | counts as released |
struct ReleasedDocuments {
  private var released: Set<DocumentKey> = []
  /// The documents from which a write has gone. They are held back for the backend all the same, as long as that is heard of.
  private(set) var keysReverted: Set<DocumentKey> = []

  /// The next change shows these documents.
  mutating func release(_ keys: Set<DocumentKey>) { released.formUnion(keys) }

  /// A write has gone from documents, which are held back.
  mutating func noteReverted(_ keys: Set<DocumentKey>) { keysReverted.formUnion(keys) }

  /// - Parameter isHeard: True if the backend is heard of.
  func contains(_ key: DocumentKey, isHeard: Bool) -> Bool {
    released.contains(key) || (!isHeard && keysReverted.contains(key))
  }

  /// A change was shown.
  mutating func changed(_ keys: some Sequence<DocumentKey>) {
    released = []
    if !keysReverted.isEmpty { keysReverted.subtract(keys) }
  }
}
