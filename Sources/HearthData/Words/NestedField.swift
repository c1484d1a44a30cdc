internal import HearthModel

/// A field within a map as other languages write it: `address["zip"]`, `address/zip`, `address->zip`, `address::zip`.
enum NestedField {
  private static let separators: Set<Character> = [".", "/", "\\", "[", "]", ">", ":", "?", "!"]

  /// The sentence with the form that is most likely meant; nil if none is.
  static func advice(for text: String) -> String? {
    let characters = Array(text)
    let masked = QuotedParts.masked(characters[...])
    // The part of the masked text that a quotation is has no separators.
    var names: [String] = []
    for indices in masked.indices.split(whereSeparator: { separators.contains(masked[$0]) }) {
      guard let first = indices.first, let last = indices.last else { continue }
      names.append(bare(String(characters[first...last]), isBeforeArrow: isArrow(characters, behind: last)))
    }
    guard names.count > 1, names.allSatisfy({ !$0.isEmpty }) else { return nil }
    if names.dropFirst().contains(where: { $0.allSatisfy(\.isNumber) }) {
      return "The elements of an array have no names: look for one with array-contains."
    }
    guard let path = try? FieldPath(names).canonicalString else { return nil }
    return "Fields within maps are written with dots: \(path)."
  }

  private static func isArrow(_ text: [Character], behind index: Int) -> Bool {
    text[index] == "-" && index + 1 < text.count && text[index + 1] == ">"
  }

  /// The name without quotation marks around it, and without the beginning of an arrow.
  private static func bare(_ name: String, isBeforeArrow: Bool) -> String {
    let name = isBeforeArrow ? String(name.dropLast()) : name
    guard name.count > 1, let mark = name.first, "\"'`".contains(mark), name.last == mark else { return name }
    return String(name.dropFirst().dropLast())
  }
}
