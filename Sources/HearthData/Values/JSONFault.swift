package import HearthModel

/// Explains JSON that cannot be read: what stands where something else is expected, and the usual reason for it.
package enum JSONFault {
  private static let longestCharacter = 32
  private static let otherQuotationMarks: Set<Character> = ["'", "‘", "’", "“", "”", "„", "«", "»", "`"]

  /// The message of the reader with what stands at its place.
  ///
  /// - Parameter whole: The thing that ends too early, such as "text".
  package static func text(_ failure: JSONTextReader.Failure, in bytes: ArraySlice<UInt8>, whole: String = "text")
    -> String
  {
    let message = failure.message
    // Other messages name what stands there themselves, or concern more than one character.
    let isMore = message == "there is more after the value"
    guard isMore || message.hasSuffix("is expected"), !message.hasPrefix("the text ends") else { return message }
    let rest = bytes.dropFirst(failure.offset)
    guard let found = String(decoding: rest.prefix(longestCharacter), as: UTF8.self).first else {
      return "\(message), but the \(whole) ends there"
    }
    guard !isMore else { return "\(message): \(shown(found))" }
    return "\(message), but \(shown(found)) stands there\(advice(found, message, before: bytes.prefix(failure.offset)))"
  }

  private static func shown(_ character: Character) -> String {
    character == "\"" ? "a quotation mark" : character.isNewline ? "the end of the line" : "\"\(character)\""
  }

  private static func advice(_ found: Character, _ message: String, before: ArraySlice<UInt8>) -> String {
    if otherQuotationMarks.contains(found) { return ": JSON has only double quotation marks" }
    let last = before.last(where: { $0 != 0x20 && $0 != 0x0A && $0 != 0x0D && $0 != 0x09 })
    if found == "}" || found == "]", last == UInt8(ascii: ",") { return ": leave out the comma before it" }
    guard found.isLetter else { return "" }
    if message == "a value is expected" {
      return ": a text stands in double quotation marks; other words are true, false and null"
    }
    return message.hasPrefix("a string")
      ? ": names stand in double quotation marks, and in a shell the whole JSON in single ones" : ""
  }
}
