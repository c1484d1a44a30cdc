/// The result of comparing two values under a total order.
package enum Ordering: Sendable, Hashable {
  case ascending
  case same
  case descending

  /// The order of `a` and `b` by `<`.
  @inlinable
  package init<T: Comparable>(_ a: T, _ b: T) {
    if a < b {
      self = .ascending
    } else if b < a {
      self = .descending
    } else {
      self = .same
    }
  }

  /// The result of the comparison with its operands swapped.
  package var reversed: Ordering {
    switch self {
    case .ascending: .descending
    case .same: .same
    case .descending: .ascending
    }
  }

  /// This result or, if it is `.same`, that of the next comparison.
  package func then(_ next: @autoclosure () -> Ordering) -> Ordering {
    self == .same ? next() : self
  }
}
