// Splits Swift source into tokens and comments, for scripts/structure.

struct Token {
  let text: Substring
  let line: Int
  /// True for a name in backticks, which is no keyword.
  let isQuoted: Bool
  let startsLine: Bool

  func isKeyword(_ keyword: Substring) -> Bool { text == keyword && !isQuoted }
  func isKeyword(in keywords: Set<Substring>) -> Bool { !isQuoted && keywords.contains(text) }

  /// True for what can be a name: an identifier, not a number, a mark or an operator.
  var isName: Bool {
    guard let first = text.utf8.first else { return false }
    return first >= 0x80 || first == UInt8(ascii: "_")
      || (first | 0x20) >= UInt8(ascii: "a") && (first | 0x20) <= UInt8(ascii: "z")
  }
}

struct Comment {
  let line: Int
  let text: Substring
  /// The index of the first token behind it.
  let next: Int
  var isDocumentation: Bool { text.hasPrefix("///") }
}

/// Splits source text into identifiers and single punctuation characters. The text of strings is left out, code in an interpolation is
/// not. Comments are kept apart.
struct Tokenizer {
  private let bytes: [UInt8]
  private var index = 0
  private var line = 1
  private var lineOfLastToken = 0
  private(set) var tokens: [Token] = []
  private(set) var comments: [Comment] = []

  init(_ text: String) {
    bytes = Array(text.utf8)
    tokens.reserveCapacity(bytes.count / 5)
    readCode(untilParenthesis: false)
  }

  private func byte(_ offset: Int = 0) -> UInt8 { index + offset < bytes.count ? bytes[index + offset] : 0 }

  private func isIdentifier(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"), 0x80...: true
    default: false
    }
  }

  /// Steps over one byte, and counts the line that it ends.
  private mutating func step() {
    if bytes[index] == UInt8(ascii: "\n") { line += 1 }
    index += 1
  }

  private mutating func add(_ range: Range<Int>, isQuoted: Bool = false) {
    let text = Substring(decoding: bytes[range], as: UTF8.self)
    tokens.append(Token(text: text, line: line, isQuoted: isQuoted, startsLine: line != lineOfLastToken))
    lineOfLastToken = line
  }

  /// Reads to the end of the text, or past the parenthesis that ends an interpolation.
  private mutating func readCode(untilParenthesis: Bool) {
    var depth = 0
    while index < bytes.count {
      switch byte() {
      case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "/"): readLineComment()
      case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "*"): skipBlockComment()
      case UInt8(ascii: "\""): readString(hashes: 0)
      case UInt8(ascii: "#") where startsRawString: readString(hashes: hashCount)
      case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\t"): step()
      case UInt8(ascii: "`"): readQuotedName()
      case let first where isIdentifier(first):
        let start = index
        while isIdentifier(byte()) { index += 1 }
        add(start..<index)
      case let mark:
        index += 1
        if mark == UInt8(ascii: "(") { depth += 1 }
        if mark == UInt8(ascii: ")") {
          depth -= 1
          if untilParenthesis, depth < 0 { return }
        }
        add(index - 1..<index)
      }
    }
  }

  private mutating func readQuotedName() {
    index += 1
    let start = index
    while index < bytes.count, byte() != UInt8(ascii: "`"), byte() != UInt8(ascii: "\n") { index += 1 }
    add(start..<index, isQuoted: true)
    if byte() == UInt8(ascii: "`") { index += 1 }
  }

  private mutating func readLineComment() {
    let start = index
    while index < bytes.count, byte() != UInt8(ascii: "\n") { index += 1 }
    let text = Substring(decoding: bytes[start..<index], as: UTF8.self)
    comments.append(Comment(line: line, text: text, next: tokens.count))
  }

  private mutating func skipBlockComment() {
    var depth = 0
    repeat {
      if byte() == UInt8(ascii: "/"), byte(1) == UInt8(ascii: "*") {
        depth += 1
        index += 2
      } else if byte() == UInt8(ascii: "*"), byte(1) == UInt8(ascii: "/") {
        depth -= 1
        index += 2
      } else {
        step()
      }
    } while depth > 0 && index < bytes.count
  }

  private var hashCount: Int { bytes[index...].prefix { $0 == UInt8(ascii: "#") }.count }
  private var startsRawString: Bool { byte(hashCount) == UInt8(ascii: "\"") }

  private mutating func readString(hashes: Int) {
    index += hashes
    let quotes = byte(1) == UInt8(ascii: "\"") && byte(2) == UInt8(ascii: "\"") ? 3 : 1
    let hash = [UInt8](repeating: UInt8(ascii: "#"), count: hashes)
    let end = [UInt8](repeating: UInt8(ascii: "\""), count: quotes) + hash
    let escape = [UInt8(ascii: "\\")] + hash
    index += quotes
    while index < bytes.count {
      if bytes[index...].starts(with: end) {
        index += end.count
        return
      }
      guard bytes[index...].starts(with: escape) else {
        step()
        continue
      }
      index += escape.count
      let isInterpolation = byte() == UInt8(ascii: "(")
      if index < bytes.count { step() }
      if isInterpolation { readCode(untilParenthesis: true) }
    }
  }
}
