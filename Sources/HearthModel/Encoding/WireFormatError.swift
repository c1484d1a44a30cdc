/// Bytes that are not a valid encoding of the expected type.
package struct WireFormatError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The error, and the rule that is broken.
  package var what: String
  /// The place of the error, in bytes from the beginning of the input.
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
