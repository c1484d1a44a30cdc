package import HearthModel

/// The name of a field as a word of a command line.
///
/// Plain names are separated by dots. A name with a space, an operator or punctuation stands in backquotes, because such characters are
/// mistakes far more often than parts of names.
package enum FieldText {
  /// Characters that end or spoil a name outside of backquotes.
  private static let foreign: Set<Character> = [
    " ", "\t", "\"", "'", "“", "”", "„", "‘", "’", "«", "»", ",", ";", ":", "(", ")", "{", "}", "[", "]", "<", ">", "=",
    "!", "~", "*", "/", "\\", "&", "|", "≠", "≤", "≥",
  ]

  private static let quotationMarks: Set<Character> = ["\"", "'", "“", "”", "„", "‘", "’", "«", "»"]

  /// - Parameter place: The option with its word, such as `--order-by "n:down"`.
  /// - Throws: A ``DataError`` for a wrong argument that names the place.
  package static func path(_ text: String, at place: String) throws(DataError) -> FieldPath {
    guard !text.isEmpty else {
      throw .argument("\(place): the name of a field is missing.")
    }
    if text.contains("`") {
      do {
        return try FieldPath(parsingServerFormat: text, requiringQuotes: true)
      } catch {
        throw .argument(
          "\(place): \(text) is not the name of a field. Backquotes stand around each name that is not plain: `a b`.c.")
      }
    }
    if let first = text.first, quotationMarks.contains(first) {
      let bare = String(
        text.drop(while: quotationMarks.contains).reversed().drop(while: quotationMarks.contains).reversed())
      let isPlain = !bare.contains(where: foreign.contains) && (try? FieldPath(parsingUserFormat: bare)) != nil
      throw .argument(
        "\(place): names of fields have no quotation marks. Write \(isPlain ? bare : "`\(bare)`").")
    }
    if let character = text.first(where: { $0 == ";" || $0 == "," }) {
      throw .argument(
        "\(place): \(text) is not the name of one field. Repeat the option for each further field. A name that has the character "
          + "\(character) stands in backquotes, such as `a\(character)b`.")
    }
    if let character = text.first(where: foreign.contains) {
      let advice = NestedField.advice(for: text).map { " " + $0 } ?? ""
      throw .argument(
        "\(place): \(text) is not the name of a field, because of the character \(shown(character)).\(advice) A name that has it stands in "
          + "backquotes, such as `a\(character)b`.")
    }
    do {
      return try FieldPath(parsingUserFormat: text)
    } catch {
      throw .argument(
        "\(place): \(text) is not the name of a field. Names are separated by single dots, such as address.city.")
    }
  }

  /// Names that are separated by commas.
  package static func list(_ text: String, at place: String) throws(DataError) -> [FieldPath] {
    var paths: [FieldPath] = []
    var rest = Array(text)[...]
    while true {
      let end = end(in: rest, at: [",", ";"])
      if end < rest.endIndex, rest[end] == ";" {
        throw .argument(
          "\(place): names of fields are separated by commas, and \";\" (character \(end + 1)) is none. A name that has it stands in "
            + "backquotes, such as `a;b`.")
      }
      paths.append(try path(String(Words.trimmed(rest[..<end])), at: place))
      guard end < rest.endIndex else { return paths }
      rest = rest[(end + 1)...]
    }
  }

  private static func shown(_ character: Character) -> String { character == " " ? "space" : String(character) }

  /// The end of a name in a longer text: the first character of `ends` outside of backquotes, and of quotation marks around the whole name.
  static func end(in text: ArraySlice<Character>, at ends: Set<Character>) -> Int {
    var isQuoted = false
    var index = text.startIndex
    if let first = text.first, quotationMarks.contains(first) {
      index = QuotedParts.end(in: text, from: index) ?? index
    }
    while index < text.endIndex {
      switch text[index] {
      case "`": isQuoted.toggle()
      case "\\" where isQuoted: index += 1
      case let character where !isQuoted && ends.contains(character): return index
      default: break
      }
      index += 1
    }
    return text.endIndex
  }
}
