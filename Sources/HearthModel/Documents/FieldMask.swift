/// A set of field paths; each stands for the field and everything below it.
package struct FieldMask: Hashable, Sendable {
  /// Sorted, without duplicates.
  package let paths: [FieldPath]

  /// The mask that covers nothing.
  package static let empty = FieldMask(EmptyCollection())

  package init(_ paths: some Sequence<FieldPath>) {
    var unique: [FieldPath] = []
    for path in paths.sorted() where unique.last != path { unique.append(path) }
    self.paths = unique
  }

  package var isEmpty: Bool { paths.isEmpty }

  /// Whether `path` is one of the mask's paths or lies below one. Linear in the size of the mask.
  package func covers(_ path: FieldPath) -> Bool {
    paths.contains { $0.isPrefix(of: path) }
  }

  /// The paths of both masks.
  package func union(_ other: FieldMask) -> FieldMask { union(other.paths) }

  /// The paths of this mask together with `paths`.
  package func union(_ paths: some Sequence<FieldPath>) -> FieldMask { FieldMask(self.paths + paths) }
}
