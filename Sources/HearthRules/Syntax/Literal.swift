/// Reads the text of literals.
enum Literal {
  /// - Parameter text: The quotes and what is between them.
  static func string(_ text: ArraySlice<UInt8>, at range: SourceRange) throws(SyntaxError) -> String {
    var scalars = String.UnicodeScalarView()
    var highSurrogate: UInt32?
    try forEachPart(of: text, at: range) { part throws(SyntaxError) in
      switch part {
      case .text(let bytes):
        scalars += String(decoding: bytes, as: UTF8.self).unicodeScalars
        highSurrogate = nil
      case .code(let code, _):
        // Two escapes may make one scalar, as in UTF-16.
        if let high = highSurrogate, (0xDC00..<0xE000).contains(code) {
          scalars.removeLast()
          if let scalar = Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (code - 0xDC00)) { scalars.append(scalar) }
          highSurrogate = nil
        } else {
          scalars.append(Unicode.Scalar(code) ?? "\u{FFFD}")
          highSurrogate = (0xD800..<0xDC00).contains(code) ? code : nil
        }
      }
    }
    return String(scalars)
  }

  /// - Parameter text: The quotes and what is between them, without the `b` before them.
  static func bytes(_ text: ArraySlice<UInt8>, at range: SourceRange) throws(SyntaxError) -> [UInt8] {
    var result: [UInt8] = []
    try forEachPart(of: text, at: range) { part throws(SyntaxError) in
      switch part {
      case .text(let bytes): result += bytes
      case .code(let code, let isUnicode):
        guard !isUnicode, let byte = UInt8(exactly: code) else {
          throw SyntaxError("bytes have no escape \\u", range)
        }
        result.append(byte)
      }
    }
    return result
  }

  private enum Part {
    case text(ArraySlice<UInt8>)
    /// The number of an escape, and true for `\u`.
    case code(UInt32, isUnicode: Bool)
  }

  private static let simpleEscapes: [UInt8: UInt32] = [
    UInt8(ascii: "n"): 10, UInt8(ascii: "r"): 13, UInt8(ascii: "t"): 9, UInt8(ascii: "b"): 8, UInt8(ascii: "f"): 12,
    UInt8(ascii: "\\"): 92, UInt8(ascii: "'"): 39, UInt8(ascii: "\""): 34,
  ]

  /// Takes the text apart: `\n`, `\x41`, `\u0041`, `\101`, and what is between them.
  private static func forEachPart(
    of text: ArraySlice<UInt8>, at range: SourceRange, _ body: (Part) throws(SyntaxError) -> Void
  ) throws(SyntaxError) {
    var rest = text.dropFirst().dropLast()
    while let slash = rest.firstIndex(of: UInt8(ascii: "\\")) {
      if slash > rest.startIndex { try body(.text(rest[..<slash])) }
      rest = rest[(slash + 1)...]
      guard let kind = rest.first else { break }
      if let code = simpleEscapes[kind] {
        try body(.code(code, isUnicode: false))
        rest = rest.dropFirst()
      } else if kind == UInt8(ascii: "x"), let code = number(rest.dropFirst(), digits: 2, radix: 16) {
        try body(.code(code, isUnicode: false))
        rest = rest.dropFirst(3)
      } else if kind == UInt8(ascii: "u"), let code = number(rest.dropFirst(), digits: 4, radix: 16) {
        try body(.code(code, isUnicode: true))
        rest = rest.dropFirst(5)
      } else if let code = number(rest, digits: 3, radix: 8), code < 256 {
        try body(.code(code, isUnicode: false))
        rest = rest.dropFirst(3)
      } else {
        let escape = "\\" + String(decoding: [kind], as: UTF8.self)
        throw SyntaxError("the language has no escape \(escape.quotedBriefly)", range)
      }
    }
    if !rest.isEmpty { try body(.text(rest)) }
  }

  private static func number(_ text: ArraySlice<UInt8>, digits: Int, radix: UInt32) -> UInt32? {
    var number: UInt32 = 0
    guard text.count >= digits else { return nil }
    for byte in text.prefix(digits) {
      guard let digit = byte.hexDigit, UInt32(digit) < radix else { return nil }
      number = number * radix + UInt32(digit)
    }
    return number
  }
}
