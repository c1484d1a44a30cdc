extension FieldPath {
  /// Parses a path that a user writes: names separated by dots. Backticks and backslashes have no meaning here.
  ///
  /// - Throws: `ModelError.invalidFieldPath` for an empty name and for the characters `~ * / [ ]`.
  package init(parsingUserFormat path: String) throws(ModelError) {
    let reserved: [UInt8] = [0x7E, 0x2A, 0x2F, 0x5B, 0x5D]
    if path.utf8.contains(where: reserved.contains) {
      throw .invalidFieldPath(path, rule: "Paths must not contain '~', '*', '/', '[', or ']'")
    }
    let names = path.utf8.split(separator: 0x2E, omittingEmptySubsequences: false).map { String(Substring($0)) }
    if names.contains(where: \.isEmpty) {
      throw .invalidFieldPath(path, rule: "Paths must not be empty, begin with '.', end with '.', or contain '..'")
    }
    try self.init(names)
  }

  /// Parses the form of masks, orders and index definitions: names separated by dots, those that are not plain
  /// identifiers in backticks, where a backslash takes the next character as it is.
  ///
  /// - Throws: `ModelError.invalidFieldPath` for an empty name, a backslash at the end and a backtick without its
  ///   counterpart.
  package init(parsingServerFormat path: String, requiringQuotes requiresQuotes: Bool = false) throws(ModelError) {
    var names: [String] = []
    var name: [UInt8] = []
    var isQuoted = false
    var isEscaped = false
    for byte in path.utf8 {
      if isEscaped {
        name.append(byte)
        isEscaped = false
        continue
      }
      if requiresQuotes, !isQuoted, byte != 0x60, byte != 0x2E, !Self.isPlain(byte, isFirst: name.isEmpty) {
        throw .invalidFieldPath(
          path, rule: "Names other than [a-zA-Z_][a-zA-Z_0-9]* must stand between backticks")
      }
      switch byte {
      case 0x5C:
        isEscaped = true
      case 0x60:
        isQuoted.toggle()
      case 0x2E where !isQuoted:
        names.append(String(decoding: name, as: UTF8.self))
        name.removeAll(keepingCapacity: true)
      default:
        name.append(byte)
      }
    }
    names.append(String(decoding: name, as: UTF8.self))
    if isEscaped {
      throw .invalidFieldPath(path, rule: "Trailing escape characters not allowed")
    }
    if isQuoted {
      throw .invalidFieldPath(path, rule: "Unterminated ` in path")
    }
    if names.contains(where: \.isEmpty) {
      throw .invalidFieldPath(path, rule: "Paths must not be empty, begin with '.', end with '.', or contain '..'")
    }
    try self.init(names)
  }

  static func canonicalString(_ segments: some Sequence<String>) -> String {
    segments.map { isPlainIdentifier($0) ? $0 : quoted($0) }.joined(separator: ".")
  }

  /// `[A-Za-z_][A-Za-z0-9_]*`
  private static func isPlainIdentifier(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.enumerated().allSatisfy { isPlain($1, isFirst: $0 == 0) }
  }

  private static func isPlain(_ byte: UInt8, isFirst: Bool) -> Bool {
    switch byte {
    case 0x41...0x5A, 0x61...0x7A, 0x5F: true
    case 0x30...0x39: !isFirst
    default: false
    }
  }

  private static func quoted(_ name: String) -> String {
    var bytes: [UInt8] = [0x60]
    for byte in name.utf8 {
      if byte == 0x60 || byte == 0x5C { bytes.append(0x5C) }
      bytes.append(byte)
    }
    bytes.append(0x60)
    return String(decoding: bytes, as: UTF8.self)
  }
}
