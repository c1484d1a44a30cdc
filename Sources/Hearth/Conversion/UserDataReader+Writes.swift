internal import Foundation
internal import HearthModel

/// Makes the mutations of `setData`, `updateData` and `delete`.
extension UserDataReader {
  /// Replaces the document, creating it if necessary.
  static func set(
    _ data: [String: Any], key: DocumentKey, databaseID: DatabaseID
  ) throws(ProgrammingError) -> Mutation {
    var reader = UserDataReader(databaseID: databaseID)
    let fields = try reader.parseRoot(data, source: .set)
    return .set(key, fields, transforms: reader.sortedTransforms)
  }

  /// Changes every leaf that the data name, and creates the document if necessary.
  static func merge(
    _ data: [String: Any], key: DocumentKey, databaseID: DatabaseID
  ) throws(ProgrammingError) -> Mutation {
    var reader = UserDataReader(databaseID: databaseID)
    let fields = try reader.parseRoot(data, source: .mergeSet)
    let mask = FieldMask(reader.mask)
    return .patch(key, fields.only(mask), mask: mask, precondition: .none, transforms: reader.sortedTransforms)
  }

  /// Changes the fields that both the data and the mask name; the rest of the data is ignored.
  static func merge(
    _ data: [String: Any], fields maskFields: [Any], key: DocumentKey, databaseID: DatabaseID
  ) throws(ProgrammingError) -> Mutation {
    var paths: [HearthModel.FieldPath] = []
    for field in maskFields {
      guard let path = try FieldPath.parsed(untyped: field) else {
        throw ProgrammingError(
          "All elements in mergeFields: must be Strings or FieldPaths, but one is \(type(of: field)).")
      }
      paths.append(path)
    }
    var reader = UserDataReader(databaseID: databaseID)
    let parsed = try reader.parseRoot(data, source: .mergeSet)
    let mentioned = reader.mask.union(reader.transforms.map(\.path))
    for path in paths where !mentioned.contains(where: { path.isPrefix(of: $0) }) {
      throw ProgrammingError(
        "Field '\(path.canonicalString)' is specified in your field mask but missing from your input data.")
    }
    let named = FieldMask(paths)
    let transforms = reader.sortedTransforms.filter { named.covers($0.path) }
    // A field that is only transformed is not named: the backend would delete it first, and an increment would start from nothing.
    let transformed = Set(transforms.map(\.path))
    let mask = FieldMask(named.paths.filter { !transformed.contains($0) })
    return .patch(key, parsed.only(mask), mask: mask, precondition: .none, transforms: transforms)
  }

  /// Changes the named fields of a document that has to exist at the backend.
  static func update(
    _ data: [AnyHashable: Any], key: DocumentKey, databaseID: DatabaseID
  ) throws(ProgrammingError) -> Mutation {
    var entries: [(path: HearthModel.FieldPath, value: Any)] = []
    for (field, value) in data {
      guard let path = try FieldPath.parsed(untyped: field.base) else {
        throw ProgrammingError(
          "Dictionary keys in updateData: must be Strings or FieldPaths, but one is \(type(of: field.base)).")
      }
      entries.append((path, value))
    }
    return try update(entries, key: key, databaseID: databaseID)
  }

  /// The same for fields by name: dots in a name do not split it.
  static func update(
    fieldsByName data: [String: Any], key: DocumentKey, databaseID: DatabaseID
  ) throws(ProgrammingError) -> Mutation {
    var entries: [(path: HearthModel.FieldPath, value: Any)] = []
    for (name, value) in data { entries.append((try FieldPath.checked([name]), value)) }
    return try update(entries, key: key, databaseID: databaseID)
  }

  private static func update(
    _ entries: [(path: HearthModel.FieldPath, value: Any)], key: DocumentKey, databaseID: DatabaseID
  ) throws(ProgrammingError) -> Mutation {
    let entries = entries.map { (path: $0.path, value: ($0.value as? FieldContent)?.object ?? $0.value) }
    for (path, value) in entries {
      // Deleted fields are left to the backend (firebase-ios-sdk FSTUserDataReader.mm, parsedUpdateData).
      let isDeleted = (value as? FieldValue)?.kind == .delete
      for name in path.segments where !isDeleted && name.hasPrefix("__") && name.hasSuffix("__") {
        throw ProgrammingError(
          "Invalid data. Document fields cannot begin and end with \"__\" (found in field \(path.canonicalString))")
      }
    }
    var reader = UserDataReader(databaseID: databaseID)
    var fields = MapValue([:])
    var mask: [HearthModel.FieldPath] = []
    for (path, value) in entries.sorted(by: { $0.path < $1.path }) {
      let position = Position(source: .update, path: path, depth: path.segments.count)
      if let marker = value as? FieldValue {
        if marker.kind == .delete { mask.append(path) } else { _ = try reader.parse(marker, position) }
      } else {
        mask.append(path)
        if let parsed = try reader.parse(value, position) { fields.set(parsed, at: path) }
      }
    }
    return .patch(
      key, fields, mask: FieldMask(mask), precondition: .exists(true), transforms: reader.sortedTransforms)
  }

  private mutating func parseRoot(_ data: [String: Any], source: Source) throws(ProgrammingError) -> MapValue {
    try parseMap(data, Position(source: source, path: nil))
  }

  /// Dictionaries have no order; a fixed one makes equal calls give equal bytes.
  private var sortedTransforms: [FieldTransform] { transforms.sorted { $0.path < $1.path } }
}
