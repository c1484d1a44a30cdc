/// Splits a rules file into tokens, one at a time and without memory of those before. The segments of paths are read on request, since
/// `/` is also division.
struct Lexer {
  let source: SourceText
  private(set) var offset = 0

  private var bytes: [UInt8] { source.bytes }

  init(_ source: SourceText) { self.source = source }

  mutating func move(to offset: Int) { self.offset = offset }

  // MARK: - Tokens

  mutating func next() throws(SyntaxError) -> Token {
    try skipBlanks()
    let start = offset
    guard let byte = peek() else { return token(.end, from: start) }
    if byte.isNameStart {
      if byte == UInt8(ascii: "b"), let quote = peek(1), quote.isQuote {
        offset += 1
        try skipString(quote)
        return token(.bytes, from: start)
      }
      while let byte = peek(), byte.isNamePart { offset += 1 }
      return token(.identifier, from: start)
    }
    if byte.isDigit || byte == UInt8(ascii: ".") && (peek(1)?.isDigit ?? false) { return readNumber() }
    if byte.isQuote {
      try skipString(byte)
      return token(.string, from: start)
    }
    return try readSign()
  }

  private mutating func readNumber() -> Token {
    let start = offset
    // A number does not begin with a zero that more digits follow.
    if peek() == UInt8(ascii: "0") { offset += 1 } else { skipDigits() }
    guard peek() == UInt8(ascii: ".") else { return token(.integer, from: start) }
    offset += 1
    skipDigits()
    return token(.float, from: start)
  }

  private mutating func skipDigits() {
    while let byte = peek(), byte.isDigit { offset += 1 }
  }

  /// Skips a string without its escapes being checked; it ends on its line.
  private mutating func skipString(_ quote: UInt8) throws(SyntaxError) {
    let start = offset
    offset += 1
    while let byte = peek(), byte != UInt8(ascii: "\n") {
      offset += 1
      if byte == quote { return }
      if byte == UInt8(ascii: "\\"), let escaped = peek(), escaped != UInt8(ascii: "\n") { offset += 1 }
    }
    throw SyntaxError("the string does not end on its line", SourceRange(start, offset))
  }

  private mutating func readSign() throws(SyntaxError) -> Token {
    let start = offset
    for length in [2, 1] where start + length <= bytes.count {
      guard let sign = Token.Sign(rawValue: String(decoding: bytes[start..<start + length], as: UTF8.self)) else {
        continue
      }
      offset += length
      if sign == .equal || sign == .notEqual, peek() == UInt8(ascii: "=") {
        throw SyntaxError(
          "there is no operator \(sign.rawValue)=; write \(sign.rawValue)", SourceRange(start, offset + 1))
      }
      if sign == .minus && peek() == UInt8(ascii: "-") || sign == .plus && peek() == UInt8(ascii: "+") {
        throw SyntaxError("there are no operators ++ and --", SourceRange(start, start + 2))
      }
      return token(.sign(sign), from: start)
    }
    offset += 1
    while let byte = peek(), byte & 0xC0 == 0x80 { offset += 1 }
    let text = String(decoding: bytes[start..<offset], as: UTF8.self)
    let hint = Self.hints[text].map { "; \($0)" } ?? ""
    throw SyntaxError("unexpected character \(text.quotedBriefly)\(hint)", SourceRange(start, offset))
  }

  /// The signs that other languages have for comments and operators.
  private static let hints = [
    "#": "comments begin with //", "&": "write &&", "|": "write ||", "`": "texts stand in ' or \"",
    "“": "texts stand in ' or \"",
    "‘": "texts stand in ' or \"",
  ]

  // MARK: - Paths

  /// Reads the name of a segment, behind its slash: letters, digits and `-_.~:@+*%&'`, or a name in parentheses.
  /// - Returns: The decoded name; nil if there is none.
  mutating func readSegmentName() -> String? {
    let start = offset
    if peek() == UInt8(ascii: "(") {
      var end = offset + 1
      while end < bytes.count, bytes[end].isSegmentPart { end += 1 }
      guard end > offset + 1, end < bytes.count, bytes[end] == UInt8(ascii: ")") else { return nil }
      offset = end + 1
    } else {
      while let byte = peek(), byte.isSegmentPart { offset += 1 }
    }
    guard offset > start else { return nil }
    return PercentEncoding.decoded(bytes[start..<offset])
  }

  // MARK: - Bytes

  /// Skips white space and comments.
  mutating func skipBlanks() throws(SyntaxError) {
    while let byte = peek() {
      if byte.isBlank {
        offset += 1
      } else if byte == UInt8(ascii: "/"), peek(1) == UInt8(ascii: "/") {
        while let byte = peek(), byte != UInt8(ascii: "\n") { offset += 1 }
      } else if byte == UInt8(ascii: "/"), peek(1) == UInt8(ascii: "*") {
        let start = offset
        offset += 2
        while let byte = peek(), byte != UInt8(ascii: "*") || peek(1) != UInt8(ascii: "/") { offset += 1 }
        guard peek() != nil else { throw SyntaxError("the comment does not end", SourceRange(start, start + 2)) }
        offset += 2
      } else {
        return
      }
    }
  }

  func peek(_ distance: Int = 0) -> UInt8? {
    offset + distance < bytes.count ? bytes[offset + distance] : nil
  }

  private func token(_ kind: Token.Kind, from start: Int) -> Token {
    Token(kind: kind, range: SourceRange(start, offset))
  }
}

extension UInt8 {
  fileprivate var isBlank: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
  fileprivate var isQuote: Bool { self == UInt8(ascii: "'") || self == UInt8(ascii: "\"") }
  fileprivate var isLetter: Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(self) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self)
  }
  fileprivate var isNameStart: Bool { isLetter || self == UInt8(ascii: "_") || self == UInt8(ascii: "$") }
  fileprivate var isNamePart: Bool { isNameStart || isDigit }
  fileprivate var isSegmentPart: Bool { isLetter || isDigit || Self.segmentSigns.contains(self) }
  private static let segmentSigns = Set("-_.~:@+*%&'".utf8)
}
