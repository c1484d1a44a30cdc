import Foundation
import HearthModel

// The corpus's encodings of what steps and expectations share.

extension JSON {
  func documentKey() throws -> DocumentKey { try DocumentKey(parsing: string()) }

  func version() throws -> SnapshotVersion { SnapshotVersion(microseconds: try integer()) }

  func targetID() throws -> TargetID {
    guard let id = TargetID(exactly: try integer()) else { throw SpecFailure("\(self) is not a target id") }
    return id
  }

  func targetIDs() throws -> [TargetID] { try array().map { try $0.targetID() } }

  func statusError() throws -> StatusError {
    guard let code = try self["code"]?.integer(), let status = StatusCode(rawValue: Int(code)) else {
      throw SpecFailure("\(self) is not an error")
    }
    return StatusError(code: status, message: try self["message"]?.string() ?? "made by the test")
  }

  func value() throws -> Value {
    switch self {
    case .null: .null
    case .bool(let value): .boolean(value)
    case .integer(let value): .integer(value)
    case .double(let value): .double(value)
    case .string(let value): .string(value)
    case .array(let values): .array(try values.map { try $0.value() })
    case .object: .map(try mapValue())
    }
  }

  func mapValue() throws -> MapValue { MapValue(try object().mapValues { try $0.value() }) }

  /// - Parameter isFromBackend: documents of the backend carry no pending state, whatever the data says.
  func document(isFromBackend: Bool = false) throws -> Document {
    guard let key = try self["key"]?.documentKey() else { throw SpecFailure("\(self) is not a document") }
    let version = try self["version"]?.version() ?? .none
    guard let fields = self["value"] else { return .missing(key, version: version) }
    var document = Document.found(key, version: version, fields: EncodedFields(try fields.mapValue()))
    if !isFromBackend, let options = self["options"] {
      if try options["hasLocalMutations"]?.bool() == true { document.mutationState = .hasLocalMutations }
      if try options["hasCommittedMutations"]?.bool() == true { document.mutationState = .hasCommittedMutations }
    }
    return document
  }

  /// Nil for a filter that could not have been sent: its bits are not base64.
  func bloomFilter() throws -> BloomFilterData? {
    let bits = self["bits"]
    guard let bitmap = Data(base64Encoded: try bits?["bitmap"]?.string() ?? "") else { return nil }
    return BloomFilterData(
      bitmap: Array(bitmap), padding: Int(try bits?["padding"]?.integer() ?? 0),
      hashCount: Int(try self["hashCount"]?.integer() ?? 0))
  }

  func query() throws -> Query {
    if case .string(let path) = self { return Query(path: try ResourcePath(parsing: path)) }
    guard let path = try self["path"]?.string() else { throw SpecFailure("\(self) is not a query") }
    var query = Query(
      path: path.isEmpty ? ResourcePath() : try ResourcePath(parsing: path),
      collectionGroup: try self["collectionGroup"]?.string())
    for filter in try self["filters"]?.array() ?? [] { query = query.with(filter: try filter.filter()) }
    for order in try self["orderBys"]?.array() ?? [] { query = query.with(order: try order.order()) }
    if let limit = try self["limit"]?.integer() {
      let isLast = try self["limitType"]?.string() == "LimitToLast"
      query = query.with(limit: Int(limit), type: isLast ? .last : .first)
    }
    return query
  }

  private func filter() throws -> Filter {
    let parts = try array(count: 3)
    let name = try parts[1].string()
    guard let op = Self.operators[name] else { throw SpecFailure("unknown operator \"\(name)\"") }
    return .field(try FieldPath(parsingUserFormat: parts[0].string()), op, try parts[2].value())
  }

  private func order() throws -> OrderBy {
    let parts = try array(count: 2)
    let direction = try parts[1].string()
    guard direction == "asc" || direction == "desc" else { throw SpecFailure("unknown direction \"\(direction)\"") }
    return OrderBy(
      path: try FieldPath(parsingUserFormat: parts[0].string()),
      direction: direction == "asc" ? .ascending : .descending)
  }

  private static let operators: [String: FieldFilter.Operator] = [
    "<": .lessThan, "<=": .lessThanOrEqual, "==": .equal, "!=": .notEqual, ">": .greaterThan,
    ">=": .greaterThanOrEqual, "array-contains": .arrayContains, "array-contains-any": .arrayContainsAny, "in": .in,
    "not-in": .notIn,
  ]
}

// MARK: - Indexes

extension JSON {
  /// The indexes of a configuration in the format of index files.
  func indexDefinitions() throws -> [IndexDefinition] {
    try (self["indexes"]?.array() ?? []).map { index in
      try index.indexDefinition { field in
        let path = try FieldPath(parsingUserFormat: field["fieldPath"]?.string() ?? "")
        if field["arrayConfig"] != nil { return IndexDefinition.Field(path: path, kind: .contains) }
        return IndexDefinition.Field(
          path: path, kind: try field["order"]?.string() == "DESCENDING" ? .descending : .ascending)
      }
    }
  }

  /// An index as an expectation has it.
  func storedIndexDefinition() throws -> IndexDefinition {
    try indexDefinition { field in
      let path = try FieldPath(field["fieldPath"]?["segments"]?.strings() ?? [])
      let kinds: [IndexDefinition.Kind] = [.ascending, .descending, .contains]
      let number = Int(try field["kind"]?.integer() ?? -1)
      guard kinds.indices.contains(number) else { throw SpecFailure("\(number) is no kind of an index field") }
      return IndexDefinition.Field(path: path, kind: kinds[number])
    }
  }

  private func indexDefinition(_ field: (JSON) throws -> IndexDefinition.Field) throws -> IndexDefinition {
    try IndexDefinition(
      collectionGroup: self["collectionGroup"]?.string() ?? "", fields: (self["fields"]?.array() ?? []).map(field))
  }
}
