internal import HearthModel

/// A condition of a command line, such as `population >= 1000000`, cut into its three parts.
///
/// Between a field and a symbol no space is needed. A name that is not plain stands in backquotes.
struct ConditionText {
  var field: String
  var op: FieldFilter.Operator
  var value: String
  /// The operator as it was written.
  private(set) var operation = ""

  /// The field and the operator, for messages about the value.
  var start: String { "\(field) \(operation) " }

  /// `=` stands for `==`.
  private static let operators: [String: FieldFilter.Operator] = [
    "==": .equal, "=": .equal, "!=": .notEqual, "<": .lessThan, "<=": .lessThanOrEqual, ">": .greaterThan,
    ">=": .greaterThanOrEqual, "array-contains": .arrayContains, "array-contains-any": .arrayContainsAny, "in": .in,
    "not-in": .notIn,
  ]

  static let operatorNames = "==, !=, <, <=, >, >=, array-contains, array-contains-any, in and not-in"

  /// The operators of other languages and the slips of fingers, and what they most likely mean.
  private static let otherNames: [String: String] = {
    let spellings = [
      "==": "=== ==== ~ ~~ ~= =~ : := =: <=> is equals equal eq",
      "!=": "<> >< ! =! !== =!= !!= !=! !=== !~ ≠ ne neq",
      "<": "<< lt", "<=": "=< ==< <== !> ≤ le lte", ">": ">> gt", ">=": "=> ==> >== !< ≥ ge gte",
      "array-contains": "contains has arraycontains", "in": "one-of",
      "array-contains-any": "contains-any any containsany arraycontainsany", "not-in": "notin nin",
    ]
    let pairs = spellings.flatMap { name, others in others.split(separator: " ").map { (String($0), name) } }
    return Dictionary(uniqueKeysWithValues: pairs)
  }()

  private static let symbolCharacters: Set<Character> = ["=", "!", "<", ">", "~", "≠", "≤", "≥", "&", "|", ":"]

  /// - Throws: A ``DataError`` for a wrong argument that names the place in the text and the nearest right form.
  init(parsing text: String) throws(DataError) {
    try NegatedCondition.check(Words.trimmed(Array(text)[...]), at: "--where \"\(text)\"")
    try self.init(cutting: text)
  }

