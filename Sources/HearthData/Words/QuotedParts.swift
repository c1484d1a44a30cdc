/// The parts of a text that stand in quotation marks. What is in them is part of a name or a value, never an operator.
enum QuotedParts {
  private static let closingMarks: [Character: Set<Character>] = [
    "\"": ["\""], "'": ["'"], "`": ["`"], "“": ["”"], "„": ["“", "”"], "‘": ["’"], "«": ["»"],
  ]

  /// The characters, with an `x` in place of each that stands in quotation marks and of the marks.
  ///
  /// A mark that is not closed quotes everything behind it if the text begins with it. Elsewhere it is an apostrophe or a sign for inches.
  static func masked(_ text: ArraySlice<Character>) -> ArraySlice<Character> {
    var (result, index) = (text, text.startIndex)
    while index < text.endIndex {
      guard let end = end(in: text, from: index) else {
        index += 1
        continue
      }
      for place in index..<end { result[place] = "x" }
      index = end
    }
    return result
  }

  /// The place behind the part that begins at `start`; nil if none begins there.
  static func end(in text: ArraySlice<Character>, from start: Int) -> Int? {
    guard let closing = closingMarks[text[start]] else { return nil }
    if start > text.startIndex, text[start - 1].isLetter || text[start - 1].isNumber { return nil }
    var index = start + 1
    while index < text.endIndex {
      if text[index] == "\\" {
        index += 2
        continue
      }
      let isFollowedByWord = index + 1 < text.endIndex && text[index + 1].isLetter
      if closing.contains(text[index]), !isFollowedByWord { return index + 1 }
      index += 1
    }
    return start == text.startIndex ? text.endIndex : nil
  }
}
