/// Texts as a shell takes them.
package enum ShellWord {
  /// The text as one word in single quotation marks.
  package static func quoted(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
  }

  /// The text as it is if a shell takes it as one word, such as `cities/SF`, and in single quotation marks otherwise.
  package static func bare(_ text: String) -> String {
    let isBare = !text.isEmpty && text.first != "-" && text.first != "~" && text.unicodeScalars.allSatisfy(isOrdinary)
    return isBare ? text : quoted(text)
  }

  private static let punctuation = Set("_-./:@%+,=~".unicodeScalars)

  /// A shell takes letters of all writings as they are; spaces of any kind and the signs of ASCII it may not.
  private static func isOrdinary(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9": true
    default: scalar.isASCII ? punctuation.contains(scalar) : !scalar.properties.isWhitespace
    }
  }
}
