internal import HearthModel

/// A condition with a negation before it, as other languages have it, such as `not state == CA` and `!(state == CA)`.
enum NegatedCondition {
  /// The operator that finds what another one does not find; those of arrays have none.
  private static let opposites: [FieldFilter.Operator: String] = [
    .equal: "!=", .notEqual: "==", .lessThan: ">=", .lessThanOrEqual: ">", .greaterThan: "<=", .greaterThanOrEqual: "<",
    .in: "not-in", .notIn: "in",
  ]

  /// Refuses a condition that begins with a negation and is one without it.
  ///
  /// - Throws: A ``DataError`` with the condition by the opposite operator.
  static func check(_ word: ArraySlice<Character>, at place: String) throws(DataError) {
    guard let rest = rest(of: word), let condition = try? ConditionText(cutting: String(rest)) else { return }
    let start = "\(place): a condition has no negation before it (character \(word.startIndex + 1))."
    guard let opposite = opposites[condition.op] else {
      throw .argument("\(start) There is no opposite of \(condition.operation).")
    }
    throw .argument(
      "\(start) Write \(ShellWord.quoted("\(condition.field) \(opposite) \(condition.value)")). Documents without the field are not found by "
        + "either.")
  }

  /// The condition behind `not`, `!` or `not(`; nil for a text without a negation.
  private static func rest(of word: ArraySlice<Character>) -> ArraySlice<Character>? {
    var rest = word
    if word.first == "!" {
      rest = Words.trimmed(word.dropFirst())
    } else {
      let first = word.prefix { $0.isLetter }
      guard String(first).lowercased() == "not", let next = word[first.endIndex...].first,
        next == "(" || Words.isSpace(next)
      else { return nil }
      rest = Words.trimmed(word[first.endIndex...])
    }
    if rest.first == "(", rest.last == ")" { rest = Words.trimmed(rest.dropFirst().dropLast()) }
    // A field may be called "not".
    return rest.first.map { $0.isLetter || $0 == "_" || $0 == "`" } == true ? rest : nil
  }
}
