import TestSupport
import Testing

@testable import HearthModel

@Suite("Exact sums of doubles")
struct ExactSumTests {
  private func sum(_ numbers: Double...) -> Double {
    var sum = ExactSum()
    for number in numbers { sum.add(number) }
    return sum.value
  }

  @Test("are rounded once, to the nearest double, ties to even")
  func rounding() {
    let tiny = Double.leastNonzeroMagnitude
    #expect(sum() == 0 && sum(-0.0).sign == .plus)
    #expect(sum(0x1p53, 1) == 0x1p53, "a tie, and the lower one is even")
    #expect(sum(0x1p53, 3) == 0x1p53 + 4, "a tie, and the upper one is even")
    #expect(sum(0x1p53, 1, tiny) == 0x1p53 + 2)
    #expect(sum(-0x1p53, -1, -tiny) == -0x1p53 - 2)
    #expect(sum(1e308, 1, -1e308) == 1)
    #expect(sum(tiny, tiny, tiny) == 3 * tiny)
    #expect(sum(.leastNormalMagnitude, -tiny) == Double.leastNormalMagnitude.nextDown)
    #expect(sum(0x1.fffffffffffffp0, 0x1p-53) == 2, "the carry goes into the exponent")
    #expect(sum(0.1, 0.2, 0.3, -0.3, -0.2) == 0.1)
  }

  @Test("overflow only if the sum itself is too large")
  func overflow() {
    let greatest = Double.greatestFiniteMagnitude
    #expect(sum(greatest, greatest, -greatest) == greatest)
    #expect(sum(greatest, greatest) == .infinity && sum(-greatest, -greatest) == -.infinity)
    #expect(sum(greatest, greatest.ulp / 2) == .infinity, "a tie, rounded away")
    #expect(sum(greatest, (greatest.ulp / 2).nextDown) == greatest)
  }

  @Test("treat infinities and what is not a number as any sum does, until these are taken away")
  func special() {
    var sum = ExactSum()
    sum.add(2.5)
    sum.add(.infinity)
    #expect(sum.value == .infinity)
    sum.add(-.infinity)
    #expect(sum.value.isNaN)
    sum.remove(.infinity)
    #expect(sum.value == -.infinity)
    sum.add(.nan)
    sum.remove(-.infinity)
    #expect(sum.value.isNaN)
    sum.remove(.nan)
    #expect(sum.value == 2.5)
  }

  /// A number from everywhere in the range of doubles; most are close enough to each other to cancel out.
  private func number(_ generator: inout SeededGenerator) -> Double {
    let bits = generator.next()
    if generator.chance(20) { return Double(bitPattern: bits).isFinite ? Double(bitPattern: bits) : 0 }
    let number = Double(sign: .plus, exponent: generator.below(120) - 60, significand: 1 + Double(bits >> 12) * 0x1p-52)
    return bits & 1 == 0 ? number : -number
  }

  @Test(
    "do not depend on the order, nor on numbers that were taken away, nor on parts",
    arguments: SeededGenerator.seeds(20))
  func order(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let numbers = (0..<200).map { _ in number(&generator) }
    var expected = ExactSum()
    for number in numbers { expected.add(number) }
    var (left, right) = (ExactSum(), ExactSum())
    var others: [Double] = []
    for number in numbers.shuffled(using: &generator) {
      let other = self.number(&generator)
      left.add(other)
      others.append(other)
      if generator.chance(50) { left.add(number) } else { right.add(number) }
    }
    for other in others.shuffled(using: &generator) { left.remove(other) }
    #expect(left != expected)
    left.add(right)
    #expect(left == expected)
    #expect(left.value.bitPattern == expected.value.bitPattern)
    left.remove(right)
    left.add(right)
    #expect(left.value.bitPattern == expected.value.bitPattern)
  }

  @Test("agree with exact integer arithmetic", arguments: SeededGenerator.seeds(20))
  func integers(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var sum = ExactSum()
    var expected: Int128 = 0
    for _ in 0..<300 {
      // 53 bits, up to 2^60 times the unit of 2^-40.
      let significand = Int64(bitPattern: generator.next()) >> 11
      let shift = generator.below(60)
      expected += Int128(significand) << Int128(shift)
      sum.add(Double(significand) * Double(sign: .plus, exponent: shift - 40, significand: 1))
      #expect(sum.value == Double(expected) * 0x1p-40)
      let integer = Int128(Int64(bitPattern: generator.next())) * Int128(generator.below(1_000_000))
      expected += integer << 40
      sum.add(integer)
      #expect(sum.value == Double(expected) * 0x1p-40)
    }
  }
}
