package import HearthModel

/// Translates between the messages of `google.firestore.v1` and the model, for one database.
///
/// Encoding cannot fail. Decoding throws a ``WireError`` for all invalid input, and never traps. It makes no decisions: checks that depend
/// on stored data, on permissions or on quotas belong to the modules above.
///
/// Client and server use the same translator. It covers the directions that they need: a request that the server reads field by field is
/// only encoded here.
package struct WireTranslator: Sendable {
  /// The database of the documents that the messages name. Names of other databases are refused, except in reference values, which may
  /// point anywhere.
  package let database: DatabaseID

  package init(database: DatabaseID) {
    self.database = database
  }

  /// The key of the document with the resource name `name`, which must be in this database.
  func key(fromName name: String, at field: String) throws(WireError) -> DocumentKey {
    try at(field) { try database.key(fromName: name) }
  }
}
