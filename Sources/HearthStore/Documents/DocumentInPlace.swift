package import HearthModel

/// An existing document that is read where it lies: in a row that a database has returned. It is valid only during the call that passes it.
package protocol DocumentInPlace {
  /// Calls `body` with the fields in place. Malformed fields that `body` reads are reported as a corrupt database that names the document.
  func withFields<R>(_ body: (EncodedFieldsView) throws -> R) throws -> R

  /// A copy that outlives the call. The fields are checked to be well formed as a whole.
  func document(key: DocumentKey) throws -> Document
}

extension StoredDocument: DocumentInPlace {
  package func document(key: DocumentKey) throws(StoreError) -> Document { try document(key: key, withFields: true) }
}
