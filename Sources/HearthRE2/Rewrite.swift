/// A text with references to groups, in RE2's syntax: `\0` is the whole match, `\1` to `\9` are groups, and `\\` is a backslash.
struct Rewrite: Sendable {
  private enum Part: Sendable {
    case text([UInt8])
    case group(Int)
  }

  private let parts: [Part]

  /// - Parameter groupCount: The groups that there are.
  init(_ text: String, groupCount: Int) throws(RegularExpressionUseError) {
    var parts: [Part] = []
    var literal: [UInt8] = []
    var isEscaped = false
    for (offset, byte) in text.utf8.enumerated() {
      if !isEscaped {
        if byte == UInt8(ascii: "\\") { isEscaped = true } else { literal.append(byte) }
        continue
      }
      isEscaped = false
      switch byte {
      case UInt8(ascii: "\\"): literal.append(byte)
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        let group = Int(byte - UInt8(ascii: "0"))
        guard group <= groupCount else {
          throw .missingGroup(group, groupCount: groupCount, offset: offset - 1)
        }
        if !literal.isEmpty { parts.append(.text(literal)) }
        literal = []
        parts.append(.group(group))
      default: throw .badRewriteEscape(offset: offset - 1)
      }
    }
    if isEscaped { throw .badRewriteEscape(offset: text.utf8.count - 1) }
    if !literal.isEmpty { parts.append(.text(literal)) }
    self.parts = parts
  }

  /// True if more than the place of the match is needed.
  var needsGroups: Bool {
    parts.contains { part in
      if case .group(let number) = part { return number > 0 }
      return false
    }
  }

  /// The bytes that take the place of a match.
  func size(for ranges: [Range<Int>?]) -> Int {
    parts.reduce(0) { size, part in
      switch part {
      case .text(let bytes): size + bytes.count
      case .group(let number): size + (ranges[number]?.count ?? 0)
      }
    }
  }

  /// - Parameter ranges: Those of the match and of its groups.
  func append(to result: inout [UInt8], for ranges: [Range<Int>?], in text: UnsafeBufferPointer<UInt8>) {
    for part in parts {
      switch part {
      case .text(let bytes): result += bytes
      case .group(let number):
        if let range = ranges[number] { result += text[range] }
      }
    }
  }
}
