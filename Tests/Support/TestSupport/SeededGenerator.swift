import Foundation

/// SplitMix64: a generator whose whole sequence follows from its seed, the same on every platform, so that a failing run
/// can be repeated.
package struct SeededGenerator: RandomNumberGenerator, ChoiceSource, Sendable {
  private var state: UInt64

  package init(seed: UInt64) {
    state = seed
  }

  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  package mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self) }

  /// The seed that `HEARTH_TEST_SEED` in the environment asks for, to repeat a run that failed.
  package static var askedSeed: UInt64? {
    ProcessInfo.processInfo.environment["HEARTH_TEST_SEED"].flatMap { UInt64($0) }
  }

  /// The seeds to run: 1 to `count`, or the one that the environment asks for.
  package static func seeds(_ count: UInt64) -> [UInt64] {
    if let askedSeed { return [askedSeed] }
    return Array(1...count)
  }
}
