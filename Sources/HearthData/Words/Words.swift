/// Pieces of the words of a command line.
enum Words {
  static func isSpace(_ character: Character) -> Bool { character.isWhitespace }

  /// The characters without the spaces at both ends.
  static func trimmed(_ text: ArraySlice<Character>) -> ArraySlice<Character> {
    let start = text.firstIndex { !isSpace($0) } ?? text.endIndex
    let end = text.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? start
    return text[start..<max(start, end)]
  }
}
