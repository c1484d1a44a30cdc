extension Parser {
  /// Reads an operator that repeats the part before it, or a brace that stands for itself.
  /// - Returns: True for an operator.
  mutating func readRepetition() throws(RegularExpressionError) -> Bool {
    let start = cursor.offset
    guard var repetition = try readOperator() else {
      cursor.offset += 1
      appendLiteral(UInt32(UInt8(ascii: "{")))
      return false
    }
    repetition.isGreedy = cursor.skip("?") == flags.isLazy
    // In Perl, "a++" is something else than a repetition of a repetition.
    if let operatorBefore { throw cursor.error(.badRepetitionOperator, from: operatorBefore) }
    guard let part = openGroups[openGroups.count - 1].parts.popLast() else {
      throw cursor.error(.missingRepetitionArgument, from: start)
    }
    let node = tree.addRepetition(part, repetition)
    guard tree.copies(node) <= Self.largestRepetition else { throw cursor.error(.badRepetitionSize, from: start) }
    append(node)
    return true
  }

  private mutating func readOperator() throws(RegularExpressionError) -> SyntaxTree.Repetition? {
    if cursor.skip("*") { return .init(minimum: 0, maximum: nil, isGreedy: true) }
    if cursor.skip("+") { return .init(minimum: 1, maximum: nil, isGreedy: true) }
    if cursor.skip("?") { return .init(minimum: 0, maximum: 1, isGreedy: true) }
    return try readCount()
  }

  /// Reads `{n}`, `{n,}` or `{n,m}`.
  /// - Returns: Nil, at the same place, for a brace that begins nothing of the kind.
  private mutating func readCount() throws(RegularExpressionError) -> SyntaxTree.Repetition? {
    let start = cursor.offset
    var copy = cursor
    copy.offset += 1
    guard let minimum = Self.readNumber(&copy) else { return nil }
    var maximum: Int? = minimum
    if copy.skip(",") {
      maximum = nil
      if copy.peek() != UInt8(ascii: "}") {
        guard let number = Self.readNumber(&copy) else { return nil }
        maximum = number
      }
    }
    guard copy.skip("}") else { return nil }
    cursor = copy
    let largest = maximum ?? minimum
    guard largest <= Self.largestRepetition, minimum <= largest else {
      throw cursor.error(.badRepetitionSize, from: start)
    }
    return SyntaxTree.Repetition(minimum: minimum, maximum: maximum, isGreedy: true)
  }

  /// Reads digits without needless zeros; numbers above the limit become one above it.
  private static func readNumber(_ cursor: inout PatternCursor) -> Int? {
    let start = cursor.offset
    var number = 0
    while let byte = cursor.peek(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
      number = min(number * 10 + Int(byte - UInt8(ascii: "0")), largestRepetition + 1)
      cursor.offset += 1
    }
    let length = cursor.offset - start
    guard length > 0, length == 1 || cursor.bytes[start] != UInt8(ascii: "0") else { return nil }
    return number
  }
}
