/// Collects what stands between brackets.
private struct ClassBuilder {
  private var ranges: [ScalarRange] = []
  /// Named sets that were added. Each counts once.
  private var names: Set<String> = []
  /// The number of ranges at which they are put in order, so that a long class takes no more memory than its result.
  private var nextOrdering = 1024

  mutating func add(_ range: ScalarRange) {
    ranges.append(range)
    guard ranges.count >= nextOrdering else { return }
    ranges = ScalarSet(ranges).ranges
    nextOrdering = max(1024, 2 * ranges.count)
  }

  mutating func add(_ item: Parser.NamedSet, ignoringCase: Bool) {
    guard names.insert("\(item.isNegated ? "^" : "")\(item.name)").inserted else { return }
    var set = item.set
    if item.isNegated {
      // A negated set leaves out also what differs only in case.
      if ignoringCase { set = CaseOrbits.shared.folded(set) }
      set = set.inverted
    }
    for range in set.ranges { add(range) }
  }

  func finished(ignoringCase: Bool, isNegated: Bool) -> ScalarSet {
    var set = ScalarSet(ranges)
    if ignoringCase { set = CaseOrbits.shared.folded(set) }
    return isNegated ? set.inverted : set
  }
}

extension Parser {
  /// Reads `[…]`.
  mutating func readClass() throws(RegularExpressionError) {
    let start = cursor.offset
    cursor.offset += 1
    let isNegated = cursor.skip("^")
    var builder = ClassBuilder()
    var isFirst = true
    // A bracket that comes first is part of the class.
    while cursor.peek() != UInt8(ascii: "]") || isFirst {
      guard !cursor.isAtEnd else { throw cursor.error(.missingBracket, from: start) }
      isFirst = false
      if let item = try readNamedClass() {
        builder.add(item, ignoringCase: flags.ignoresCase)
      } else if cursor.peek() == UInt8(ascii: "\\"), let item = try readClassEscape() {
        builder.add(item, ignoringCase: flags.ignoresCase)
      } else {
        builder.add(try readClassRange(of: start))
      }
    }
    cursor.offset += 1
    append(tree.add(builder.finished(ignoringCase: flags.ignoresCase, isNegated: isNegated)))
  }

  /// Reads `[:NAME:]` or `[:^NAME:]`.
  /// - Returns: Nil, at the same place, where no such thing ends.
  private mutating func readNamedClass() throws(RegularExpressionError) -> NamedSet? {
    let start = cursor.offset
    guard cursor.starts(with: "[:"), let end = nameEnd(from: start + 2) else { return nil }
    var name = cursor.text(start + 2..<end)
    cursor.offset = end + 2
    let isNegated = name.hasPrefix("^")
    if isNegated { name = name.dropFirst() }
    guard let set = NamedSets.asciiClass(name) else { throw cursor.error(.badCharacterRange, from: start) }
    return NamedSet(name: ":\(name)", set: set, isNegated: isNegated)
  }

  /// The place of the first `:]` from a place on. It is looked for once for each stretch of the pattern, however often `[:` stands there.
  private mutating func nameEnd(from place: Int) -> Int? {
    if let known = nextNameEnd, known.from <= place, known.place.map({ $0 >= place }) ?? true { return known.place }
    var copy = cursor
    copy.offset = place
    nextNameEnd = (place, copy.find(":]"))
    return nextNameEnd?.place
  }

  /// Reads a scalar or a range of them.
  /// - Parameter start: The place where the class begins.
  private mutating func readClassRange(of start: Int) throws(RegularExpressionError) -> ScalarRange {
    let rangeStart = cursor.offset
    let lower = try readClassScalar(of: start)
    // A hyphen before the closing bracket stands for itself.
    guard cursor.peek() == UInt8(ascii: "-"), let next = cursor.peek(1), next != UInt8(ascii: "]") else {
      return ScalarRange(lower)
    }
    cursor.offset += 1
    let upper = try readClassScalar(of: start)
    guard lower <= upper else { throw cursor.error(.badCharacterRange, from: rangeStart) }
    return ScalarRange(lower, upper)
  }

  private mutating func readClassScalar(of start: Int) throws(RegularExpressionError) -> UInt32 {
    guard !cursor.isAtEnd else { throw cursor.error(.missingBracket, from: start) }
    return cursor.peek() == UInt8(ascii: "\\") ? try readEscapedScalar() : cursor.readScalar()
  }
}
