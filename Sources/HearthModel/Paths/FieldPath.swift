/// The place of a value in a document: the names of the maps' keys from the root down.
///
/// Field paths are ordered segment by segment by UTF-8 bytes, a path before those below it.
package struct FieldPath: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// At least one, none empty, at most `maximumDepth`.
  package let segments: [String]

  /// The wire format nests values at most this deep, so longer paths lead nowhere.
  package static let maximumDepth = 100

  /// `__name__`: stands for the key of a document in filters and orders.
  package static let documentKey = FieldPath(unchecked: ["__name__"])

  /// - Throws: `ModelError.invalidFieldPath` if there is no name, an empty one, or more than `maximumDepth`.
  package init(_ segments: [String]) throws(ModelError) {
    if segments.isEmpty {
      throw .invalidFieldPath("", rule: "Provided names must not be empty.")
    }
    if let index = segments.firstIndex(where: \.isEmpty) {
      throw .invalidFieldPath(
        Self.canonicalString(segments), rule: "Invalid field name at index \(index). Field names must not be empty.")
    }
    if segments.count > Self.maximumDepth {
      throw .invalidFieldPath(
        Self.canonicalString(segments.prefix(3)) + ".…",
        rule: "Field paths must not have more than \(Self.maximumDepth) names, but this one has \(segments.count).")
    }
    self.segments = segments
  }

  /// Makes a path of names that are known to be valid, or that were keys of a map and may be anything.
  init(unchecked segments: [String]) {
    self.segments = segments
  }

  package var isDocumentKey: Bool { segments.count == 1 && ByteOrder.areEqual(segments[0], "__name__") }

  /// The server's form: names separated by dots, in backticks where they are not plain identifiers.
  package var canonicalString: String { Self.canonicalString(segments) }

  package var description: String { canonicalString }

  /// Returns whether `other` is this path or lies below it.
  package func isPrefix(of other: FieldPath) -> Bool {
    segments.count <= other.segments.count
      && zip(segments, other.segments).allSatisfy { ByteOrder.areEqual($0, $1) }
  }

  /// The path of a field of the map at this path.
  package func appending(_ name: String) -> FieldPath {
    FieldPath(unchecked: segments + [name])
  }

  package static func compare(_ a: FieldPath, _ b: FieldPath) -> Ordering {
    for (x, y) in zip(a.segments, b.segments) {
      let order = ByteOrder.compare(x, y)
      if order != .same { return order }
    }
    return Ordering(a.segments.count, b.segments.count)
  }

  package static func < (a: FieldPath, b: FieldPath) -> Bool { compare(a, b) == .ascending }

  package static func == (a: FieldPath, b: FieldPath) -> Bool { compare(a, b) == .same }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(segments.count)
    for segment in segments { ByteOrder.hash(segment, into: &hasher) }
  }
}
