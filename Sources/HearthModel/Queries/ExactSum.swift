/// The exact sum of doubles. Numbers can be added and removed.
///
/// Finite numbers are multiples of 2^-1074, so their sum is an integer of about 2,100 bits with this unit. It is kept in digits of 32 bits,
/// each in a word of 64, so that carries must be propagated only after many additions. Nothing is rounded before ``value``. So the same
/// numbers have the same sum in every order, and a removed number leaves no trace. (As in R. M. Neal, "Fast exact summation using small and
/// large superaccumulators", 2015.)
///
/// Adding a number takes constant time, ``value`` time in proportion to the number of digits, 68.
package struct ExactSum: Sendable {
  private static let digitBits = 32
  private static let digitMask: UInt64 = 0xFFFF_FFFF
  /// The largest number needs 66 digits; the two above them hold what many numbers add up to.
  private static let digitCount = 68
  /// A digit changes by less than 2^32 with each number, so that this many cannot overflow a word.
  private static let maximumUnnormalized = 1 << 30

  /// The lowest first; empty as long as no finite number was added. Each may be negative.
  private var digits: [Int64] = []
  /// The numbers that were added or taken away since carries were passed on.
  private var unnormalized = 0
  private var infinities = 0
  private var negativeInfinities = 0
  private var notNumbers = 0

  package init() {}

  package mutating func add(_ number: Double) { change(by: number, times: 1) }

  /// Takes an added number away again.
  package mutating func remove(_ number: Double) { change(by: number, times: -1) }

  package mutating func add(_ integer: Int128) {
    var rest = integer.magnitude
    var unit = integer < 0 ? -1.0 : 1.0
    while rest > 0 {
      // Exact: 32 bits times a power of two.
      add(Double(UInt64(truncatingIfNeeded: rest) & Self.digitMask) * unit)
      rest >>= 32
      unit *= 0x1p32
    }
  }

  package mutating func add(_ other: ExactSum) { combine(with: other, times: 1) }

  /// Takes added numbers away again.
  package mutating func remove(_ other: ExactSum) { combine(with: other, times: -1) }

  /// The sum, rounded once to the nearest double, ties to even. Infinities and what is not a number count as in any sum of doubles; a
  /// finite sum overflows only if it is itself too large. A sum of zero is positive.
  package var value: Double {
    if notNumbers > 0 || (infinities > 0 && negativeInfinities > 0) { return .nan }
    if infinities > 0 { return .infinity }
    if negativeInfinities > 0 { return -.infinity }
    return rounded
  }

  // MARK: - Digits

  private mutating func change(by number: Double, times sign: Int64) {
    let bits = number.bitPattern
    let exponent = Int(bits >> 52) & 0x7FF
    guard exponent != 0x7FF else { return changeSpecial(number, by: Int(sign)) }
    let fraction = bits & (1 << 52 - 1)
    // The number is the significand times 2^position, in units of 2^-1074.
    let significand = exponent == 0 ? fraction : fraction | 1 << 52
    guard significand != 0 else { return }
    let position = max(exponent - 1, 0)
    prepareForChange()
    let shift = UInt64(position % Self.digitBits)
    let low = (significand & Self.digitMask) << shift
    let high = (significand >> 32) << shift + low >> 32
    let factor = number.sign == .minus ? -sign : sign
    let index = position / Self.digitBits
    digits[index] += factor * Int64(low & Self.digitMask)
    digits[index + 1] += factor * Int64(high & Self.digitMask)
    digits[index + 2] += factor * Int64(high >> 32)
  }

  private mutating func prepareForChange() {
    if digits.isEmpty { digits = Array(repeating: 0, count: Self.digitCount) }
    if unnormalized == Self.maximumUnnormalized { normalize() }
    unnormalized += 1
  }

  private mutating func changeSpecial(_ number: Double, by count: Int) {
    if number.isNaN {
      notNumbers += count
    } else if number > 0 {
      infinities += count
    } else {
      negativeInfinities += count
    }
  }

  private mutating func combine(with other: ExactSum, times sign: Int64) {
    infinities += Int(sign) * other.infinities
    negativeInfinities += Int(sign) * other.negativeInfinities
    notNumbers += Int(sign) * other.notNumbers
    guard !other.digits.isEmpty else { return }
    var other = other
    other.normalize()
    prepareForChange()
    for index in digits.indices { digits[index] += sign * other.digits[index] }
  }

  /// Passes the carries on: every digit but the topmost, which has the sign, is in `0 ..< 2^32`.
  private mutating func normalize() {
    guard !digits.isEmpty else { return }
    for index in 0..<Self.digitCount - 1 {
      // An arithmetic shift: the carry of a negative digit is negative.
      digits[index + 1] += digits[index] >> 32
      digits[index] &= Int64(Self.digitMask)
    }
    unnormalized = 0
  }

  private var rounded: Double {
    var sum = self
    sum.normalize()
    let isNegative = (sum.digits.last ?? 0) < 0
    if isNegative {
      for index in sum.digits.indices { sum.digits[index].negate() }
      sum.normalize()
    }
    guard let top = sum.digits.lastIndex(where: { $0 != 0 }) else { return 0 }
    // The topmost digit holds few more bits than the others, since 2^63 numbers cannot be added one by one.
    let topBits = Int64.bitWidth - sum.digits[top].leadingZeroBitCount
    let length = top * Self.digitBits + topBits
    // In units of 2^-1074, a significand of up to 53 bits is the bit pattern of its double; a larger one is shifted.
    let shift = max(length - 53, 0)
    var pattern = UInt64(shift) << 52 + sum.bits(from: shift, count: min(length, 53))
    if shift > 0, sum.bits(from: shift - 1, count: 1) == 1 {
      let isTie = !sum.hasBits(below: shift - 1)
      // Carries into the exponent where the significand overflows.
      if !isTie || pattern & 1 == 1 { pattern += 1 }
    }
    let magnitude = shift > 2045 ? .infinity : Double(bitPattern: min(pattern, Double.infinity.bitPattern))
    return isNegative ? -magnitude : magnitude
  }

  /// Bits of a normalized sum.
  private func bits(from position: Int, count: Int) -> UInt64 {
    var result: UInt64 = 0
    let first = position / Self.digitBits
    let offset = position % Self.digitBits
    for index in first..<min(first + 3, Self.digitCount) {
      let digit = UInt64(bitPattern: digits[index])
      let place = (index - first) * Self.digitBits - offset
      result |= place < 0 ? digit >> UInt64(-place) : place < 64 ? digit << UInt64(place) : 0
    }
    return result & (1 << UInt64(count) - 1)
  }

  private func hasBits(below position: Int) -> Bool {
    let index = position / Self.digitBits
    if digits[..<index].contains(where: { $0 != 0 }) { return true }
    return UInt64(bitPattern: digits[index]) & (1 << UInt64(position % Self.digitBits) - 1) != 0
  }
}

extension ExactSum: Equatable {
  /// Returns whether both sums are exactly the same, not only when rounded.
  package static func == (a: ExactSum, b: ExactSum) -> Bool {
    guard a.infinities == b.infinities, a.negativeInfinities == b.negativeInfinities, a.notNumbers == b.notNumbers
    else {
      return false
    }
    var difference = a
    difference.remove(b)
    difference.normalize()
    return difference.digits.allSatisfy { $0 == 0 }
  }
}
