/// A local index of the documents of all collections with one id: its fields and their order.
///
/// It holds the documents that have all of its fields (and an array in the field with membership), ordered by the fields and then by
/// document key, separately for each collection or for all collections together.
package struct IndexDefinition: Hashable, Sendable {
  /// The order of the entries of several collections.
  package enum Scope: Hashable, Sendable {
    /// One collection after the other. Serves queries of one collection, and also those of many, which look into each.
    case collection
    /// All collections together. Serves queries of the collection group in the whole database, and no others.
    case collectionGroup
  }

  package enum Kind: Hashable, Sendable {
    case ascending
    case descending
    /// Membership in an array: one entry for each distinct element.
    case contains
  }

  package struct Field: Hashable, Sendable {
    package var path: FieldPath
    package var kind: Kind

    package init(path: FieldPath, kind: Kind) {
      self.path = path
      self.kind = kind
    }
  }

  package let collectionGroup: String
  package let scope: Scope
  /// Excludes the document key, which always comes last.
  package let fields: [Field]
  /// The order of documents that agree in all fields.
  package let keyDirection: OrderBy.Direction

  /// - Parameter fields: `__name__` among them gives the order of documents that agree in the fields before it; fields after it order
  ///   nothing and are left out. Without it, that order is the one of the last field.
  /// - Throws: `ModelError.invalidPath` for a collection id that is empty or has a slash, `invalidFieldPath` for a second
  ///   field with array membership.
  package init(collectionGroup: String, scope: Scope = .collection, fields: [Field]) throws(ModelError) {
    guard !collectionGroup.isEmpty, !collectionGroup.utf8.contains(PathSegment.separator) else {
      throw .invalidPath(
        collectionGroup, rule: "The collection group of an index is one collection id: not empty, without \"/\".")
    }
    let end = fields.firstIndex { $0.path.isDocumentKey } ?? fields.count
    let members = fields[..<end].filter { $0.kind == .contains }
    if members.count > 1 {
      throw .invalidFieldPath(
        members[1].path.canonicalString, rule: "An index has at most one field with array membership (CONTAINS).")
    }
    self.collectionGroup = collectionGroup
    self.scope = scope
    self.fields = Array(fields[..<end])
    if end < fields.count {
      keyDirection = fields[end].kind == .descending ? .descending : .ascending
    } else {
      let last = self.fields.last { $0.kind != .contains }
      keyDirection = last?.kind == .descending ? .descending : .ascending
    }
  }

  /// The field whose elements the index holds.
  package var containsField: FieldPath? {
    fields.first { $0.kind == .contains }?.path
  }

  /// The fields whose values the index holds, in order.
  package var orderedFields: [OrderBy] {
    fields.compactMap { field in
      switch field.kind {
      case .ascending: OrderBy(path: field.path, direction: .ascending)
      case .descending: OrderBy(path: field.path, direction: .descending)
      case .contains: nil
      }
    }
  }

  package static func == (a: IndexDefinition, b: IndexDefinition) -> Bool {
    ByteOrder.areEqual(a.collectionGroup, b.collectionGroup) && a.scope == b.scope && a.fields == b.fields
      && a.keyDirection == b.keyDirection
  }

  package func hash(into hasher: inout Hasher) {
    ByteOrder.hash(collectionGroup, into: &hasher)
    hasher.combine(scope)
    hasher.combine(fields)
    hasher.combine(keyDirection)
  }
}

extension IndexDefinition: CustomStringConvertible {
  /// The definition in the form `cities: state ASCENDING, tags CONTAINS`; `cities (group): …` for one of the collection group.
  package var description: String {
    let parts = fields.map { field in
      switch field.kind {
      case .ascending: "\(field.path) ASCENDING"
      case .descending: "\(field.path) DESCENDING"
      case .contains: "\(field.path) CONTAINS"
      }
    }
    let last = orderedFields.last?.direction ?? .ascending
    let key = keyDirection == last ? [] : ["__name__ \(keyDirection == .ascending ? "ASCENDING" : "DESCENDING")"]
    let group = scope == .collectionGroup ? " (group)" : ""
    return "\(collectionGroup)\(group): \((parts + key).joined(separator: ", "))"
  }
}
