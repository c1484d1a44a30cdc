/// Finds the id of a document that a mistyped one most likely means.
package enum NearestID {
  /// - Returns: The nearest of `known`; nil if none is so near that it is worth a question.
  package static func of(_ id: String, in known: some Sequence<String>) -> String? {
    let typed = id.lowercased()
    var candidates: [String] = []
    for candidate in known where candidate != id {
      let name = candidate.lowercased()
      if name == typed { return candidate }
      // Ids that count, such as order-7 and order-8, are near to each other without being mistyped, and so are those of one character.
      if min(typed.count, name.count) > 1, withoutDigits(typed) != withoutDigits(name) { candidates.append(candidate) }
    }
    return NearestWord.of(id, in: candidates)
  }

  private static func withoutDigits(_ text: String) -> String { text.filter { !$0.isNumber } }
}
