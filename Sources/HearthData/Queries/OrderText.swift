package import HearthModel

/// An order as a word of a command line: `FIELD`, `FIELD:desc` or `FIELD desc`.
package enum OrderText {
  private static let directions: [String: OrderBy.Direction] = [
    "asc": .ascending, "ascending": .ascending, "desc": .descending, "descending": .descending,
  ]

  /// The words that people use for directions, and what they most likely mean.
  private static let otherNames = [
    "up": "asc", "increasing": "asc", "inc": "asc", "forward": "asc", "1": "asc", "+1": "asc", "+": "asc",
    "down": "desc", "decreasing": "desc", "dec": "desc", "dsc": "desc", "reverse": "desc", "reversed": "desc",
    "-1": "desc", "-": "desc",
  ]

  /// The direction that a word is, or most likely means; nil if it means none.
  package static func direction(meantBy word: String) -> String? {
    let word = word.lowercased()
    guard directions[word] != nil else { return otherNames[word] }
    return word.hasPrefix("desc") ? "desc" : "asc"
  }

  /// Refuses several fields, a direction behind another sign than a colon, and a semicolon or a comma at the end. What stands in quotation
  /// marks is a name.
  private static func checkOneField(_ word: ArraySlice<Character>, at place: String) throws(DataError) {
    let masked = QuotedParts.masked(word)
    if let sign = masked.lastIndex(where: { directionSigns.contains($0) }),
      let direction = direction(meantBy: String(Words.trimmed(word[(sign + 1)...])))
    {
      let field = String(Words.trimmed(word[..<sign]))
      throw .argument(
        "\(place): a direction stands behind a colon, and not behind \"\(word[sign])\" (character \(sign + 1)). Write "
          + "\(ShellWord.quoted("\(field):\(direction)")).")
    }
    guard let index = masked.firstIndex(where: { separators.contains($0) }) else { return }
    var pieces: [String] = []
    for indices in masked.indices.split(whereSeparator: { separators.contains(masked[$0]) }) {
      guard let first = indices.first, let last = indices.last else { continue }
      let piece = String(Words.trimmed(word[first...last]))
      if let direction = direction(meantBy: piece), let field = pieces.last, !field.contains(":") {
        pieces[pieces.count - 1] = "\(field):\(direction)"
      } else if !piece.isEmpty {
        pieces.append(piece)
      }
    }
    let start = "\(place): an order has one field, and \"\(word[index])\" (character \(index + 1)) is not part of it."
    guard pieces.count > 1 else { throw .argument("\(start) Write \(ShellWord.quoted(pieces.first ?? "name")).") }
    let options = pieces.map { "--order-by \(ShellWord.quoted($0))" }.joined(separator: " ")
    throw .argument("\(start) Repeat --order-by for each further one: \(options).")
  }

  private static let separators: Set<Character> = [";", ","]
  /// Signs that are written in place of the colon before a direction.
  private static let directionSigns: Set<Character> = ["=", "|", "/", ">", "~", "("]

  /// - Throws: A ``DataError`` for a wrong argument that names the place and the nearest right form.
  package static func order(_ text: String) throws(DataError) -> OrderBy {
    let place = "--order-by \"\(text)\""
    let characters = Array(text)
    let word = Words.trimmed(characters[...])
    guard let first = word.first else { throw .argument("\(place): the name of a field is missing.") }
    try checkOneField(word, at: place)
    let end = FieldText.end(in: word, at: [":", " ", "\t"])
    let field = String(word[..<end])
    if field.hasPrefix("--") {
      throw .argument(
        "\(place): this is an option, and no field. Write the field behind --order-by: --order-by name \(field).")
    }
    if first == "-" || first == "+", field.count > 1 {
      let meant = "\(field.dropFirst()):\(first == "-" ? "desc" : "asc")"
      throw .argument("\(place): a direction stands behind the field. Write \(ShellWord.quoted(meant)).")
    }
    guard !field.isEmpty else { throw .argument("\(place): the name of a field is missing before \":\".") }
    let path = try FieldText.path(field, at: place)
    var rest = Words.trimmed(word[end...])
    let hasColon = rest.first == ":"
    if hasColon { rest = Words.trimmed(rest.dropFirst()) }
    guard !rest.isEmpty else {
      guard !hasColon else {
        throw .argument(
          "\(place): a direction is missing after \":\". Write \(ShellWord.quoted(field + ":desc")) or \(ShellWord.quoted(field))."
        )
      }
      return OrderBy(path: path, direction: .ascending)
    }
    let name = String(rest)
    if let direction = directions[name.lowercased()] { return OrderBy(path: path, direction: direction) }
    let meant = otherNames[name.lowercased()] ?? NearestWord.of(name, in: directions.keys.sorted())
    throw .argument(
      "\(place): there is no direction \"\(name)\" (character \(rest.startIndex + 1)). "
        + (meant.map { "Write \(ShellWord.quoted("\(field):\($0)"))." }
          ?? "The directions are asc and desc, such as 'population:desc'."))
  }
}
