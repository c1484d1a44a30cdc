/// Finds the known word that a mistyped one most likely means.
package enum NearestWord {
  /// - Returns: The nearest of `known`; nil if none is so near that it is worth a question.
  package static func of(_ word: String, in known: some Sequence<String>) -> String? {
    let typed = word.lowercased()
    var best: (word: String, distance: Int)?
    for candidate in known {
      let name = candidate.lowercased()
      // A plural that is made like most: citys.
      let plural =
        typed.hasSuffix("ys") ? typed.dropLast(2) + "ies" : typed.hasSuffix("y") ? typed.dropLast() + "ies" : nil
      let distance = plural.map(String.init) == name ? 1 : distance(typed, name)
      // A long word may have more mistakes. The beginning of a word, or a word with more behind it, is near as well.
      let isPart = typed.count >= 3 && (name.hasPrefix(typed) || typed.hasPrefix(name) && name.count >= 3)
      guard distance <= max(1, min(typed.count, name.count) / 3) || isPart else { continue }
      if distance < best?.distance ?? .max { best = (candidate, distance) }
    }
    return best?.word
  }

  /// The number of characters to insert, delete, replace or swap with their neighbours (optimal string alignment).
  static func distance(_ first: String, _ second: String) -> Int {
    let (a, b) = (Array(first), Array(second))
    guard !a.isEmpty, !b.isEmpty else { return max(a.count, b.count) }
    var (beforeLast, last) = ([Int](), Array(0...b.count))
    for i in 1...a.count {
      var row = [i]
      for j in 1...b.count {
        var cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1))
        if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] { cost = min(cost, beforeLast[j - 2] + 1) }
        row.append(cost)
      }
      (beforeLast, last) = (last, row)
    }
    return last[b.count]
  }
}
