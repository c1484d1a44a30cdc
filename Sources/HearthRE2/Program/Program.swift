/// A step of the automaton that a pattern becomes (Thompson's construction).
struct Instruction: Sendable {
  enum Operation: UInt8, Sendable {
    /// The end of a match.
    case match
    /// Leads nowhere.
    case fail
    /// Takes a scalar from `lower` to `upper`.
    case range
    /// Takes a scalar of the set with the number `lower`.
    case set
    /// Goes on at `next`, and at `other` if that leads to no match.
    case split
    /// Goes on where the assertions in `lower` hold.
    case assertion
    /// Stores the place in the slot with the number `lower`.
    case capture
  }

  var operation: Operation
  var next: Int32 = 0
  var other: Int32 = 0
  var lower: UInt32 = 0
  var upper: UInt32 = 0
}

/// A set of scalars that is asked for single ones: most are of ASCII.
struct ScalarTest: Sendable {
  let set: ScalarSet
  private let low: UInt64
  private let high: UInt64

  init(_ set: ScalarSet) {
    self.set = set
    var bits: (UInt64, UInt64) = (0, 0)
    for range in set.ranges where range.lower < 0x80 {
      for scalar in range.lower...min(range.upper, 0x7F) {
        if scalar < 64 { bits.0 |= 1 << scalar } else { bits.1 |= 1 << (scalar - 64) }
      }
    }
    (low, high) = bits
  }

  func contains(_ scalar: UInt32) -> Bool {
    if scalar < 64 { return low >> scalar & 1 != 0 }
    if scalar < 128 { return high >> (scalar - 64) & 1 != 0 }
    return set.contains(scalar)
  }
}

/// A pattern as instructions, forwards or backwards.
struct Program: Sendable {
  let instructions: [Instruction]
  let tests: [ScalarTest]
  let entry: Int32
  /// Groups that capture.
  let groupCount: Int
  /// All assertions that occur.
  let assertions: Assertions
  /// The threads that there may be at a place of a text: one for each instruction that takes a scalar, or ends the match.
  let threadCount: Int
  /// Every match begins at the start of the text.
  let isAnchored: Bool

  /// The places that a thread carries: where the match begins, and the ends of each group.
  var slotCount: Int { 1 + 2 * groupCount }

  @inline(__always)
  func takes(_ instruction: Instruction, _ scalar: UInt32) -> Bool {
    switch instruction.operation {
    case .range: instruction.lower <= scalar && scalar <= instruction.upper
    case .set: tests[Int(instruction.lower)].contains(scalar)
    default: false
    }
  }
}