  /// - Parameter text: A condition without a negation before it.
  init(cutting text: String) throws(DataError) {
    let place = "--where \"\(text)\""
    let characters = Array(text)
    let word = Words.trimmed(characters[...])
    guard !word.isEmpty else {
      throw .argument("\(place): a condition is a field, an operator and a value, such as 'population >= 1000000'.")
    }
    let nameEnd = FieldText.end(in: word, at: Self.symbolCharacters.union([" ", "\t"]).subtracting([":"]))
    field = String(word[..<nameEnd])
    let rest = Words.trimmed(word[nameEnd...])
    try Self.checkOneField(word[..<nameEnd], before: rest, at: place)
    let name = Self.operatorName(at: rest)
    guard !name.isEmpty else {
      throw .argument(
        "\(place): an operator is missing after \(field), as in 'population >= 1000000'. The operators are \(Self.operatorNames). "
          + "Quote the whole condition for the shell. Without quotation marks it takes what follows < and > for names of files, and makes one for >."
      )
    }
    let operand = Words.trimmed(rest[name.endIndex...])
    guard !field.isEmpty else {
      throw .argument(
        "\(place): the name of a field is missing before \"\(String(name))\" (character \(name.startIndex + 1)).")
    }
    _ = try FieldText.path(field, at: place)
    try Self.checkNoArrow(word, field: field, name, at: place)
    try Self.checkOnePiece(name, before: operand, at: place, field: field)
    let spelling = Self.normalized(String(name))
    guard let op = Self.operators[spelling] else {
      throw Self.unknown(name, at: place, field: field, operand: operand)
    }
    self.op = op
    operation = String(name)
    value = String(operand)
    guard !value.isEmpty else {
      throw .argument(
        "\(place): a value is missing after \"\(String(name))\" (character \(name.endIndex + 1)). The empty text is written as "
          + "\(ShellWord.quoted("\(field) \(String(name)) \"\""))."
      )
    }
  }

  /// Refuses several fields before an operator. What stands in quotation marks is a name.
  private static func checkOneField(
    _ field: ArraySlice<Character>, before rest: ArraySlice<Character>, at place: String
  ) throws(DataError) {
    let separators: Set<Character> = [";", ","]
    let masked = QuotedParts.masked(field)
    let next = rest.first.map { separators.contains($0) } == true ? rest.startIndex : nil
    guard let index = masked.firstIndex(where: { separators.contains($0) }) ?? next else { return }
    let character = index < field.endIndex ? field[index] : rest[index]
    throw .argument(
      "\(place): \"\(character)\" (character \(index + 1)) separates no conditions. A condition is a field, an operator and a value, such as "
        + "'population >= 1000000': repeat --where for each. A name that has it stands in backquotes, such as `a\(character)b`."
    )
  }

  /// Refuses arrows between the names of a field, such as `address->zip == 1`.
  private static func checkNoArrow(
    _ word: ArraySlice<Character>, field: String, _ name: ArraySlice<Character>, at place: String
  ) throws(DataError) {
    guard field.hasSuffix("-"), name.first == ">", name.endIndex - name.startIndex == 1 else { return }
    let dotted = String(word).replacing("->", with: ".")
    guard !dotted.contains("-."), let condition = try? ConditionText(cutting: dotted) else { return }
    throw .argument(
      "\(place): fields within maps are written with dots, and \"->\" (character \(name.startIndex)) is none. Write "
        + "\(ShellWord.quoted(condition.start + condition.value)).")
  }

  /// Refuses an operator in two pieces, such as `! =`.
  private static func checkOnePiece(
    _ name: ArraySlice<Character>, before operand: ArraySlice<Character>, at place: String, field: String
  ) throws(DataError) {
    let more = operand.prefix { symbolCharacters.subtracting([":"]).contains($0) }
    guard !more.isEmpty, let whole = meaning(of: String(name) + String(more)) else { return }
    let rest = String(Words.trimmed(operand[more.endIndex...]))
    throw .argument(
      "\(place): there is no operator \"\(String(name)) \(String(more))\" (character \(name.startIndex + 1)). Write "
        + "\(ShellWord.quoted("\(field) \(whole) \(rest)")).")
  }

  /// The symbols, or the word, at the beginning of a text.
  private static func operatorName(at text: ArraySlice<Character>) -> ArraySlice<Character> {
    let symbols = text.prefix { symbolCharacters.contains($0) }
    if !symbols.isEmpty { return symbols }
    return text.prefix { $0.isLetter || $0.isNumber || $0 == "-" || $0 == "_" }
  }

  private static func normalized(_ name: String) -> String { name.lowercased().replacing("_", with: "-") }

  /// The operator that symbols are, or most likely mean.
  private static func meaning(of symbols: String) -> String? {
    operators[symbols] == nil ? otherNames[symbols] : symbols
  }

  private static func unknown(
    _ name: ArraySlice<Character>, at place: String, field: String, operand: ArraySlice<Character>
  ) -> DataError {
    let spelling = normalized(String(name))
    var (meant, rest) = (otherNames[spelling], operand)
    // Operators of two words.
    let second = operand.prefix { !Words.isSpace($0) }
    switch (spelling, normalized(String(second))) {
    case ("not", "in"): (meant, rest) = ("not-in", Words.trimmed(operand[second.endIndex...]))
    case ("is", "not"): (meant, rest) = ("!=", Words.trimmed(operand[second.endIndex...]))
    case ("array", "contains"): (meant, rest) = ("array-contains", Words.trimmed(operand[second.endIndex...]))
    default: break
    }
    if meant == nil, name.first?.isLetter == true {
      meant = NearestWord.of(spelling, in: words)
      // A word behind the field may also be the rest of a name with spaces.
      let unquoted = QuotedParts.masked(operand)
      if meant == nil, let symbol = unquoted.firstIndex(where: { symbolCharacters.contains($0) }) {
        let rest = String(Words.trimmed(operand[..<symbol]))
        let whole = field + " " + String(name) + (rest.isEmpty ? "" : " " + rest)
        return .argument(
          "\(place): there is no operator \"\(String(name))\" (character \(name.startIndex + 1)). If the field is called \(whole), write "
            + "it in backquotes: \(ShellWord.quoted("`\(whole)` \(String(operand[symbol...]))")).")
      }
    }
    let advice =
      meant.map { "Write \(ShellWord.quoted("\(field) \($0)" + (rest.isEmpty ? "" : " " + String(rest))))." }
      ?? "The operators are \(operatorNames)."
    return .argument("\(place): there is no operator \"\(String(name))\" (character \(name.startIndex + 1)). \(advice)")
  }

  private static let words = ["array-contains", "array-contains-any", "in", "not-in"]
}
