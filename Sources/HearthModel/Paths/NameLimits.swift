/// The names that a backend accepts, by the documented limits of Firestore. Clients check none of this: they send the write, and the
/// backend rejects it.
private enum NameLimits {
  static let maximumNameBytes = 1500
  static let maximumDocumentNameBytes = 6 * 1024
  /// 100 pairs of a collection and a document.
  static let maximumSegments = 200

  /// `__.*__`
  static func isReserved(_ name: String) -> Bool {
    ByteOrder.withUTF8(of: name) { isReserved($0) }
  }

  static func isReserved(_ name: UnsafeRawBufferPointer) -> Bool {
    let (underscore, count) = (UInt8(ascii: "_"), name.count)
    return count >= 4 && name[0] == underscore && name[1] == underscore && name[count - 2] == underscore
      && name[count - 1] == underscore
  }

  /// The forms of a document id that is reserved unless it stands for a number.
  enum NumericID {
    /// `__id<number>__` with a number of 64 bits other than 0.
    case valid
    /// The number has more than 64 bits.
    case overflow
    /// Not a number, or one in another form than the shortest.
    case other
  }

  static func numericID(_ id: String) -> NumericID {
    guard id.utf8.count > 6, id.utf8.starts(with: "__id".utf8) else { return .other }
    let number = id.utf8.dropFirst(4).dropLast(2)
    let digits = number.first == UInt8(ascii: "-") ? number.dropFirst() : number
    guard let first = digits.first, (UInt8(ascii: "1")...UInt8(ascii: "9")).contains(first),
      digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return .other }
    return Int64(String(decoding: number, as: UTF8.self)) == nil ? .overflow : .valid
  }

  static func requireShort(_ name: String, _ place: String) throws(ModelError) {
    if name.utf8.count > maximumNameBytes {
      throw .violatesServerLimit(
        name: shortened(name), place: place,
        rule: "it has \(name.utf8.count) bytes, and at most \(maximumNameBytes) are allowed.")
    }
  }

  /// At most 64 characters of a name, for messages.
  static func shortened(_ name: String) -> String {
    name.unicodeScalars.count <= 64 ? name : String(String.UnicodeScalarView(name.unicodeScalars.prefix(64))) + "…"
  }
}

extension ResourcePath {
  /// Checks collection and document ids as a backend does: at most 1500 bytes each, not `.` or `..`, not `__.*__` except
  /// for numeric document ids, and at most 100 pairs of them in 6 KiB.
  ///
  /// - Throws: `ModelError.violatesServerLimit`
  package func validateServerLimits() throws(ModelError) {
    let segments = segments
    for (index, id) in segments.enumerated() {
      try Self.validateServerLimits(id: id, ofCollection: index.isMultiple(of: 2))
    }
    if segments.count > NameLimits.maximumSegments {
      throw .violatesServerLimit(
        name: NameLimits.shortened(canonicalString), place: "Path",
        rule: "it has \(segments.count) segments. Key path is too long. Cannot exceed "
          + "\(NameLimits.maximumSegments / 2) elements.")
    }
    if canonicalString.utf8.count > NameLimits.maximumDocumentNameBytes {
      throw .violatesServerLimit(
        name: NameLimits.shortened(canonicalString), place: "Path",
        rule: "it has \(canonicalString.utf8.count) bytes, and at most "
          + "\(NameLimits.maximumDocumentNameBytes) are allowed.")
    }
  }

  /// Checks one id; see `validateServerLimits()`.
  package static func validateServerLimits(id: String, ofCollection isCollection: Bool) throws(ModelError) {
    let place = isCollection ? "Collection id" : "Resource id"
    try NameLimits.requireShort(id, place)
    if id == "." || id == ".." {
      throw .violatesServerLimit(name: id, place: place, rule: "\".\" and \"..\" cannot be ids.")
    }
    guard NameLimits.isReserved(id) else { return }
    switch isCollection ? .other : NameLimits.numericID(id) {
    case .valid: return
    case .overflow: throw .violatesServerLimit(name: id, place: place, rule: "it is not a 64 bit integer.")
    case .other: throw .violatesServerLimit(name: id, place: place, rule: "it is reserved.")
    }
  }
}

extension DocumentKey {
  /// Checks the key as a backend does; see `ResourcePath.validateServerLimits()`.
  package func validateServerLimits() throws(ModelError) {
    try path.validateServerLimits()
  }
}

extension FieldPath {
  /// Checks field names as a backend does: not empty, at most 1500 bytes each, and not `__.*__`.
  ///
  /// - Throws: `ModelError.violatesServerLimit`
  package func validateServerLimits() throws(ModelError) {
    for name in segments { try Self.validateServerLimits(name: name) }
  }

  /// The same for a name in UTF-8, as an answer.
  static func isWithinServerLimits(name: UnsafeRawBufferPointer) -> Bool {
    !name.isEmpty && name.count <= NameLimits.maximumNameBytes && !NameLimits.isReserved(name)
  }

  /// Checks one field name; see `validateServerLimits()`.
  package static func validateServerLimits(name: String) throws(ModelError) {
    if name.isEmpty {
      throw .violatesServerLimit(name: name, place: "Field name", rule: "field names must not be empty.")
    }
    try NameLimits.requireShort(name, "Field name")
    if NameLimits.isReserved(name) {
      throw .violatesServerLimit(name: name, place: "Field name", rule: "it is reserved.")
    }
  }
}
