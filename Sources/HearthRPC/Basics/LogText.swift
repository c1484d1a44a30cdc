package import Logging

extension Logger.MetadataValue {
  /// The longest text that a log line takes from a client, in scalars.
  private static let maximumScalars = 400

  /// Text that a client may have chosen, so that it stays on one line and looks like what it is: control characters,
  /// line separators, characters that change the direction of text, and backslashes are written as `\u{…}`.
  package static func escaped(_ value: some CustomStringConvertible) -> Logger.MetadataValue {
    var result = ""
    for (count, scalar) in value.description.unicodeScalars.enumerated() {
      guard count < maximumScalars else {
        result += "…"
        break
      }
      if isPlain(scalar) {
        result.unicodeScalars.append(scalar)
      } else {
        result += "\\u{\(String(scalar.value, radix: 16))}"
      }
    }
    return .string(result)
  }

  /// Text of several lines, such as a list of mistakes, on one: with a semicolon between them, or none after a colon.
  package static func escapedLines(_ value: some CustomStringConvertible) -> Logger.MetadataValue {
    var result = ""
    for line in value.description.split(whereSeparator: \.isNewline) {
      if !result.isEmpty { result += result.hasSuffix(":") ? " " : "; " }
      result += line
    }
    return escaped(result)
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
    default: scalar != "\\"
    }
  }
}
