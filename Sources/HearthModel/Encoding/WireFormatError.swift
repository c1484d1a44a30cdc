/// Bytes that are no valid encoding of what they should be.
package struct WireFormatError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is wrong, and the rule it breaks.
  package var what: String
  /// Where, in bytes from the beginning of what was being read.
  package var offset: Int
  /// The message or field that was being read, for example `Value.timestamp_value`.
  package var field: String

  package init(what: String, offset: Int, field: String) {
    self.what = what
    self.offset = offset
    self.field = field
  }

  package var description: String { "\(field): \(what) (at byte \(offset))" }
}
