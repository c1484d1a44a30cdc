package import HearthModel

/// A query as words of a command line.
package struct QueryText: Sendable {
  package var collection: String
  /// True for all collections of that id.
  package var isCollectionGroup = false
  /// Conditions such as `population >= 1000000`: a field, an operator and a value. All must hold.
  package var conditions: [String] = []
  /// Such as `name` or `population desc`.
  package var orders: [String] = []
  package var limit: Int?

  package init(collection: String) { self.collection = collection }

  private static let operators: [(text: String, op: FieldFilter.Operator)] = [
    ("==", .equal), ("!=", .notEqual), ("<", .lessThan), ("<=", .lessThanOrEqual), (">", .greaterThan),
    (">=", .greaterThanOrEqual), ("array-contains", .arrayContains), ("array-contains-any", .arrayContainsAny),
    ("in", .in), ("not-in", .notIn),
  ]

  /// - Throws: ``CacheInspectionError/invalid(_:)`` with the word that makes no sense.
  package func query() throws(CacheInspectionError) -> Query {
    var query = Query(path: ResourcePath())
    if isCollectionGroup {
      guard !collection.isEmpty, !collection.utf8.contains(UInt8(ascii: "/")) else {
        throw .invalid(
          "\"\(collection)\" is not the id of a collection: with --group, give the last part of the path alone.")
      }
      query.collectionGroup = collection
    } else {
      query.path = try Self.collectionPath(collection)
    }
    for condition in conditions { query = query.with(filter: try Self.filter(condition)) }
    for order in orders { query = query.with(order: try Self.order(order)) }
    if let limit {
      guard limit > 0 else { throw .invalid("A limit is at least 1; \(limit) is not.") }
      query = query.with(limit: limit)
    }
    return query
  }

  /// - Throws: ``CacheInspectionError/invalid(_:)`` for a text that is not the path of a collection.
  package static func collectionPath(_ text: String) throws(CacheInspectionError) -> ResourcePath {
    guard let path = try? ResourcePath(parsing: text), !path.count.isMultiple(of: 2) else {
      throw .invalid(
        "\"\(text)\" is not the path of a collection: that has an odd number of parts, such as cities or cities/SF/shops."
      )
    }
    return path
  }

  /// - Throws: ``CacheInspectionError/invalid(_:)`` for a text that is not the path of a document.
  package static func documentKey(_ text: String) throws(CacheInspectionError) -> DocumentKey {
    guard let key = try? DocumentKey(parsing: text) else {
      throw .invalid("\"\(text)\" is not the path of a document: that has an even number of parts, such as cities/SF.")
    }
    return key
  }

  private static func fieldPath(_ text: String) throws(CacheInspectionError) -> FieldPath {
    guard let path = try? FieldPath(parsingUserFormat: text) else {
      throw .invalid(
        "\"\(text)\" is not the name of a field: names are separated by single dots, such as address.city.")
    }
    return path
  }

  private static func filter(_ text: String) throws(CacheInspectionError) -> Filter {
    let words = text.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true)
    guard words.count == 3 else {
      throw .invalid("--where \"\(text)\": expected a field, an operator and a value, such as 'population >= 1000000'.")
    }
    guard let op = operators.first(where: { $0.text == words[1] })?.op else {
      let known = operators.map(\.text).joined(separator: ", ")
      throw .invalid("--where \"\(text)\": \"\(words[1])\" is not an operator. Use one of \(known).")
    }
    let path = try fieldPath(String(words[0]))
    guard !path.isDocumentKey else {
      throw .invalid(
        "--where \"\(text)\": conditions on document ids are not supported here. Use `hearth cache get` for a document."
      )
    }
    let value = try value(String(words[2]), in: text)
    if op == .in || op == .notIn || op == .arrayContainsAny {
      guard case .array(let elements) = value, !elements.isEmpty else {
        throw .invalid("--where \"\(text)\": \(words[1]) needs a list of values, such as '[\"CA\", \"NY\"]'.")
      }
    }
    return .field(path, op, value)
  }

  /// JSON, or else the text itself.
  private static func value(_ text: String, in condition: String) throws(CacheInspectionError) -> Value {
    let bytes = Array(text.utf8)
    if let json = try? JSONTextReader.read(bytes[...]) { return value(json) }
    guard let first = text.first, !"\"[{".contains(first) else {
      throw .invalid(
        "--where \"\(condition)\": the value is not complete JSON. Quote the condition for the shell, such as '\(condition)'."
      )
    }
    return .string(text)
  }

  private static func value(_ json: JSONText) -> Value {
    switch json {
    case .null: .null
    case .bool(let value): .boolean(value)
    case .number(let digits): Int64(digits).map { .integer($0) } ?? .double(Double(digits) ?? .nan)
    case .string(let text): .string(text)
    case .array(let elements): .array(elements.map { value($0) })
    case .object(let members): .map(MapValue(entries: members.map { ($0.name, value($0.value)) }))
    }
  }

  private static func order(_ text: String) throws(CacheInspectionError) -> OrderBy {
    let words = text.split(separator: " ", omittingEmptySubsequences: true)
    let directions: [Substring: OrderBy.Direction] = ["asc": .ascending, "desc": .descending]
    guard let field = words.first, words.count <= 2, let direction = directions[words.count == 2 ? words[1] : "asc"]
    else {
      throw .invalid("--order \"\(text)\": expected a field, and asc or desc, such as 'population desc'.")
    }
    return OrderBy(path: try fieldPath(String(field)), direction: direction)
  }
}
