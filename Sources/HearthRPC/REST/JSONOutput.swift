/// Writes JSON text as bytes.
struct JSONOutput {
  private(set) var bytes: [UInt8] = []
  private let isPretty: Bool
  private var depth = 0
  /// The innermost object or array has no element yet.
  private var isEmpty = true

  /// - Parameter count: The bytes that the text will have, about. A text that grows step by step needs three times its size for moments.
  init(isPretty: Bool, expectedCount count: Int = 0) {
    self.isPretty = isPretty
    bytes.reserveCapacity(count)
  }

  // MARK: - Structure

  mutating func beginObject() { begin(UInt8(ascii: "{")) }
  mutating func endObject() { end(UInt8(ascii: "}")) }
  mutating func beginArray() { begin(UInt8(ascii: "[")) }
  mutating func endArray() { end(UInt8(ascii: "]")) }

  private mutating func begin(_ bracket: UInt8) {
    bytes.append(bracket)
    depth += 1
    isEmpty = true
  }

  private mutating func end(_ bracket: UInt8) {
    depth -= 1
    if !isEmpty { newLine() }
    bytes.append(bracket)
    isEmpty = false
  }

  /// Goes before each element of an array, and is part of ``name(_:)``.
  mutating func element() {
    if !isEmpty { bytes.append(UInt8(ascii: ",")) }
    isEmpty = false
    newLine()
  }

  private mutating func newLine() {
    guard isPretty else { return }
    bytes.append(UInt8(ascii: "\n"))
    for _ in 0..<depth { bytes.append(contentsOf: [0x20, 0x20]) }
  }

  /// The name of an object's next member.
  mutating func name(_ name: String) {
    element()
    string(name)
    endName()
  }

  /// As above, for text in UTF-8.
  mutating func name(utf8: UnsafeRawBufferPointer) {
    element()
    string(utf8: utf8)
    endName()
  }

  private mutating func endName() {
    bytes.append(UInt8(ascii: ":"))
    if isPretty { bytes.append(0x20) }
  }

  // MARK: - Values

  /// Text that is JSON already.
  mutating func raw(_ text: StaticString) {
    text.withUTF8Buffer { bytes.append(contentsOf: $0) }
  }

  mutating func raw(_ text: String) { bytes.append(contentsOf: text.utf8) }

  mutating func bool(_ value: Bool) { raw(value ? "true" as StaticString : "false") }

  mutating func quoted(_ value: some BinaryInteger) { raw("\"\(value)\"") }

  /// A number, or a string for what JSON has no number for. Whole numbers are written without a fraction.
  mutating func double(_ value: Double) {
    if value.isNaN { return raw("\"NaN\"" as StaticString) }
    if value.isInfinite { return raw(value < 0 ? "\"-Infinity\"" as StaticString : "\"Infinity\"") }
    withoutFraction(value.description)
  }

  mutating func float(_ value: Float) {
    guard value.isFinite else { return double(Double(value)) }
    withoutFraction(value.description)
  }

  private mutating func withoutFraction(_ text: String) {
    raw(text.hasSuffix(".0") ? String(text.dropLast(2)) : text)
  }

  mutating func string(_ value: String) {
    var value = value
    value.withUTF8 { string(utf8: UnsafeRawBufferPointer($0)) }
  }

  /// Text in UTF-8.
  mutating func string(utf8: UnsafeRawBufferPointer) {
    bytes.append(UInt8(ascii: "\""))
    var run = 0
    for (index, byte) in utf8.enumerated() {
      guard let escape = Self.escape(byte) else { continue }
      bytes.append(contentsOf: utf8[run..<index])
      raw(escape)
      run = index + 1
    }
    bytes.append(contentsOf: utf8[run...])
    bytes.append(UInt8(ascii: "\""))
  }

  private static func escape(_ byte: UInt8) -> String? {
    switch byte {
    case UInt8(ascii: "\""): return "\\\""
    case UInt8(ascii: "\\"): return "\\\\"
    // Google's servers escape these, so that the text can stand in HTML.
    case UInt8(ascii: "<"): return "\\u003c"
    case UInt8(ascii: ">"): return "\\u003e"
    case 0x0A: return "\\n"
    case 0x0D: return "\\r"
    case 0x09: return "\\t"
    case 0..<0x20, 0x7F:
      let digits = String(byte, radix: 16)
      return "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
    default: return nil
    }
  }

  /// Bytes in base64, with padding.
  mutating func base64(_ data: UnsafeRawBufferPointer) {
    bytes.append(UInt8(ascii: "\""))
    var index = 0
    Self.alphabet.withUTF8Buffer { alphabet in
      while index < data.count {
        let count = min(3, data.count - index)
        var group = UInt32(data[index]) << 16
        if count > 1 { group |= UInt32(data[index + 1]) << 8 }
        if count > 2 { group |= UInt32(data[index + 2]) }
        for place in 0..<4 {
          let isPadding = place > count
          bytes.append(isPadding ? UInt8(ascii: "=") : alphabet[Int(group >> UInt32(18 - 6 * place)) & 63])
        }
        index += 3
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
}
