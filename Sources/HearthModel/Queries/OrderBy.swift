/// One sort key of a query.
package struct OrderBy: Hashable, Sendable {
  package enum Direction: Hashable, Sendable {
    case ascending
    case descending

    package var reversed: Direction { self == .ascending ? .descending : .ascending }
  }

  package var path: FieldPath
  package var direction: Direction

  package init(path: FieldPath, direction: Direction = .ascending) {
    self.path = path
    self.direction = direction
  }

  package var reversed: OrderBy { OrderBy(path: path, direction: direction.reversed) }

  /// The result of a comparison of values, in this direction.
  func directed(_ ordering: Ordering) -> Ordering {
    direction == .ascending ? ordering : ordering.reversed
  }
}
