/// The reason why a bundle cannot be read, with its place.
package struct BundleError: Error, Equatable, CustomStringConvertible, Sendable {
  package var description: String

  /// - Parameters:
  ///   - number: the number of the element; the first one is 1.
  ///   - offset: the offset of the element's first byte in the bundle.
  init(element number: Int, at offset: Int, _ message: String) {
    description = "Bundle element \(number), at byte \(offset): \(message)"
  }
}
