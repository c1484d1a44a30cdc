internal import HearthModel

/// A value as a word of a command line: JSON in the form of docs/data-format.md, or a text without quotation marks.
enum OperandText {
  private static let quotationMarks: Set<Character> = ["\"", "'", "“", "”", "„", "‘", "’", "«", "»", "`"]

  /// Symbols within a text that look like a second condition. Alone they may also be the shorter ones.
  private static let symbols = ["==", "!=", "<=", ">=", "<>", "&&", "||"]
  private static let symbolsAlone: Set<String> = ["=", "<", ">"]

  /// - Parameters:
  ///   - place: The option with its word, such as `--where "n == 1"`.
  ///   - start: The text before the value in the word, such as `n == `; empty for a word that is a value alone.
  /// - Throws: A ``DataError`` for a wrong argument that says how the value is written.
  static func value(
    _ text: String, at place: String, after start: String = "", _ database: DatabaseID
  ) throws(DataError) -> Value {
    let json: JSONText
    let bytes = Array(text.utf8)
    do {
      json = try JSONTextReader.read(bytes[...])
    } catch {
      try checkEnd(text, at: place, after: start, database)
      if let first = text.first, "\"[{".contains(first) {
        if first == "\"", !start.isEmpty { try checkOneCondition(text, at: place, after: start) }
        let character = String(decoding: bytes.prefix(error.offset), as: UTF8.self).count + 1
        let fault = JSONFault.text(error, in: bytes[...])
        let advice =
          RelaxedJSON.meant(by: text).map { "Write \(ShellWord.quoted(start + $0))." }
          ?? "Quote the whole word for the shell with single quotation marks."
        throw .argument("\(place): \(text) is not complete JSON (\(fault), at character \(character) of it). \(advice)")
      }
      try checkPlain(text, at: place, after: start)
      return .string(text)
    }
    do {
      return try ValueJSON(database: database).value(json)
    } catch {
      throw .argument("\(place): \(error).")
    }
  }

  /// Refuses a semicolon or a comma behind a value, as other languages have it there.
  private static func checkEnd(
    _ text: String, at place: String, after start: String, _ database: DatabaseID
  ) throws(DataError) {
    let value = Words.trimmed(Array(text)[...])
    guard let last = QuotedParts.masked(value).last, last == ";" || last == "," else { return }
    let bare = String(Words.trimmed(value.dropLast()))
    guard !bare.isEmpty else { return }
    // What else is wrong with it comes first.
    _ = try Self.value(bare, at: place, after: start, database)
    throw .argument(
      "\(place): the value ends in \"\(last)\". Write \(ShellWord.quoted(start + bare)). If that is part of a text, write "
        + "\(ShellWord.quoted(start + json(text))).")
  }

  /// Refuses texts that are most likely meant as something else.
  private static func checkPlain(_ text: String, at place: String, after start: String) throws(DataError) {
    func form(_ value: String) -> String { ShellWord.quoted(start + value) }
    // Also in one that ends in a quotation mark, which belongs to the second condition.
    if !start.isEmpty { try checkOneCondition(text, at: place, after: start) }
    if let first = text.first, let last = text.last, quotationMarks.contains(first) || quotationMarks.contains(last) {
      let inner = text.drop(while: quotationMarks.contains)
      let bare = String(inner.reversed().drop(while: quotationMarks.contains).reversed())
      // Without quotation marks it may be another value, or none.
      let plain = isPlain(bare) ? " or \(form(bare))" : ""
      throw .argument(
        "\(place): a text stands in double quotation marks or in none. Write \(form(json(bare)))\(plain). If quotation marks are part of "
          + "it, write \(form(json(text))).")
    }
    if let first = text.first, "=!<>~&|≠≤≥".contains(first) {
      throw .argument(
        "\(place): the value begins with \"\(first)\". If that is part of a text, write \(form(json(text))).")
    }
    if text.hasPrefix("--") {
      throw .argument("\(place): a value is missing before \(text). If that is a text, write \(form(json(text))).")
    }
    if let word = wordOfJSON(text) {
      throw .argument("\(place): \(text) is not JSON. Write \(form(word)), or \(form(json(text))) for the text.")
    }
    if let numbers = severalNumbers(text) {
      let decimal = numbers.count == 2 ? "\(form(numbers.joined(separator: "."))) for a number, " : ""
      throw .argument(
        "\(place): \(text) is not JSON. Write \(decimal)\(form("[\(numbers.joined(separator: ", "))]")) for a list, or \(form(json(text))) for "
          + "the text.")
    }
    if let number = plainNumber(text) {
      throw .argument(
        "\(place): \(text) is not a number in JSON. Write \(form(number)), or \(form(json(text))) for the text.")
    }
  }

