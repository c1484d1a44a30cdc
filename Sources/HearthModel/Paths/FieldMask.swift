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

  /// Returns whether `path` is one of the mask's paths or lies below one. Logarithmic in the size of the mask.
  package func covers(_ path: FieldPath) -> Bool {
    path.segments.indices.contains { contains(FieldPath(unchecked: Array(path.segments[...$0]))) }
  }

  private func contains(_ path: FieldPath) -> Bool {
    var low = 0
    var high = paths.count
    while low < high {
      let middle = low + (high - low) / 2
      switch FieldPath.compare(paths[middle], path) {
      case .same: return true
      case .ascending: low = middle + 1
      case .descending: high = middle
      }
    }
    return false
  }

  /// The paths of both masks.
  package func union(_ other: FieldMask) -> FieldMask { union(other.paths) }

  /// The paths of this mask together with `paths`.
  package func union(_ paths: some Sequence<FieldPath>) -> FieldMask { FieldMask(self.paths + paths) }
}
