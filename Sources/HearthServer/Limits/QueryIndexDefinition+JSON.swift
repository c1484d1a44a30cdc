internal import Foundation
internal import HearthModel

/// An index of one field. Production does not take it as a composite one: it is declared by an element of `fieldOverrides`.
extension QueryIndexDefinition {
  /// The field, and the name of the index in production's errors; nil for a composite index and one of a vector.
  var singleField: (field: IndexDefinition.Field, name: String)? {
    guard vector == nil, fields.count == 1, let field = fields.first else { return nil }
    let kind =
      switch field.kind {
      case .ascending: "ASC"
      case .descending: "DESC"
      case .contains: "CONTAINS"
      }
    return (field, "\(scope.fileName)_\(kind)")
  }

  /// The element of production's file that declares the index.
  var declaration: String { singleField.map { exemption(of: $0.field) } ?? json }

  /// A file `firestore.indexes.json` with the ``declaration`` alone.
  var productionFile: String {
    singleField == nil ? Self.file(declaring: [self]) : "{\"indexes\": [], \"fieldOverrides\": [\(declaration)]}"
  }

  /// The element of `fieldOverrides`, with the automatic indexes of the field, whose place it takes.
  private func exemption(of field: IndexDefinition.Field) -> String {
    let automatic = [IndexDefinition.Kind.ascending, .descending, .contains].map {
      "{\($0.member), \"queryScope\": \"COLLECTION\"}"
    }
    let own = "{\(field.kind.member), \"queryScope\": \"\(scope.fileName)\"}"
    let indexes = automatic + (automatic.contains(own) ? [] : [own])
    return "{\"collectionGroup\": \(Self.quoted(collectionGroup)), \"fieldPath\": "
      + "\(Self.quoted(field.path.canonicalString)), \"indexes\": [\(indexes.joined(separator: ", "))]}"
  }
}

extension QueryIndexDefinition {
  /// A file `firestore.indexes.json` that declares these indexes and no others.
  static func file(declaring indexes: [QueryIndexDefinition]) -> String {
    "{\"indexes\": [\(indexes.map(\.json).joined(separator: ", "))]}"
  }

  /// The entry of `firestore.indexes.json`.
  var json: String {
    func entry(_ path: FieldPath, _ rest: String) -> String {
      "{\"fieldPath\": \(Self.quoted(path.canonicalString)), \(rest)}"
    }
    var entries = fields.map { entry($0.path, $0.kind.member) }
    if let vector {
      entries.append(entry(vector.path, "\"vectorConfig\": {\"dimension\": \(vector.dimension), \"flat\": {}}"))
    }
    let last = fields.last { $0.kind != .contains }
    if (last?.kind == .descending) != (keyDirection == .descending) {
      entries.append(
        "{\"fieldPath\": \"__name__\", \"order\": \"\(keyDirection == .ascending ? "ASCENDING" : "DESCENDING")\"}")
    }
    return "{\"collectionGroup\": \(Self.quoted(collectionGroup)), \"queryScope\": \"\(scope.fileName)\", "
      + "\"fields\": [\(entries.joined(separator: ", "))]}"
  }

  private static func quoted(_ text: String) -> String {
    (try? JSONEncoder().encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
  }
}

extension QueryIndexDefinition.Scope {
  fileprivate var fileName: String { self == .collection ? "COLLECTION" : "COLLECTION_GROUP" }
}

extension IndexDefinition.Kind {
  /// The member of a field's object in the file.
  fileprivate var member: String {
    switch self {
    case .ascending: "\"order\": \"ASCENDING\""
    case .descending: "\"order\": \"DESCENDING\""
    case .contains: "\"arrayConfig\": \"CONTAINS\""
    }
  }
}
