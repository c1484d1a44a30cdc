/// A protocol message that cannot be decoded: the field, the message and the error.
///
/// The text names the place in the spelling of the protocol's definition, so that it can be looked up there:
/// `Write.update_mask.field_paths[2]: "a..b" …`.
package struct WireError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The field, from the outermost message inwards, in the spelling of the `.proto` files.
  package var field: String
  /// The error in the field's value and the rule that it breaks.
  package var message: String

  init(field: String, message: String) {
    self.field = field
    self.message = message
  }

  package var description: String { field.isEmpty ? message : "\(field): \(message)" }

  /// The same error with the message or field that contains this one.
  func inside(_ outer: String) -> WireError {
    guard !outer.isEmpty else { return self }
    guard let first = field.first else { return WireError(field: outer, message: message) }
    return WireError(field: first == "[" ? outer + field : "\(outer).\(field)", message: message)
  }
}

/// Runs `body` and rethrows any error as an error of `field`.
///
/// Places are composed while the error propagates, so that a message that decodes well costs no text.
func at<Result>(
  _ field: @autoclosure () -> String, _ body: () throws -> Result
) throws(WireError) -> Result {
  do {
    return try body()
  } catch let error as WireError {
    throw error.inside(field())
  } catch {
    throw WireError(field: field(), message: String(describing: error))
  }
}
