/// The reason why an index configuration cannot be used, with its place.
package struct IndexConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
  package var description: String

  init(_ description: String) {
    self.description = description
  }

  init(place: String, _ problem: String) {
    description = "Invalid index configuration: \(place.isEmpty ? "the text" : place) \(problem)."
  }
}

/// The indexes of a configuration in the form of `firestore.indexes.json`, the file that the Firebase CLI exports and deploys.
///
/// ```json
/// {"indexes": [{"collectionGroup": "cities", "queryScope": "COLLECTION", "fields": [
///   {"fieldPath": "tags", "arrayConfig": "CONTAINS"}, {"fieldPath": "population", "order": "DESCENDING"}]}],
///  "fieldOverrides": []}
/// ```
///
/// As in the official SDKs, parts that do not apply to local indexes are skipped: `fieldOverrides` and unknown members.
package struct IndexConfiguration: Hashable, Sendable {
  package struct Entry: Hashable, Sendable {
    package var collectionGroup: String
    /// Taken from `queryScope`. Unknown values count as `COLLECTION`, because the official SDKs ignore the member.
    package var scope: IndexDefinition.Scope
    package var fields: [Field]

    package init(collectionGroup: String, scope: IndexDefinition.Scope = .collection, fields: [Field]) {
      self.collectionGroup = collectionGroup
      self.scope = scope
      self.fields = fields
    }
  }

  package struct Field: Hashable, Sendable {
    /// In the server's form: names separated by dots, in backticks where they are not plain identifiers.
    package var path: String
    package var kind: IndexDefinition.Kind

    /// The official SDKs' rule: `arrayConfig` takes precedence over `order`, and any order except ascending is descending.
    package init(path: String, order: String?, arrayConfig: String?) {
      self.path = path
      kind = arrayConfig == "CONTAINS" ? .contains : order == "ASCENDING" ? .ascending : .descending
    }
  }

  package var entries: [Entry]

  package init(entries: [Entry]) {
    self.entries = entries
  }

  /// The definitions in the order of the entries, equal ones once.
  ///
  /// A field `__name__`, which the CLI exports at the end, is not a field of the index but gives the direction in which entries with equal
  /// fields are ordered; fields after it cannot order anything and are left out. Without it that is the direction of the last field, as at
  /// the backend. An entry without fields serves no query and is left out.
  ///
  /// - Parameter scopes: False for indexes of single collections alone, which serve queries of the collection group too. In the official
  ///   SDKs, the scope of a local index says nothing.
  /// - Throws: ``IndexConfigurationError`` with the place of the first entry that is wrong.
  package func definitions(withScopes scopes: Bool = false) throws(IndexConfigurationError) -> [IndexDefinition] {
    var definitions: [IndexDefinition] = []
    var known: Set<IndexDefinition> = []
    for (number, entry) in entries.enumerated() {
      guard let definition = try definition(of: entry, at: "indexes[\(number)]", scopes) else { continue }
      if known.insert(definition).inserted { definitions.append(definition) }
    }
    return definitions
  }

  private func definition(
    of entry: Entry, at place: String, _ scopes: Bool
  ) throws(IndexConfigurationError) -> IndexDefinition? {
    var fields: [IndexDefinition.Field] = []
    for (number, field) in entry.fields.enumerated() {
      let path = try Self.checked(at: "\(place).fields[\(number)].fieldPath", field.path) { () throws(ModelError) in
        try FieldPath(parsingServerFormat: field.path)
      }
      fields.append(IndexDefinition.Field(path: path, kind: field.kind))
    }
    let definition = try Self.checked(at: place, entry.collectionGroup) { () throws(ModelError) in
      try IndexDefinition(
        collectionGroup: entry.collectionGroup, scope: scopes ? entry.scope : .collection, fields: fields)
    }
    return definition.fields.isEmpty ? nil : definition
  }

  /// Prefixes a broken rule with its place, and shortens the value for readers.
  private static func checked<T>(
    at place: String, _ value: String, _ body: () throws(ModelError) -> T
  ) throws(IndexConfigurationError) -> T {
    do throws(ModelError) {
      return try body()
    } catch {
      let text = value.count > 100 ? "\(value.prefix(100))…" : value
      switch error {
      case .invalidPath(_, let rule), .invalidFieldPath(_, let rule):
        throw IndexConfigurationError("Invalid index configuration: \(place) is wrong (\(text)). \(rule)")
      case .invalidDocumentPath, .invalidResourceName, .violatesServerLimit:
        throw IndexConfigurationError("Invalid index configuration: \(place) is wrong. \(error)")
      }
    }
  }
}

