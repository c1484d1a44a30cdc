internal import HearthModel

/// Values in the forms of other languages, such as `['bay']`, `[bay, sf]` and `{'$timestamp': '…'}`, and the JSON that they most likely mean.
enum RelaxedJSON {
  private static let otherMarks: Set<Character> = ["'", "“", "”", "„", "‘", "’", "«", "»", "`"]

  /// The JSON; nil if none is found.
  static func meant(by text: String) -> String? {
    let straight = String(text.map { otherMarks.contains($0) ? "\"" : $0 })
    if isJSON(straight) { return straight }
    return text.hasPrefix("[") ? list(text) : nil
  }

  /// The list of the elements between brackets or parentheses, or of words with commas between them; nil for other texts.
  static func list(_ text: String) -> String? {
    var characters = Words.trimmed(Array(text)[...])
    if let first = characters.first, let last = characters.last,
      first == "[" && last == "]" || first == "(" && last == ")"
    {
      characters = characters.dropFirst().dropLast()
    }
    let masked = QuotedParts.masked(characters)
    var elements: [String] = []
    for indices in masked.indices.split(whereSeparator: { masked[$0] == "," }) {
      guard let first = indices.first, let last = indices.last,
        let element = element(Words.trimmed(characters[first...last]))
      else { return nil }
      elements.append(element)
    }
    return elements.isEmpty ? nil : "[\(elements.joined(separator: ", "))]"
  }

  /// An element as JSON: as it is if it is some, and otherwise a text.
  private static func element(_ word: ArraySlice<Character>) -> String? {
    guard let first = word.first, let last = word.last, !word.contains(where: { "[]{}()".contains($0) }) else {
      return nil
    }
    let text = String(word)
    if isJSON(text) { return text }
    guard otherMarks.contains(first) || first == "\"" else { return JSONText.string(text).compact }
    guard word.count > 1, otherMarks.contains(last) || last == "\"" else { return nil }
    return JSONText.string(String(word.dropFirst().dropLast())).compact
  }

  private static func isJSON(_ text: String) -> Bool { (try? JSONTextReader.read(Array(text.utf8)[...])) != nil }
}
