/// Reads a pattern into a `SyntaxTree`, in one pass and without recursion.
struct Parser {
  /// Groups within groups that a pattern may have, as in Go (which takes one less).
  static let deepestNesting = 1000
  /// The largest bound of a repetition, and of the product of nested ones, as in RE2.
  static let largestRepetition = 1000

  struct Flags: Hashable {
    var ignoresCase = false
    /// `^` and `$` also match at the ends of lines.
    var hasLines = false
    /// `.` matches a newline, too.
    var dotIsAll = false
    /// Repetitions are lazy, and greedy with a `?` behind them.
    var isLazy = false
  }

  /// A group whose end was not read yet. The first one stands for the whole pattern.
  struct OpenGroup {
    /// The group's number; nil for one that captures nothing.
    let number: Int?
    /// Flags that hold again behind the group.
    let outerFlags: Flags
    /// The text that opened it.
    let opening: Range<Int>
    var alternatives: [SyntaxTree.NodeID] = []
    /// The parts of the present alternative.
    var parts: [SyntaxTree.NodeID] = []
  }

  var cursor: PatternCursor
  var tree = SyntaxTree()
  var flags = Flags()
  var openGroups: [OpenGroup]
  /// Two groups must not have the same name.
  var groupNames: Set<String> = []
  /// The place of the repetition operator that was read last, if nothing was read behind it.
  var operatorBefore: Int?
  /// A place and that of the first `:]` at or behind it, if there is one.
  var nextNameEnd: (from: Int, place: Int?)?
  /// Nodes and ranges that may come from the pattern.
  let limit: Int

  /// - Parameter limit: The largest number of parts that the pattern may consist of.
  static func parse(_ pattern: String, limit: Int) throws(RegularExpressionError) -> SyntaxTree {
    var parser = Parser(pattern, limit: limit)
    try parser.readAll()
    return parser.tree
  }

  private init(_ pattern: String, limit: Int) {
    cursor = PatternCursor(pattern)
    self.limit = limit
    openGroups = [OpenGroup(number: nil, outerFlags: flags, opening: 0..<0)]
  }

  private mutating func readAll() throws(RegularExpressionError) {
    while let byte = cursor.peek() {
      let start = cursor.offset
      let wasOperator = try readItem(byte)
      operatorBefore = wasOperator ? operatorBefore ?? start : nil
      // Before more memory is taken for what the compiler would refuse.
      if tree.nodes.count + tree.rangeCount > limit { throw cursor.error(.tooLarge, 0..<cursor.bytes.count) }
    }
    if openGroups.count > 1, let group = openGroups.last { throw cursor.error(.missingParenthesis, group.opening) }
    tree.root = endGroupContents()
  }

  /// - Returns: True for a repetition operator.
  private mutating func readItem(_ byte: UInt8) throws(RegularExpressionError) -> Bool {
    switch Unicode.Scalar(byte) {
    case "(": try openGroup()
    case ")": try closeGroup()
    case "|":
      cursor.offset += 1
      endAlternative()
    case "*", "+", "?", "{": return try readRepetition()
    case "[": try readClass()
    case "\\": try readEscape()
    case ".":
      cursor.offset += 1
      append(tree.add(flags.dotIsAll ? ScalarSet.all : NamedSets.allButNewline))
    case "^":
      cursor.offset += 1
      append(tree.add(flags.hasLines ? Assertions.lineStart : .textStart))
    case "$":
      cursor.offset += 1
      append(tree.add(flags.hasLines ? Assertions.lineEnd : .textEnd))
    default: appendLiteral(cursor.readScalar())
    }
    return false
  }

  // MARK: - Parts

  mutating func append(_ node: SyntaxTree.NodeID) { openGroups[openGroups.count - 1].parts.append(node) }

  mutating func appendLiteral(_ scalar: UInt32) {
    let orbit = flags.ignoresCase ? CaseOrbits.shared.orbit(of: scalar) : [scalar]
    append(tree.add(ScalarSet(orbit.map { ScalarRange($0) })))
  }

  private mutating func endAlternative() {
    let last = openGroups.count - 1
    let sequence = tree.addSequence(openGroups[last].parts)
    openGroups[last].parts = []
    openGroups[last].alternatives.append(sequence)
  }

  /// Ends the innermost group.
  /// - Returns: The expression in it.
  mutating func endGroupContents() -> SyntaxTree.NodeID {
    endAlternative()
    return tree.addAlternatives(openGroups.removeLast().alternatives)
  }
}
