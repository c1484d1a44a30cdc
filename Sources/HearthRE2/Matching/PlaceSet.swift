/// A set of instructions that is emptied at once, and keeps the order in which they came (a sparse set, Briggs and Torczon 1993).
struct PlaceSet: Sendable {
  private var positions: [Int32]
  private var members: [Int32]
  private(set) var count = 0

  init(capacity: Int) {
    positions = Array(repeating: 0, count: capacity)
    members = Array(repeating: 0, count: capacity)
  }

  mutating func removeAll() { count = 0 }

  /// - Returns: False if the instruction was in the set.
  @inline(__always)
  mutating func insert(_ place: Int32) -> Bool {
    let position = Int(positions[Int(place)])
    if position < count, members[position] == place { return false }
    positions[Int(place)] = Int32(truncatingIfNeeded: count)
    members[count] = place
    count += 1
    return true
  }
}
