extension JSONText: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral {
  package init(stringLiteral value: String) { self = .string(value) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(integerLiteral value: Int64) { self = .number(String(value)) }

  package static func integer(_ value: some BinaryInteger) -> JSONText { .number(String(value)) }

  /// A number, or a string for what JSON has no number for: `NaN`, `Infinity`, `-Infinity`, as in the JSON of protocol buffers.
  package static func double(_ value: Double) -> JSONText {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
    return .number(value.description)
  }

  /// The text on one line, without spaces.
  package var compact: String {
    var text = ""
    write(to: &text, indentation: nil)
    return text
  }

  /// The text on several lines, indented by two spaces a level.
  package var indented: String {
    var text = ""
    write(to: &text, indentation: 0)
    return text
  }

  /// - Parameter indentation: The level; nil for one line.
  private func write(to text: inout String, indentation: Int?) {
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .number(let digits): text += digits
    case .string(let value): Self.write(value, to: &text)
    case .array(let elements):
      Self.write(elements, in: ("[", "]"), to: &text, indentation) { $0.write(to: &$1, indentation: $2) }
    case .object(let members):
      Self.write(members, in: ("{", "}"), to: &text, indentation) { member, text, level in
        Self.write(member.name, to: &text)
        text += level == nil ? ":" : ": "
        member.value.write(to: &text, indentation: level)
      }
    }
  }

  private static func write<Element>(
    _ elements: [Element], in brackets: (String, String), to text: inout String, _ indentation: Int?,
    _ body: (Element, inout String, Int?) -> Void
  ) {
    text += brackets.0
    let inner = indentation.map { $0 + 1 }
    for (index, element) in elements.enumerated() {
      if index > 0 { text += "," }
      if let inner { text += "\n" + String(repeating: "  ", count: inner) }
      body(element, &text, inner)
    }
    if let indentation, !elements.isEmpty { text += "\n" + String(repeating: "  ", count: indentation) }
    text += brackets.1
  }

  private static func write(_ string: String, to text: inout String) {
    text += "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      // Control characters, also those that a terminal would obey.
      case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }
}
