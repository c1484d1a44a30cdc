internal import HearthModel

/// A document that no cursor can be made of. Its data come from the network and the cache, so this is no programming error.
struct UnusableCursor: Error {
  let message: String

  init(_ message: String) {
    self.message = message
  }
}

extension QueryBuilder {
  /// A cursor of values for the query's first orders.
  static func bound(
    _ query: HearthModel.Query, _ edge: Edge, values: [Any], isInclusive: Bool, databaseID: DatabaseID
  ) throws(ProgrammingError) -> HearthModel.Query {
    let orders = query.explicitOrders
    guard values.count <= orders.count else {
      throw ProgrammingError(
        "Invalid query. You are trying to start or end a query using more values than were specified in the order by.")
    }
    var position: [Value] = []
    for (value, order) in zip(values, orders) {
      let parsed = try UserDataReader.parseArgument(value)
      try UserDataReader.checkReferences(in: parsed, databaseID: databaseID)
      position.append(order.path.isDocumentKey ? try cursorID(parsed, query, databaseID) : parsed)
    }
    return set(Bound(position: position, isInclusive: isInclusive), edge, query)
  }

  private static func cursorID(
    _ value: Value, _ query: HearthModel.Query, _ databaseID: DatabaseID
  ) throws(ProgrammingError) -> Value {
    guard case .string(let id) = value else {
      throw ProgrammingError("Invalid query. Expected a string for the document ID.")
    }
    guard query.isCollectionGroupQuery || !id.contains("/") else {
      throw ProgrammingError(
        """
        Invalid query. When querying a collection and ordering by document ID, you must pass a plain document ID, but \
        '\(id)' contains a slash.
        """)
    }
    let path = query.path.appending(try PathParser.path(id))
    let key = try key(path) {
      """
      Invalid query. When querying a collection group and ordering by document ID, you must pass a value that results in \
      a valid document path, but '\(path.canonicalString)' is not because it contains an odd number of segments.
      """
    }
    return .reference(ReferenceValue(database: databaseID, key: key))
  }

  /// A cursor at a document: exact, because it has the values of all orders including the implicit ones and the id.
  static func bound(
    _ query: HearthModel.Query, _ edge: Edge, document: Document?, isInclusive: Bool, databaseID: DatabaseID
  ) throws(UnusableCursor) -> HearthModel.Query {
    guard let document else {
      throw UnusableCursor(
        "Invalid query. You are trying to start or end a query using a document that doesn't exist.")
    }
    var position: [Value] = []
    for order in query.orders {
      if order.path.isDocumentKey {
        position.append(.reference(ReferenceValue(database: databaseID, key: document.key)))
      } else {
        position.append(try value(of: order.path, in: document))
      }
    }
    return set(Bound(position: position, isInclusive: isInclusive), edge, query)
  }

  private static func value(
    of path: HearthModel.FieldPath, in document: Document
  ) throws(UnusableCursor) -> Value {
    let value: Value?
    do {
      value = try document.fields.value(at: path)
    } catch {
      throw UnusableCursor("Invalid query. The fields of document \(document.key) cannot be read: \(error)")
    }
    switch value {
    case nil:
      throw UnusableCursor(
        """
        Invalid query. You are trying to start or end a query using a document for which the field \
        '\(path.canonicalString)' (used as the order by) does not exist.
        """)
    case .pendingServerTimestamp?:
      throw UnusableCursor(
        """
        Invalid query. You are trying to start or end a query using a document for which the field \
        '\(path.canonicalString)' is an uncommitted server timestamp. (Since the value of this field is unknown, you \
        cannot start/end a query with it.)
        """)
    case let value?:
      return value
    }
  }

  private static func set(_ bound: Bound, _ edge: Edge, _ query: HearthModel.Query) -> HearthModel.Query {
    var query = query
    switch edge {
    case .start: query.startAt = bound
    case .end: query.endAt = bound
    }
    return query
  }
}
