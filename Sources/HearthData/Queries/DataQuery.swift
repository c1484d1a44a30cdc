package import HearthModel

/// A query as words of a command line.
package struct DataQuery: Sendable {
  /// The path of a collection, or with ``isCollectionGroup`` its id.
  package var collection: String
  package var isCollectionGroup = false
  /// Conditions such as `population >= 1000000`; all must hold.
  package var conditions: [String] = []
  /// Such as `name` or `population:desc`.
  package var orders: [String] = []
  package var limit: Int?
  /// Positions: a value of the first order, or an array with one for each order.
  package var startAt: String?
  package var startAfter: String?
  package var endAt: String?
  package var endBefore: String?
  /// Fields that a document must have to be counted, because they are aggregated. They are no part of ``query(in:)``.
  package var aggregatedFields: [String] = []

  package init(collection: String) { self.collection = collection }

  /// - Throws: A ``DataError`` that names the word that makes no sense, in any database.
  package func check() throws(DataError) {
    _ = try query(in: DatabaseID(projectID: "any"))
  }

  /// - Throws: A ``DataError`` that names the word that makes no sense.
  package func query(in database: DatabaseID) throws(DataError) -> Query {
    var query = Query(path: ResourcePath())
    if isCollectionGroup {
      guard !collection.isEmpty, !collection.utf8.contains(UInt8(ascii: "/")) else {
        throw .argument(
          "\"\(collection)\" is not the id of a collection: with --collection-group, give the last part of the path alone."
        )
      }
      query.collectionGroup = collection
    } else {
      query.path = try DataPath.collection(collection)
    }
    for condition in conditions { query = query.with(filter: try filter(condition, query.path, database)) }
    for order in orders { query = query.with(order: try OrderText.order(order)) }
    if let limit {
      guard limit > 0 else { throw .argument("--limit \(limit): a limit is at least 1.") }
      query = query.with(limit: limit)
    }
    guard startAt == nil || startAfter == nil else {
      throw .argument("--start-at and --start-after exclude each other.")
    }
    guard endAt == nil || endBefore == nil else { throw .argument("--end-at and --end-before exclude each other.") }
    query.startAt = try bound(
      startAt ?? startAfter, startAt == nil ? "--start-after" : "--start-at", startAt != nil, query, database)
    query.endAt = try bound(
      endAt ?? endBefore, endAt == nil ? "--end-before" : "--end-at", endAt != nil, query, database)
    return query
  }

  // MARK: - Conditions

  private func filter(
    _ text: String, _ collection: ResourcePath, _ database: DatabaseID
  ) throws(DataError) -> Filter {
    let condition = try ConditionText(parsing: text)
    let place = "--where \"\(text)\""
    let path = try FieldText.path(condition.field, at: place)
    var value = try OperandText.value(condition.value, at: place, after: condition.start, database)
    if path.isDocumentKey { value = try key(value, below: collection, of: place, database) }
    if condition.op == .in || condition.op == .notIn || condition.op == .arrayContainsAny {
      guard case .array(let elements) = value, !elements.isEmpty else {
        let advice =
          condition.value.first == "["
          ? nil : RelaxedJSON.list(condition.value).map { ShellWord.quoted(condition.start + $0) }
        throw .argument(
          "\(place): this operator needs a list of values, such as '[\"CA\", \"NY\"]'.\(advice.map { " Write \($0)." } ?? "")"
        )
      }
    }
    return .field(path, condition.op, value)
  }

  /// The document that an id or a path names, as a condition on `__name__` needs it.
  private func key(
    _ value: Value, below collection: ResourcePath, of place: String, _ database: DatabaseID
  ) throws(DataError) -> Value {
    switch value {
    case .array(let elements):
      var keys: [Value] = []
      for element in elements { keys.append(try key(element, below: collection, of: place, database)) }
      return .array(keys)
    case .reference: return value
    case .integer(let number): return try key(.string(String(number)), below: collection, of: place, database)
    case .string(let text):
      let isID = !text.utf8.contains(UInt8(ascii: "/"))
      let path = isID && !isCollectionGroup ? collection.canonicalString + "/" + text : text
      guard let key = try? DocumentKey(parsing: path) else {
        throw .argument("\(place): \"\(text)\" names no document; give the path of one, such as cities/SF.")
      }
      return .reference(ReferenceValue(database: database, key: key))
    default: throw .argument("\(place): __name__ is compared with ids or paths of documents.")
    }
  }

  // MARK: - Positions

  private func bound(
    _ text: String?, _ option: String, _ isInclusive: Bool, _ query: Query, _ database: DatabaseID
  ) throws(DataError) -> Bound? {
    guard let text else { return nil }
    let place = "\(option) \"\(text)\""
    let value = try OperandText.value(text, at: place, database)
    var position = if case .array(let elements) = value { elements } else { [value] }
    if case .string = value, !text.hasPrefix("\""), query.explicitOrders.count > 1,
      text.split(separator: ",", omittingEmptySubsequences: false).count == query.explicitOrders.count,
      let list = RelaxedJSON.list(text)
    {
      throw .argument(
        "\(place): a position with a value for each order is a list in brackets. Write \(ShellWord.quoted(list)), or "
          + "\(ShellWord.quoted(JSONText.string(text).compact)) for one text.")
    }
    let advice =
      query.explicitOrders.isEmpty
      ? " Without --order-by a position is the id of a document, such as SF; for the value of a field, name that with --order-by."
      : ""
    guard !position.isEmpty, position.count <= query.orders.count else {
      throw .argument(
        "\(place): a position is a value of the first order, such as 5 or CA, or a list with one for each order, such as '[\"CA\", 5]'. The "
          + "orders are \(query.orders.map(\.path.canonicalString).joined(separator: ", ")).\(advice)")
    }
    for (index, order) in query.orders.enumerated() where order.path.isDocumentKey && index < position.count {
      do {
        position[index] = try key(position[index], below: query.path, of: place, database)
      } catch {
        throw .argument("\(error)\(advice)")
      }
    }
    return Bound(position: position, isInclusive: isInclusive)
  }
}
