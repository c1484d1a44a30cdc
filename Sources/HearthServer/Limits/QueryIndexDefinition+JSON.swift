internal import Foundation
internal import HearthModel

extension QueryIndexDefinition {
  /// A file `firestore.indexes.json` that declares these indexes and no others.
  static func file(declaring indexes: [QueryIndexDefinition]) -> String {
    "{\"indexes\": [\(indexes.map(\.json).joined(separator: ", "))]}"
  }

  /// The entry of `firestore.indexes.json`.
  var json: String {
    func quoted(_ text: String) -> String {
      (try? JSONEncoder().encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
    }
    func entry(_ path: FieldPath, _ rest: String) -> String {
      "{\"fieldPath\": \(quoted(path.canonicalString)), \(rest)}"
    }
    var entries = fields.map { field in
      switch field.kind {
      case .ascending: entry(field.path, "\"order\": \"ASCENDING\"")
      case .descending: entry(field.path, "\"order\": \"DESCENDING\"")
      case .contains: entry(field.path, "\"arrayConfig\": \"CONTAINS\"")
      }
    }
    if let vector {
      entries.append(entry(vector.path, "\"vectorConfig\": {\"dimension\": \(vector.dimension), \"flat\": {}}"))
    }
    let last = fields.last { $0.kind != .contains }
    if (last?.kind == .descending) != (keyDirection == .descending) {
      entries.append(
        "{\"fieldPath\": \"__name__\", \"order\": \"\(keyDirection == .ascending ? "ASCENDING" : "DESCENDING")\"}")
    }
    let scope = scope == .collection ? "COLLECTION" : "COLLECTION_GROUP"
    return "{\"collectionGroup\": \(quoted(collectionGroup)), \"queryScope\": \"\(scope)\", "
      + "\"fields\": [\(entries.joined(separator: ", "))]}"
  }
}
