/// An object of an index file with its place, such as `indexes[2].fields[0]`.
struct IndexFileEntry {
  let json: JSONText
  let place: String

  private static let longestValue = 60

  /// - Throws: If it is no object, or has a member with another name.
  func checkMembers(_ names: [String]) throws(IndexConfigurationError) {
    guard case .object(let members) = json else { throw .wrongType(place, "an object", json) }
    for member in members where !names.contains(member.name) {
      guard member.name.unicodeScalars.first?.properties.isAlphabetic == true else { continue }
      throw IndexConfigurationError(
        place: place,
        "has the unknown member \"\(member.name.prefix(Self.longestValue))\"; the members are \(Self.list(names, "and"))"
      )
    }
  }

  /// - Returns: Nil if there is no such member.
  func text(_ name: String) throws(IndexConfigurationError) -> String? { try json.optionalString(name, at: place) }

  /// - Throws: If the member is there and has another value.
  func checkText(_ name: String, _ values: [String]) throws(IndexConfigurationError) {
    guard let text = try text(name), !values.contains(text) else { return }
    throw IndexConfigurationError(
      place: place.member(name),
      "is \"\(text.prefix(Self.longestValue))\", but must be \(Self.list(values, "or"))")
  }

  func checkBool(_ name: String) throws(IndexConfigurationError) {
    switch json.member(name) {
    case nil, .bool: return
    case let other?: throw .wrongType(place.member(name), "true or false", other)
    }
  }

  func missing(_ name: String, _ wanted: String) -> IndexConfigurationError {
    if let value = json.member(name) { return .wrongType(place.member(name), wanted, value) }
    return IndexConfigurationError(place: place.member(name), "is missing, but must be \(wanted)")
  }

  /// Such as `a, b or c`.
  static func list(_ words: [String], _ last: String) -> String {
    guard words.count > 1 else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " \(last) " + words[words.count - 1]
  }
}
