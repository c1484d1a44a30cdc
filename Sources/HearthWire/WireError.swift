/// A protocol message that cannot be understood: which field of which message, and what is wrong with it.
///
/// The text names the place as the protocol's definition spells it, so that it can be looked up there:
/// `Write.update_mask.field_paths[2]: "a..b" …`.
package struct WireError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The field, from the outermost message inwards, in the spelling of the `.proto` files.
  package var field: String
  /// The error in the field's value and the rule that it breaks.
  package var message: String

  package init(field: String, message: String) {
    self.field = field
    self.message = message
  }

  package var description: String { field.isEmpty ? message : "\(field): \(message)" }

  /// The same error seen from the message or field that contains this one.
  func inside(_ outer: String) -> WireError {
    guard !outer.isEmpty else { return self }
    guard let first = field.first else { return WireError(field: outer, message: message) }
    return WireError(field: first == "[" ? outer + field : "\(outer).\(field)", message: message)
  }
}

/// Runs `body` and reports whatever it throws as an error of `field`.
///
/// Places are put together on the way out, so that a message that decodes well costs no text.
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
