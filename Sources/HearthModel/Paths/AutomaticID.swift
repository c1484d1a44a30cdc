/// Ids of new documents: 20 of 62 characters give 119 bits, as in the official SDKs.
package enum AutomaticID {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")

  /// - Parameter generator: The source of randomness. Ids are unique only if it cannot be foreseen, as the system's.
  package static func make(using generator: inout some RandomNumberGenerator) -> String {
    String((0..<20).map { _ in alphabet[Int.random(in: alphabet.indices, using: &generator)] })
  }
}
