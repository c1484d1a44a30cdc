internal import HearthModel

/// A piece of a query's result.
struct QueryPage: Sendable {
  var answer: QueryAnswer
  /// Where the next piece begins; nil for the last one.
  var next: QueryCursor?
}

/// A position in a query's result, after a piece of it. Only the storage that created it can read it; other code passes it on.
struct QueryCursor: Sendable {
  /// A value of a type that the storage knows.
  let position: any Sendable
}

extension StatusError {
  /// The error of a storage that is given a position which it has not made.
  static var foreignCursor: StatusError {
    StatusError(code: .internal, message: "The position in a result is not one of this database's storage.")
  }
}

extension Bound {
  /// The position behind a document of a result.
  init(after document: Document, of query: Query, in database: DatabaseID) throws {
    let position = try query.orders.map { order in
      if order.path.isDocumentKey { return Value.reference(ReferenceValue(database: database, key: document.key)) }
      return try document.fields.value(at: order.path) ?? .null
    }
    self.init(position: position, isInclusive: false)
  }
}
