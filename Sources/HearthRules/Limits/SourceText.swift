/// A range of bytes of a rules file.
package struct SourceRange: Hashable, Sendable {
  package var start: Int32
  package var end: Int32

  init(_ start: Int, _ end: Int) {
    self.start = Int32(clamping: start)
    self.end = Int32(clamping: end)
  }

  func through(_ other: SourceRange) -> SourceRange { SourceRange(Int(start), Int(other.end)) }
}

/// The text of a rules file, with its lines.
package struct SourceText: Sendable {
  package let bytes: [UInt8]
  /// The offset of the first byte of each line.
  private let lineStarts: [Int]

  init(_ text: String) {
    bytes = Array(text.utf8)
    var starts = [0]
    for (index, byte) in bytes.enumerated() where byte == UInt8(ascii: "\n") { starts.append(index + 1) }
    lineStarts = starts
  }

  /// The line and the column of an offset, both from 1 on.
  package func position(of offset: Int) -> (line: Int, column: Int) {
    var low = 0
    var high = lineStarts.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if lineStarts[middle] <= offset { low = middle } else { high = middle }
    }
    let line = bytes[lineStarts[low]..<min(max(offset, lineStarts[low]), bytes.count)]
    return (low + 1, line.count { $0 & 0xC0 != 0x80 } + 1)
  }

  package func text(of range: SourceRange) -> String {
    let start = min(max(0, Int(range.start)), bytes.count)
    return String(decoding: bytes[start..<min(max(start, Int(range.end)), bytes.count)], as: UTF8.self)
  }

  func issue(_ severity: RuleIssue.Severity, _ message: String, at range: SourceRange, in rule: String?) -> RuleIssue {
    let place = position(of: Int(range.start))
    let start = lineStarts[place.line - 1]
    let end = place.line < lineStarts.count ? lineStarts[place.line] - 1 : bytes.count
    let line = String(decoding: bytes[start..<min(end, start + 200)], as: UTF8.self)
    return RuleIssue(
      severity: severity, line: place.line, column: place.column, range: range, text: line, rule: rule,
      message: message)
  }

  /// The text of a range on one line, without the blanks at the beginnings of lines.
  ///
  /// - Parameter limit: The number of characters after which it is cut.
  package func excerpt(of range: SourceRange, limit: Int) -> String {
    // Four bytes are the most that a character has; comments and indentation are part of the text.
    let start = min(max(0, Int(range.start)), bytes.count)
    let end = min(max(start, Int(range.end)), bytes.count, start + 16 * limit)
    let words = String(decoding: bytes[start..<end], as: UTF8.self)
      .split(whereSeparator: \.isNewline).map { $0.drop { $0 == " " || $0 == "\t" } }
    let text = words.joined(separator: " ").unicodeScalars
    return text.count <= limit ? String(text) : String(String.UnicodeScalarView(text.prefix(limit))) + "…"
  }
}
