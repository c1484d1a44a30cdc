extension Parser {
  /// Reads what a backslash begins, outside of brackets.
  mutating func readEscape() throws(RegularExpressionError) {
    switch cursor.peek(1).map({ Unicode.Scalar($0) }) {
    case "A": appendAssertion(.textStart)
    case "z": appendAssertion(.textEnd)
    case "b": appendAssertion(.wordBoundary)
    case "B": appendAssertion(.noWordBoundary)
    case "Q": readQuoted()
    default:
      if let item = try readClassEscape() {
        let set = flags.ignoresCase ? CaseOrbits.shared.folded(item.set) : item.set
        append(tree.add(item.isNegated ? set.inverted : set))
      } else {
        appendLiteral(try readEscapedScalar())
      }
    }
  }

  private mutating func appendAssertion(_ assertion: Assertions) {
    cursor.offset += 2
    append(tree.add(assertion))
  }

  /// Reads `\Q…\E`; the end of the pattern ends it, too.
  private mutating func readQuoted() {
    cursor.offset += 2
    let end = cursor.find("\\E") ?? cursor.bytes.count
    while cursor.offset < end, !isFull { appendLiteral(cursor.readScalar()) }
    if !cursor.isAtEnd { cursor.offset = end + 2 }
  }

  /// More was read than the pattern may consist of; the error is thrown when the present item ends.
  private var isFull: Bool { tree.nodes.count > limit }

  // MARK: - Sets

  /// A set by its name, before it is folded and negated.
  struct NamedSet {
    let name: Substring
    let set: ScalarSet
    let isNegated: Bool
  }

  /// Reads `\d`, `\pN`, `\p{Greek}` and the like.
  /// - Returns: Nil, at the same place, where something else stands.
  mutating func readClassEscape() throws(RegularExpressionError) -> NamedSet? {
    let start = cursor.offset
    guard let letter = cursor.peek(1) else { return nil }
    if let set = NamedSets.perlClass(letter | 0x20), letter & 0x40 != 0 {
      cursor.offset += 2
      return NamedSet(name: cursor.text(start..<cursor.offset), set: set, isNegated: letter & 0x20 == 0)
    }
    guard letter == UInt8(ascii: "p") || letter == UInt8(ascii: "P") else { return nil }
    cursor.offset += 2
    guard !cursor.isAtEnd else { throw cursor.error(.badCharacterRange, from: start) }
    var name: Substring
    if cursor.skip("{") {
      guard let end = cursor.find("}") else {
        throw cursor.error(.badCharacterRange, start..<cursor.bytes.count)
      }
      name = cursor.text(cursor.offset..<end)
      cursor.offset = end + 1
    } else {
      let nameStart = cursor.offset
      _ = cursor.readScalar()
      name = cursor.text(nameStart..<cursor.offset)
    }
    var isNegated = letter == UInt8(ascii: "P")
    if name.hasPrefix("^") {
      isNegated.toggle()
      name = name.dropFirst()
    }
    guard let set = UnicodeSets.shared.set(named: name) else { throw cursor.error(.badCharacterRange, from: start) }
    return NamedSet(name: name, set: set, isNegated: isNegated)
  }

  // MARK: - Scalars

  /// Reads an escape that stands for one scalar, in brackets or outside.
  mutating func readEscapedScalar() throws(RegularExpressionError) -> UInt32 {
    let start = cursor.offset
    cursor.offset += 1
    guard !cursor.isAtEnd else { throw cursor.error(.trailingBackslash, from: start) }
    let scalar = cursor.readScalar()
    switch scalar {
    case "0": return readOctal(first: 0)
    case "1"..."7":
      // A single digit is a backreference, which no automaton can follow.
      guard let next = cursor.peek(), Self.isOctal(next) else { break }
      return readOctal(first: scalar - UInt32(UInt8(ascii: "0")))
    case "x":
      if let value = readHexadecimal() { return value }
    case "a": return 0x07
    case "f": return 0x0C
    case "n": return 0x0A
    case "r": return 0x0D
    case "t": return 0x09
    case "v": return 0x0B
    default:
      // Punctuation and white space stand for themselves.
      if scalar < 0x80, scalar == UInt32(UInt8(ascii: "_")) || !NamedSets.wordScalars.contains(scalar) { return scalar }
    }
    throw cursor.error(.badEscape, from: start)
  }

  private mutating func readOctal(first: UInt32) -> UInt32 {
    var value = first
    for _ in 0..<2 {
      guard let next = cursor.peek(), Self.isOctal(next) else { break }
      value = value * 8 + UInt32(next - UInt8(ascii: "0"))
      cursor.offset += 1
    }
    return value
  }

  private static func isOctal(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "7")).contains(byte) }

  /// Reads `7F` or `{10FFFF}`.
  /// - Returns: Nil if there is no such number.
  private mutating func readHexadecimal() -> UInt32? {
    if cursor.skip("{") {
      var value: UInt32?
      while let digit = cursor.peek().flatMap(Self.hexadecimalDigit) {
        value = (value ?? 0) * 16 + digit
        cursor.offset += 1
        if value ?? 0 > ScalarSet.lastScalar { return nil }
      }
      return cursor.skip("}") ? value : nil
    }
    guard let high = cursor.peek().flatMap(Self.hexadecimalDigit),
      let low = cursor.peek(1).flatMap(Self.hexadecimalDigit)
    else { return nil }
    cursor.offset += 2
    return high * 16 + low
  }

  private static func hexadecimalDigit(_ byte: UInt8) -> UInt32? {
    switch Unicode.Scalar(byte) {
    case "0"..."9": UInt32(byte - UInt8(ascii: "0"))
    case "a"..."f": UInt32(byte - UInt8(ascii: "a")) + 10
    case "A"..."F": UInt32(byte - UInt8(ascii: "A")) + 10
    default: nil
    }
  }
}

/// Compares the number of a scalar with a literal.
private func ~= (pattern: Unicode.Scalar, value: UInt32) -> Bool { pattern.value == value }
private func ~= (pattern: ClosedRange<Unicode.Scalar>, value: UInt32) -> Bool {
  (pattern.lowerBound.value...pattern.upperBound.value).contains(value)
}
