internal import HearthModel

/// Fields in the form of Firestore's REST API: `{"name": {"stringValue": "SF"}}`. Read as the JSON of docs/data-format.md, each value would
/// silently become a map.
enum RESTForm {
  private static let types: Set<String> = [
    "nullValue", "booleanValue", "integerValue", "doubleValue", "timestampValue", "stringValue", "bytesValue",
    "referenceValue", "geoPointValue", "arrayValue", "mapValue",
  ]

  /// True if every field is such a map. A document that is meant so has `{"$map": {…}}` in place of the first one.
  static func isForm(of fields: MapValue) -> Bool {
    !fields.isEmpty
      && fields.entries.allSatisfy { entry in
        if case .map(let map) = entry.value {
          map.count == 1 && map.entries.allSatisfy { types.contains($0.key) }
        } else {
          false
        }
      }
  }

  /// - Throws: `ValueJSON.Failure` for fields that are all in this form.
  static func check(_ members: [(name: String, value: JSONText)]) throws(ValueJSON.Failure) {
    var first: (name: String, type: (name: String, value: JSONText))?
    for member in members {
      guard case .object(let types) = member.value, types.count == 1, let type = types.first,
        Self.types.contains(type.name)
      else { return }
      first = first ?? (member.name, type)
    }
    guard let (name, type) = first else { return }
    let plain = plain(type.name, type.value).map { " Write \(JSONText.string(name).compact): \($0)." } ?? ""
    throw ValueJSON.Failure(
      place: name,
      message:
        "\"\(type.name)\" is the form of Firestore's REST API, and values here are plain JSON (`hearth data --help`).\(plain) "
        + "A map that is meant so is written as {\"$map\": {\"\(type.name)\": …}}")
  }

  /// The value in the form of docs/data-format.md; nil for one that is in several parts.
  private static func plain(_ type: String, _ content: JSONText) -> String? {
    switch (type, content) {
    case ("nullValue", _): "null"
    case ("integerValue", .string(let digits)): digits
    case ("stringValue", .string), ("booleanValue", .bool), ("integerValue", .number), ("doubleValue", .number):
      content.compact
    case ("timestampValue", .string): "{\"$timestamp\": \(content.compact)}"
    case ("bytesValue", .string): "{\"$bytes\": \(content.compact)}"
    default: nil
    }
  }
}
