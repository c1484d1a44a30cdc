extension Target {
  /// A text that is equal for two targets exactly when they are equal, for the database and for dictionaries.
  ///
  /// Every part begins with a letter of its own and every free text with its length, so that no choice of names and values makes two
  /// targets look alike. Only printable ASCII is used, because Swift compares other text by canonical equivalence and SQLite by bytes. The
  /// form is stored: changing it needs a migration of the cache.
  package var canonicalID: String {
    var id = CanonicalID()
    id.append("p", text: path.canonicalString)
    if let collectionGroup { id.append("g", text: collectionGroup) }
    for filter in filters { id.append(filter) }
    for order in orders { id.append(order.direction == .ascending ? "a" : "d", text: order.path.canonicalString) }
    if let limit { id.append("l", text: String(limit)) }
    if let startAt { id.append("s", startAt) }
    if let endAt { id.append("e", endAt) }
    return id.text
  }
}

private struct CanonicalID {
  private(set) var text = ""

  /// A part with its letter, its length in escaped characters, and itself.
  mutating func append(_ letter: String, text part: String) {
    let escaped = Self.escaped(part)
    text += "\(letter)\(escaped.utf8.count):\(escaped)"
  }

  mutating func append(_ filter: Filter) {
    switch filter {
    case .field(let filter):
      append("f", text: filter.path.canonicalString)
      append(Self.symbol(filter.op), text: filter.value.canonicalString)
    case .composite(let composite):
      text += composite.op == .and ? "&(" : "|("
      for filter in composite.filters { append(filter) }
      text += ")"
    }
  }

  mutating func append(_ letter: String, _ bound: Bound) {
    text += letter + (bound.isInclusive ? "[" : "(")
    for value in bound.position { append("v", text: value.canonicalString) }
    text += bound.isInclusive ? "]" : ")"
  }

  private static func symbol(_ op: FieldFilter.Operator) -> String {
    switch op {
    case .lessThan: "<"
    case .lessThanOrEqual: "<="
    case .equal: "=="
    case .notEqual: "!="
    case .greaterThan: ">"
    case .greaterThanOrEqual: ">="
    case .arrayContains: "has"
    case .arrayContainsAny: "hasAny"
    case .in: "in"
    case .notIn: "notIn"
    }
  }

  /// Printable ASCII stays, everything else and the escape character itself become `%` and two hexadecimal digits per
  /// byte of UTF-8.
  private static func escaped(_ text: String) -> String {
    let isPlain = { (byte: UInt8) in (0x20...0x7E).contains(byte) && byte != UInt8(ascii: "%") }
    if text.utf8.allSatisfy(isPlain) { return text }
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      if isPlain(byte) {
        bytes.append(byte)
      } else {
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
