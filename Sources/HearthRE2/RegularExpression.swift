/// A regular expression in RE2's syntax (https://github.com/google/re2/wiki/Syntax).
///
/// It is compiled once, and then matches a text in time proportional to the text times the size of the program, whatever both hold, with
/// memory that depends on the program alone. The machines do not recurse. A value can be used on several threads at the same time.
///
/// Texts are UTF-8, and places in them are offsets of bytes. A byte that does not belong to valid UTF-8 matches as U+FFFD. Without the
/// flag `m`, `^` and `$` match only at the ends of the text.
package struct RegularExpression: Sendable {
  /// The program size that a pattern may have by default.
  package static let defaultProgramLimit = 100_000

  package let pattern: String
  /// The names of the groups from 1 on; nil for a group without a name.
  package let groupNames: [String?]
  /// The number of instructions, the measure for the time that a byte of text may take.
  package let programSize: Int
  let matcher: Matcher

  /// - Parameter programLimit: The largest program, in instructions and ranges of scalars, that the pattern may become.
  package init(_ pattern: String, programLimit: Int = defaultProgramLimit) throws(RegularExpressionError) {
    let tree = try Parser.parse(pattern, limit: programLimit)
    let limit = programLimit - tree.rangeCount
    guard let forwards = Compiler.compile(tree, .forwards, limit: limit),
      let backwards = Compiler.compile(tree, .backwards, limit: limit),
      forwards.threadCount <= Self.largestSlotCount / forwards.slotCount
    else {
      let bytes = Array(pattern.utf8)
      throw RegularExpressionError(.tooLarge, in: bytes, at: 0..<bytes.count)
    }
    self.pattern = pattern
    groupNames = tree.groupNames
    programSize = forwards.instructions.count
    matcher = Matcher(forwards: forwards, backwards: backwards)
  }

  /// The ends of groups that all threads together may have to carry, 16 bytes each.
  private static let largestSlotCount = 1_000_000

  package var groupCount: Int { groupNames.count }

  /// The number of the group with a name; of the first one, as several may have the same.
  package func group(named name: String) -> Int? { groupNames.firstIndex(of: name).map { $0 + 1 } }
}

extension RegularExpression: Hashable {
  package static func == (left: Self, right: Self) -> Bool { left.pattern == right.pattern }
  package func hash(into hasher: inout Hasher) { hasher.combine(pattern) }
}
