/// Numbers of things in words.
package enum CountedText {
  /// Such as "1 batch" or "4 batches".
  ///
  /// - Parameter plural: The plural, if it is not the noun with an "s".
  package static func of(_ number: Int, _ noun: String, plural: String? = nil) -> String {
    number == 1 ? "1 \(noun)" : "\(number) \(plural ?? noun + "s")"
  }
}
