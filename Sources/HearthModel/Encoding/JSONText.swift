/// A JSON value as written: numbers as text, members in order, names compared by their bytes.
///
/// Foundation's readers keep members in Swift dictionaries, where field names that differ only in Unicode normalisation are the same. In
/// Firestore they are two fields.
package indirect enum JSONText: Sendable {
  case null
  case bool(Bool)
  case number(String)
  case string(String)
  case array([JSONText])
  case object([(name: String, value: JSONText)])

  /// The last member of that name; nil if there is none.
  package func member(_ name: String) -> JSONText? {
    guard case .object(let members) = self else { return nil }
    return members.last { $0.name.utf8.elementsEqual(name.utf8) }?.value
  }

  /// The last member of that name; nil if there is none or it is null, which protocol buffers treat alike.
  package subscript(name: String) -> JSONText? {
    guard let value = member(name) else { return nil }
    if case .null = value { return nil }
    return value
  }
}

/// Reads JSON (RFC 8259) from untrusted bytes: time and memory are proportional to the length, and nesting is bounded.
package struct JSONTextReader {
  /// More than a document's 20 levels need, which take three levels of JSON each.
  package static let maximumDepth = 200

  private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

  package struct Failure: Error {
    package var message: String
    /// Position in the text, in bytes.
    package var offset: Int
  }

  private let bytes: ArraySlice<UInt8>
  private let maximumValueCount: Int
  private var position: Int
  private var valueCount = 0

  /// Reads a text that contains exactly one value.
  ///
  /// - Parameter maximumValueCount: The number of values that there may be, including nested ones. A value takes about 50 bytes of memory,
  ///   but as little as two in the text.
  package static func read(
    _ bytes: ArraySlice<UInt8>, maximumValueCount: Int = .max
  ) throws(Failure) -> JSONText {
    var reader = JSONTextReader(bytes, maximumValueCount)
    let value = try reader.value(depth: 0)
    reader.skipWhitespace()
    guard reader.position == bytes.endIndex else { throw reader.failure("there is more after the value") }
    return value
  }

  private init(_ bytes: ArraySlice<UInt8>, _ maximumValueCount: Int) {
    self.bytes = bytes
    self.maximumValueCount = maximumValueCount
    position = bytes.startIndex
  }

  private func failure(_ message: String) -> Failure {
    Failure(message: message, offset: position - bytes.startIndex)
  }

  private var next: UInt8? { position < bytes.endIndex ? bytes[position] : nil }

  private mutating func skipWhitespace() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard next == byte else { return false }
    position += 1
    return true
  }

  private mutating func expect(_ byte: UInt8) throws(Failure) {
    guard take(byte) else { throw failure("\"\(Character(UnicodeScalar(byte)))\" is expected") }
  }

  // MARK: - Values

  private mutating func value(depth: Int) throws(Failure) -> JSONText {
    guard depth < Self.maximumDepth else {
      throw failure("values are nested more than \(Self.maximumDepth) levels deep")
    }
    valueCount += 1
    guard valueCount <= maximumValueCount else { throw failure("there are more than \(maximumValueCount) values") }
    skipWhitespace()
    switch next {
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case let byte? where byte == UInt8(ascii: "-") || Self.digits.contains(byte): return try number()
    case nil: throw failure("the text ends where a value is expected")
    default: throw failure("a value is expected")
    }
  }

  private mutating func word(_ word: String, _ value: JSONText) throws(Failure) -> JSONText {
    for byte in word.utf8 {
      guard take(byte) else { throw failure("\"\(word)\" is expected") }
    }
    return value
  }

  private mutating func object(depth: Int) throws(Failure) -> JSONText {
    try expect(UInt8(ascii: "{"))
    var members: [(name: String, value: JSONText)] = []
    skipWhitespace()
    if take(UInt8(ascii: "}")) { return .object(members) }
    repeat {
      skipWhitespace()
      let name = try string()
      skipWhitespace()
      try expect(UInt8(ascii: ":"))
      members.append((name, try value(depth: depth + 1)))
      skipWhitespace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else { throw failure("\",\" or \"}\" is expected") }
    return .object(members)
  }

  private mutating func array(depth: Int) throws(Failure) -> JSONText {
    try expect(UInt8(ascii: "["))
    var elements: [JSONText] = []
    skipWhitespace()
    if take(UInt8(ascii: "]")) { return .array(elements) }
    repeat {
      elements.append(try value(depth: depth + 1))
      skipWhitespace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "]")) else { throw failure("\",\" or \"]\" is expected") }
    return .array(elements)
  }

  private mutating func number() throws(Failure) -> JSONText {
    let start = position
    _ = take(UInt8(ascii: "-"))
    if !take(UInt8(ascii: "0")) { try digits() }
    if take(UInt8(ascii: ".")) { try digits() }
    if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      try digits()
    }
    return .number(String(decoding: bytes[start..<position], as: UTF8.self))
  }

  private mutating func digits() throws(Failure) {
    let start = position
    while let byte = next, Self.digits.contains(byte) { position += 1 }
    guard position > start else { throw failure("a digit is expected") }
  }

  // MARK: - Strings

  private mutating func string() throws(Failure) -> String {
    guard take(UInt8(ascii: "\"")) else { throw failure("a string in quotation marks is expected") }
    var text: [UInt8] = []
    let start = position
    while true {
      let run = position
      while let byte = next, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 { position += 1 }
      text += bytes[run..<position]
      switch next {
      case UInt8(ascii: "\""):
        position += 1
        guard let string = String(validating: text, as: UTF8.self) else {
          position = start
          throw failure("the string is not valid UTF-8")
        }
        return string
      case UInt8(ascii: "\\"):
        position += 1
        text += try escape()
      case nil: throw failure("the text ends within a string")
      default: throw failure("a control character stands in a string")
      }
    }
  }

  private mutating func escape() throws(Failure) -> [UInt8] {
    guard let byte = next else { throw failure("the text ends within a string") }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
    case UInt8(ascii: "b"): return [0x08]
    case UInt8(ascii: "f"): return [0x0C]
    case UInt8(ascii: "n"): return [0x0A]
    case UInt8(ascii: "r"): return [0x0D]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "u"): return try Array(String(Character(scalar())).utf8)
    default: throw failure("an unknown escape stands in a string")
    }
  }

  private mutating func scalar() throws(Failure) -> UnicodeScalar {
    let first = try codeUnit()
    if let scalar = UnicodeScalar(first) { return scalar }
    guard (0xD800...0xDBFF).contains(first), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
      throw failure("half a surrogate pair stands in a string")
    }
    let second = try codeUnit()
    guard (0xDC00...0xDFFF).contains(second),
      let scalar = UnicodeScalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else {
      throw failure("half a surrogate pair stands in a string")
    }
    return scalar
  }

  private mutating func codeUnit() throws(Failure) -> UInt32 {
    var unit: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = next, let digit = Character(UnicodeScalar(byte)).hexDigitValue else {
        throw failure("four hexadecimal digits are expected")
      }
      unit = unit << 4 | UInt32(digit)
      position += 1
    }
    return unit
  }
}
