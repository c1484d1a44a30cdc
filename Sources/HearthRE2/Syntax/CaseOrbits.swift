/// Simple case folding of Unicode: scalars that differ only in case form an orbit, such as `k`, `K` and the Kelvin sign.
struct CaseOrbits: Sendable {
  static let shared = CaseOrbits()

  private struct Member: Sendable {
    let scalar: UInt32
    /// The place of the orbit in `orbits`.
    let orbit: Int
  }

  /// All scalars that have an orbit, in their order.
  private let members: [Member]
  private let orbits: [[UInt32]]

  private init() {
    var byTarget: [UInt32: [UInt32]] = [:]
    for (source, target) in Self.foldings() { byTarget[target, default: [target]].append(source) }
    orbits = byTarget.sorted { $0.key < $1.key }.map { $0.value.sorted() }
    members = orbits.enumerated().flatMap { number, orbit in orbit.map { Member(scalar: $0, orbit: number) } }
      .sorted { $0.scalar < $1.scalar }
  }

  private static func foldings() -> [(UInt32, UInt32)] {
    let numbers = UnicodeTables.foldings.split { $0 == " " || $0 == "\n" }.compactMap { Int($0, radix: 16) }
    return stride(from: 0, to: numbers.count, by: 4).flatMap { run in
      (0..<numbers[run + 1]).map { number in
        let source = numbers[run] + number * numbers[run + 2]
        return (UInt32(source), UInt32(source + numbers[run + 3]))
      }
    }
  }

  /// The scalar with those that differ from it only in case.
  func orbit(of scalar: UInt32) -> [UInt32] {
    let place = firstMember(from: scalar)
    guard place < members.count, members[place].scalar == scalar else { return [scalar] }
    return orbits[members[place].orbit]
  }

  /// The set with all scalars that differ from one of its own only in case.
  /// - Complexity: O(n + m log m), with m scalars that have an orbit, some 2,800 at most.
  func folded(_ set: ScalarSet) -> ScalarSet {
    var ranges = set.ranges
    for range in set.ranges {
      var place = firstMember(from: range.lower)
      while place < members.count, members[place].scalar <= range.upper {
        // Most are in a large set already, and all that is added is sorted.
        ranges += orbits[members[place].orbit].lazy.filter { !set.contains($0) }.map { ScalarRange($0) }
        place += 1
      }
    }
    return ranges.count == set.ranges.count ? set : ScalarSet(ranges)
  }

  private func firstMember(from scalar: UInt32) -> Int {
    var (low, high) = (0, members.count)
    while low < high {
      let middle = (low + high) / 2
      if members[middle].scalar < scalar { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
