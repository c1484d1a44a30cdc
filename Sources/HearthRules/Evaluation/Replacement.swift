/// The replacements of `string.replace`, which name groups as in Java: `$1`. A backslash takes the sign behind it as it stands.
enum Replacement {
  /// - Returns: The replacement in the language of `RegularExpression`, where `\1` is a group.
  static func rewrite(from text: String, groupCount: Int) throws(RuleFailure) -> String {
    var rewrite = ""
    var scalars = text.unicodeScalars[...]
    func append(_ scalar: Unicode.Scalar) { rewrite += scalar == "\\" ? "\\\\" : String(scalar) }
    while let scalar = scalars.popFirst() {
      switch scalar {
      case "\\":
        guard let escaped = scalars.popFirst() else { throw .badPattern("Replacement text: it ends with a backslash") }
        append(escaped)
      case "$":
        guard let digit = scalars.popFirst(), ("0"..."9").contains(digit), let group = Int(String(digit)) else {
          throw .badPattern("Replacement text: a digit is missing behind '$'")
        }
        guard group <= groupCount else { throw .badPattern("Replacement text: there is no group \(group)") }
        rewrite += "\\\(group)"
      default: append(scalar)
      }
    }
    return rewrite
  }
}
