/// A text whose identity is that of its UTF-8, as the names of fields have it.
///
/// Swift's strings are equal if they show the same characters. Two fields whose names differ only in the form of a character would become
/// one, and rules that count the fields of a document would miss the other.
package struct ExactText: Hashable, Comparable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (left: Self, right: Self) -> Bool { left.text.hasSameBytes(as: right.text) }

  package static func < (left: Self, right: Self) -> Bool { left.text.utf8.lexicographicallyPrecedes(right.text.utf8) }

  package func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }
}

extension String {
  /// Compares the UTF-8 of two texts.
  func hasSameBytes(as other: String) -> Bool {
    guard utf8.count == other.utf8.count else { return false }
    return utf8.withContiguousStorageIfAvailable { bytes in
      other.utf8.withContiguousStorageIfAvailable { bytes.elementsEqual($0) }
    }.flatMap(\.self) ?? utf8.elementsEqual(other.utf8)
  }

  func hashBytes(into hasher: inout Hasher) {
    var text = self
    text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    hasher.combine(utf8.count)
  }
}

extension [String] {
  /// Compares the UTF-8 of all texts.
  func hasSameBytes(as other: [String]) -> Bool {
    count == other.count && zip(self, other).allSatisfy { $0.hasSameBytes(as: $1) }
  }
}