  /// Refuses a value with another operator behind its first word. What stands in quotation marks is no operator.
  private static func checkOneCondition(_ text: String, at place: String, after start: String) throws(DataError) {
    let words = QuotedParts.masked(Array(text)[...]).split(whereSeparator: Words.isSpace).dropFirst().map { String($0) }
    guard words.contains(where: { word in symbolsAlone.contains(word) || symbols.contains { word.contains($0) } })
    else { return }
    if words.contains(where: { $0.contains("||") || $0.lowercased() == "or" }) {
      throw .argument(
        "\(place): the value holds another operator. There is no \"or\" here: run a query for each condition, or, for several values of one "
          + "field, use the operator in. For the text, write \(ShellWord.quoted(start + json(text))).")
    }
    throw .argument(
      "\(place): the value holds another operator. Repeat --where for a second condition\(secondCondition(in: text, after: start)), or "
        + "write \(ShellWord.quoted(start + json(text))) for the text.")
  }

  private static let separators = [";", "&&", "&", ",", " and ", " AND "]

  /// Both conditions as they are written, such as `: --where 'a == 1' --where 'b == 2'`; empty if they cannot be told apart.
  private static func secondCondition(in text: String, after start: String) -> String {
    let characters = Array(text)
    let masked = QuotedParts.masked(characters[...])
    for separator in separators {
      guard let range = masked.firstRange(of: Array(separator)) else { continue }
      let (first, second) = (
        Words.trimmed(characters[..<range.lowerBound]), Words.trimmed(characters[range.upperBound...])
      )
      guard !first.isEmpty, let condition = try? ConditionText(parsing: String(second)) else { continue }
      return
        ": --where \(ShellWord.quoted(start + String(first))) --where \(ShellWord.quoted(condition.start + condition.value))"
    }
    return ""
  }

  /// True for a text that is taken as one without quotation marks.
  private static func isPlain(_ text: String) -> Bool {
    !text.isEmpty && wordOfJSON(text) == nil && plainNumber(text) == nil && severalNumbers(text) == nil
      && (try? JSONTextReader.read(Array(text.utf8)[...])) == nil
  }

  /// Numbers with commas between them that do not separate thousands, such as those of 1,5; nil for other texts.
  private static func severalNumbers(_ text: String) -> [String]? {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false).map { $0.filter { $0 != " " } }
    guard parts.count > 1, parts.allSatisfy({ Double($0)?.isFinite == true && !$0.contains("_") }) else { return nil }
    let areThousands = parts.dropFirst().allSatisfy { $0.count == 3 && $0.allSatisfy(\.isNumber) }
    return areThousands && !text.contains(" ") ? nil : parts
  }

  /// The word of JSON that another spelling means; nil if it means none.
  private static func wordOfJSON(_ text: String) -> String? {
    switch text.lowercased() {
    case "true": "true"
    case "false": "false"
    case "null", "nil", "none", "undefined": "null"
    case "nan": "{\"$double\": \"NaN\"}"
    case "infinity", "+infinity", "inf", "+inf": "{\"$double\": \"Infinity\"}"
    case "-infinity", "-inf": "{\"$double\": \"-Infinity\"}"
    default: nil
    }
  }

  /// The number that digits in another form mean, such as 0123, .5 or 1,000; nil for other texts.
  private static func plainNumber(_ text: String) -> String? {
    guard text.contains(where: \.isNumber) else { return nil }
    let digits = text.filter { $0 != "," && $0 != "_" }
    if let integer = Int64(digits) { return String(integer) }
    return Double(digits).flatMap { $0.isFinite ? $0.description : nil }
  }

  private static func json(_ text: String) -> String { JSONText.string(text).compact }
}
