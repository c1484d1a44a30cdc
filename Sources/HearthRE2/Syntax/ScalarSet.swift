/// A range of scalar values, both ends included. It may span surrogates, which no text contains.
struct ScalarRange: Hashable, Sendable {
  var lower: UInt32
  var upper: UInt32

  init(_ lower: UInt32, _ upper: UInt32) {
    assert(lower <= upper)
    (self.lower, self.upper) = (lower, upper)
  }

  init(_ scalar: UInt32) { self.init(scalar, scalar) }
}

/// A set of scalars as sorted ranges that neither overlap nor touch.
struct ScalarSet: Hashable, Sendable {
  static let lastScalar: UInt32 = 0x10FFFF

  private(set) var ranges: [ScalarRange]

  static let all = ScalarSet([ScalarRange(0, lastScalar)])

  /// - Parameter unordered: Ranges in any order, which may overlap.
  /// - Complexity: O(n log n).
  init(_ unordered: [ScalarRange]) {
    ranges = []
    ranges.reserveCapacity(unordered.count)
    for range in unordered.sorted(by: { ($0.lower, $0.upper) < ($1.lower, $1.upper) }) {
      if let last = ranges.last, range.lower <= last.upper || range.lower == last.upper + 1 {
        ranges[ranges.count - 1].upper = max(last.upper, range.upper)
      } else {
        ranges.append(range)
      }
    }
  }

  init(_ pairs: [(UInt32, UInt32)]) { self.init(pairs.map { ScalarRange($0.0, $0.1) }) }

  /// The scalars that are not in this set.
  var inverted: ScalarSet {
    var gaps: [ScalarRange] = []
    var next: UInt32 = 0
    for range in ranges {
      if range.lower > next { gaps.append(ScalarRange(next, range.lower - 1)) }
      next = range.upper + 1
    }
    if next <= Self.lastScalar { gaps.append(ScalarRange(next, Self.lastScalar)) }
    return ScalarSet(gaps)
  }

  /// - Complexity: O(log n).
  func contains(_ scalar: UInt32) -> Bool {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upper < scalar { low = middle + 1 } else { high = middle }
    }
    return low < ranges.count && ranges[low].lower <= scalar
  }
}
