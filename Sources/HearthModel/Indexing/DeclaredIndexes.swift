/// An index as production has it: one of a collection id, for queries of single collections or of the collection group.
///
/// Unlike ``IndexDefinition``, it may end with a vector, and it promises to answer a query instead of describing stored entries.
package struct QueryIndexDefinition: Hashable, Sendable {
  /// Here, an index of single collections serves no query of the group.
  package typealias Scope = IndexDefinition.Scope

  package struct Vector: Hashable, Sendable {
    package var path: FieldPath
    package var dimension: Int

    package init(path: FieldPath, dimension: Int) {
      self.path = path
      self.dimension = dimension
    }
  }

  package var collectionGroup: String
  package var scope: Scope
  /// Excludes the document key and the vector.
  package var fields: [IndexDefinition.Field]
  /// The order of documents that agree in all fields.
  package var keyDirection: OrderBy.Direction
  /// The vectors that a search compares, behind everything else.
  package var vector: Vector?

  package init(
    collectionGroup: String, scope: Scope, fields: [IndexDefinition.Field],
    keyDirection: OrderBy.Direction = .ascending,
    vector: Vector? = nil
  ) {
    self.collectionGroup = collectionGroup
    self.scope = scope
    self.fields = fields
    self.keyDirection = keyDirection
    self.vector = vector
  }
}

/// The indexes that `firestore.indexes.json` declares, with everything that production reads there: scopes, vectors and exemptions of
/// single fields. ``IndexConfiguration`` reads the same file for indexes that hold entries.
package struct DeclaredIndexes: Hashable, Sendable {
  /// A replacement for the automatic indexes of one field.
  package struct FieldOverride: Hashable, Sendable {
    package struct Index: Hashable, Sendable {
      package var kind: IndexDefinition.Kind
      package var scope: QueryIndexDefinition.Scope
    }

    package var collectionGroup: String
    package var path: FieldPath
    /// None exempts the field from all indexes.
    package var indexes: [Index]
  }

  package private(set) var composites: [QueryIndexDefinition] = []
  package private(set) var overrides: [FieldOverride] = []

  package init() {}

  /// Reads the indexes of a file. Those without fields serve no query and are left out.
  ///
  /// - Throws: ``IndexConfigurationError`` with the path of the member that is wrong.
  package init(_ file: IndexFileText) throws(IndexConfigurationError) {
    let json = file.json
    for (number, index) in try json.array("indexes", at: "").enumerated() {
      guard try !index.array("fields", at: "indexes[\(number)]").isEmpty else { continue }
      composites.append(try Self.composite(index, at: "indexes[\(number)]"))
    }
    for (number, override) in try json.array("fieldOverrides", at: "").enumerated() {
      overrides.append(try Self.override(override, at: "fieldOverrides[\(number)]"))
    }
  }

  private static func composite(
    _ json: JSONText, at place: String
  ) throws(IndexConfigurationError) -> QueryIndexDefinition {
    var definition = QueryIndexDefinition(
      collectionGroup: try json.string("collectionGroup", at: place), scope: try json.scope(at: place), fields: [])
    var keyDirection: OrderBy.Direction?
    for (number, field) in try json.array("fields", at: place).enumerated() {
      let place = "\(place).fields[\(number)]"
      let path = try field.fieldPath(at: place)
      if let dimension = try field.vectorDimension(at: place) {
        definition.vector = QueryIndexDefinition.Vector(path: path, dimension: dimension)
        continue
      }
      let kind = try field.kind(at: place)
      if path.isDocumentKey {
        keyDirection = kind == .descending ? .descending : .ascending
      } else if keyDirection == nil {
        definition.fields.append(IndexDefinition.Field(path: path, kind: kind))
      }
    }
    let last = definition.fields.last { $0.kind != .contains }
    definition.keyDirection = keyDirection ?? (last?.kind == .descending ? .descending : .ascending)
    return definition
  }

  private static func override(_ json: JSONText, at place: String) throws(IndexConfigurationError) -> FieldOverride {
    var indexes: [FieldOverride.Index] = []
    for (number, index) in try json.array("indexes", at: place).enumerated() {
      let place = "\(place).indexes[\(number)]"
      indexes.append(FieldOverride.Index(kind: try index.kind(at: place), scope: try index.scope(at: place)))
    }
    return FieldOverride(
      collectionGroup: try json.string("collectionGroup", at: place), path: try json.fieldPath(at: place),
      indexes: indexes)
  }
}

extension JSONText {
  fileprivate func fieldPath(at place: String) throws(IndexConfigurationError) -> FieldPath {
    let text = try string("fieldPath", at: place)
    do {
      return try FieldPath(parsingServerFormat: text)
    } catch {
      throw IndexConfigurationError(place: "\(place).fieldPath", "is wrong: \(error)")
    }
  }

  fileprivate func kind(at place: String) throws(IndexConfigurationError) -> IndexDefinition.Kind {
    // The file has been checked: what is neither is descending.
    if try optionalString("arrayConfig", at: place) == "CONTAINS" { return .contains }
    return try optionalString("order", at: place) == "ASCENDING" ? .ascending : .descending
  }

  fileprivate func scope(at place: String) throws(IndexConfigurationError) -> QueryIndexDefinition.Scope {
    try optionalString("queryScope", at: place) == "COLLECTION_GROUP" ? .collectionGroup : .collection
  }

  /// - Returns: Nil if the field is not a vector.
  fileprivate func vectorDimension(at place: String) throws(IndexConfigurationError) -> Int? {
    guard case .number(let dimension)? = member("vectorConfig")?.member("dimension") else { return nil }
    return Int(dimension)
  }
}
