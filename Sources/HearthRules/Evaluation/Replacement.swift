/// The replacements of `string.replace`, which name groups as in Java: `$1`, `${name}`. A backslash takes the sign behind it as it stands.
enum Replacement {
  /// - Returns: The replacement in the language of `RegularExpression`, where `\1` is a group.
  static func rewrite(from text: String, groups names: [String?]) throws(RuleFailure) -> String {
    let groupCount = names.count
    var rewrite = ""
    var scalars = text.unicodeScalars[...]
    func append(_ scalar: Unicode.Scalar) { rewrite += scalar == "\\" ? "\\\\" : String(scalar) }
    while let scalar = scalars.popFirst() {
      if scalar == "$", let group = try group(&scalars, count: groupCount, names) {
        rewrite += "\\\(group)"
      } else if scalar == "\\", let escaped = scalars.popFirst() {
        append(escaped)
      } else {
        append(scalar)
      }
    }
    return rewrite
  }

  /// Reads the number or the `{name}` of a group behind `$`.
  /// - Returns: The group; nil if the dollar stands for itself.
  private static func group(
    _ scalars: inout Substring.UnicodeScalarView, count: Int, _ names: [String?]
  ) throws(RuleFailure) -> Int? {
    func digit() -> Int? { scalars.first.flatMap { ("0"..."9").contains($0) ? Int($0.value) - 48 : nil } }
    if var group = digit() {
      scalars.removeFirst()
      // Another digit belongs to it as long as there is such a group.
      while let next = digit(), group * 10 + next <= count {
        group = group * 10 + next
        scalars.removeFirst()
      }
      guard group <= count, group <= 9 else { throw .badPattern("Replacement text: there is no group \(group)") }
      return group
    }
    guard scalars.first == "{" else { return nil }
    guard let end = scalars.firstIndex(of: "}") else { throw .badPattern("Replacement text: '${' does not end") }
    let name = String(scalars[scalars.index(after: scalars.startIndex)..<end])
    guard let index = names.firstIndex(of: name), index < 9 else {
      throw .badPattern("Replacement text: there is no group \(name.quotedBriefly)")
    }
    scalars = scalars[scalars.index(after: end)...]
    return index + 1
  }
}
