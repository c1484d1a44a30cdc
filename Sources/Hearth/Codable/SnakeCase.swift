/// The conversion between `camelCase` and `snake_case`, as `JSONEncoder` and `JSONDecoder` do it.
enum SnakeCase {
  /// `myURLProperty` becomes `my_url_property`. Underscores stay. Words begin where Foundation begins them, also in names that start with
  /// several capitals, because fields written by programs of the official SDK have these names.
  static func encode(_ name: String) -> String {
    let characters = Array(name)
    guard !characters.isEmpty else { return name }
    var words: [Range<Int>] = []
    var wordStart = 0
    var position = 1
    while let capital = characters[position...].firstIndex(where: \.isUppercase) {
      words.append(wordStart..<capital)
      wordStart = capital
      guard let lowercase = characters[capital...].firstIndex(where: \.isLowercase) else {
        position = characters.count
        break
      }
      // The last of several capitals in a row belongs to the next word.
      if lowercase > capital + 1 {
        words.append(capital..<lowercase - 1)
        wordStart = lowercase - 1
      }
      position = lowercase + 1
    }
    words.append(wordStart..<characters.count)
    return words.map { String(characters[$0]).lowercased() }.joined(separator: "_")
  }

  /// `my_url_property` becomes `myUrlProperty`. Underscores at both ends stay; a name without others stays as it is.
  static func decode(_ name: String) -> String {
    guard let start = name.firstIndex(where: { $0 != "_" }), let last = name.lastIndex(where: { $0 != "_" }) else {
      return name
    }
    let end = name.index(after: last)
    let words = name[start..<end].split(separator: "_")
    guard words.count > 1 else { return name }
    var result = String(name[..<start])
    for (index, word) in words.enumerated() {
      result += index == 0 ? word.lowercased() : word.capitalized
    }
    return result + name[end...]
  }
}

extension Substring {
  fileprivate var capitalized: String { prefix(1).uppercased() + dropFirst().lowercased() }
}
