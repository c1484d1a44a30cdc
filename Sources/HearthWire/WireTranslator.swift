package import HearthModel

/// Translates between the messages of `google.firestore.v1` and the model, for one database.
///
/// Encoding cannot fail. Decoding throws a ``WireError`` for all invalid input, and never traps. Nothing is decided here: checks that
/// depend on stored data, on permissions or on quotas belong to the modules above.
///
/// Client and server use the same translator, so each message can be read and written.
package struct WireTranslator: Sendable {
  /// The database of the documents that the messages name. Names of other databases are refused, except in reference values, which may
  /// point anywhere.
  package let database: DatabaseID

  package init(database: DatabaseID) {
    self.database = database
  }

  /// Checks the `database` field of a request.
  ///
  /// - Throws: a ``WireError`` when the field is empty, malformed or names another database.
  package func checkDatabase(_ name: String, at field: String) throws(WireError) {
    guard name == database.resourceName else {
      throw WireError(
        field: field,
        message: name.isEmpty
          ? "the database's name is missing (expected \"\(database.resourceName)\")"
          : "\"\(name)\" is not this database, \"\(database.resourceName)\"")
    }
  }

  /// The key of the document with the resource name `name`, which must be in this database.
  package func key(fromName name: String, at field: String) throws(WireError) -> DocumentKey {
    try at(field) { try database.key(fromName: name) }
  }
}
