/// Makes the choices of a generator: at random, or as the bytes say that a fuzzer has changed.
package protocol ChoiceSource {
  /// A number in `0..<count`.
  mutating func below(_ count: Int) -> Int
}

extension ChoiceSource {
  /// True in so many of a hundred cases.
  package mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  /// One of the elements; there must be at least one.
  package mutating func element<T>(_ array: [T]) -> T { array[below(array.count)] }
}

/// Choices by bytes, so that a fuzzer that changes a byte changes a choice.
///
/// Behind the last byte all choices are the same. They are not the first ones, which in generators often lead deeper.
package struct ByteChoices: ChoiceSource {
  private var bytes: ArraySlice<UInt8>

  /// - Parameter limit: The bytes that are used, at most: a generator may call itself once for each choice.
  package init(_ bytes: ArraySlice<UInt8>, limit: Int = 4096) {
    self.bytes = bytes.prefix(limit)
  }

  /// The bytes that no choice has used yet.
  package var rest: ArraySlice<UInt8> { bytes }

  package mutating func below(_ count: Int) -> Int {
    guard count > 1 else { return 0 }
    var number = Int(bytes.popFirst() ?? .max)
    if count > 256 { number = number << 8 | Int(bytes.popFirst() ?? .max) }
    return number % count
  }
}