// MARK: - JSON

extension IndexConfiguration {
  /// Far more than all the indexes that a database may have need; it bounds the memory that an untrusted text can take.
  package static let maximumJSONBytes = 16 << 20

  /// Reads the JSON of an index file.
  ///
  /// - Throws: ``IndexConfigurationError``: "Invalid Json format." with line, column and byte for malformed JSON, and the path
  ///   of the member, such as `indexes[2].fields[0].fieldPath`, for JSON that is no index configuration.
  package init(json bytes: [UInt8]) throws(IndexConfigurationError) {
    try self.init(try Self.object(json: bytes))
  }

  /// Reads the object of an index file.
  ///
  /// - Throws: ``IndexConfigurationError`` with the path of the member that is wrong.
  package init(_ json: JSONText) throws(IndexConfigurationError) {
    entries = []
    for (number, index) in try json.array("indexes", at: "").enumerated() {
      entries.append(try Self.entry(index, at: "indexes[\(number)]"))
    }
  }

  /// Reads JSON that is an object.
  static func object(json bytes: [UInt8]) throws(IndexConfigurationError) -> JSONText {
    guard bytes.count <= maximumJSONBytes else {
      throw IndexConfigurationError(place: "", "has \(bytes.count) bytes, but may have at most \(maximumJSONBytes)")
    }
    let json: JSONText
    do throws(JSONTextReader.Failure) {
      json = try JSONTextReader.read(bytes[...])
    } catch {
      let (line, column) = position(of: error.offset, in: bytes)
      throw IndexConfigurationError(
        "Invalid Json format. Line \(line), column \(column) (byte \(error.offset)): \(error.message).")
    }
    guard case .object = json else { throw .wrongType("", "an object", json) }
    return json
  }

  private static func entry(_ json: JSONText, at place: String) throws(IndexConfigurationError) -> Entry {
    guard case .object = json else { throw .wrongType(place, "an object", json) }
    let group = try json.string("collectionGroup", at: place)
    var fields: [Field] = []
    for (number, field) in try json.array("fields", at: place).enumerated() {
      let place = "\(place).fields[\(number)]"
      guard case .object = field else { throw .wrongType(place, "an object", field) }
      fields.append(
        Field(
          path: try field.string("fieldPath", at: place), order: try field.optionalString("order", at: place),
          arrayConfig: try field.optionalString("arrayConfig", at: place)))
    }
    let isOfGroup = if case .string("COLLECTION_GROUP") = json.member("queryScope") { true } else { false }
    return Entry(collectionGroup: group, scope: isOfGroup ? .collectionGroup : .collection, fields: fields)
  }

  /// Line and column, from 1 on; a column is a Unicode scalar, as in editors that show no clusters.
  private static func position(of offset: Int, in bytes: [UInt8]) -> (line: Int, column: Int) {
    let before = bytes.prefix(offset)
    let lineStart = before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    let line = before.count { $0 == UInt8(ascii: "\n") } + 1
    return (line, before[lineStart...].count { $0 & 0xC0 != 0x80 } + 1)
  }
}

extension JSONText {
  func optionalString(_ name: String, at place: String) throws(IndexConfigurationError) -> String? {
    switch member(name) {
    case .string(let string): return string
    case nil: return nil
    case let other?: throw .wrongType(place.member(name), "a string", other)
    }
  }

  func string(_ name: String, at place: String) throws(IndexConfigurationError) -> String {
    guard let string = try optionalString(name, at: place) else {
      throw IndexConfigurationError(place: place.member(name), "is missing, but must be a string")
    }
    return string
  }

  func array(_ name: String, at place: String) throws(IndexConfigurationError) -> [JSONText] {
    switch member(name) {
    case .array(let elements): return elements
    case nil: return []
    case let other?: throw .wrongType(place.member(name), "an array", other)
    }
  }

  var typeName: String {
    switch self {
    case .null: "null"
    case .bool: "a Boolean"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

extension String {
  /// The place of a member of what stands at this place.
  func member(_ name: String) -> String { isEmpty ? name : "\(self).\(name)" }
}

extension IndexConfigurationError {
  static func wrongType(_ place: String, _ wanted: String, _ json: JSONText) -> Self {
    Self(place: place, "must be \(wanted), but is \(json.typeName)")
  }
}
