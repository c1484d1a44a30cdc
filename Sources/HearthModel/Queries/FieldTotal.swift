/// A running total of the numbers of one field. Each number can be removed again.
///
/// Integers are added exactly, so that only the final sum can overflow, and so are doubles (``ExactSum``). Sum and average therefore do not
/// depend on the order of the numbers, nor on numbers that were there before.
struct FieldTotal: Equatable {
  private var integerCount = 0
  private var doubleCount = 0
  private var integers: Int128 = 0
  private var doubles = ExactSum()

  init() {}

  init(integer: Int64) {
    integerCount = 1
    integers = Int128(integer)
  }

  init(double: Double) {
    doubleCount = 1
    doubles.add(double)
  }

  var count: Int { integerCount + doubleCount }

  mutating func add(_ value: EncodedValue) {
    switch value.payload {
    case .integer(let number):
      integers += Int128(number)
      integerCount += 1
    case .double(let number):
      doubles.add(number)
      doubleCount += 1
    default:
      break
    }
  }

  mutating func remove(_ value: EncodedValue) {
    switch value.payload {
    case .integer(let number):
      integers -= Int128(number)
      integerCount -= 1
    case .double(let number):
      doubles.remove(number)
      doubleCount -= 1
    default:
      break
    }
  }

  mutating func add(_ other: FieldTotal) {
    integerCount += other.integerCount
    doubleCount += other.doubleCount
    integers += other.integers
    doubles.add(other.doubles)
  }

  mutating func remove(_ other: FieldTotal) {
    integerCount -= other.integerCount
    doubleCount -= other.doubleCount
    integers -= other.integers
    doubles.remove(other.doubles)
  }

  /// An integer as long as only integers were added and the sum is one; 0 for nothing.
  var sum: Value {
    if doubleCount == 0, let sum = Int64(exactly: integers) { return .integer(sum) }
    return .double(doubleSum)
  }

  /// Null for nothing.
  var average: Value {
    count == 0 ? .null : .double(doubleSum / Double(count))
  }

  /// The sum, rounded once.
  var doubleSum: Double {
    if doubleCount == 0 { return Double(integers) }
    var sum = doubles
    sum.add(integers)
    return sum.value
  }
}

extension FieldTotal {
  /// A replacement of some numbers of a field by others, applied to sums and averages that were computed elsewhere.
  struct Change {
    var removed: FieldTotal
    var added: FieldTotal

    /// Returns the new sum, nil if it cannot be computed from the former one.
    func sum(from value: Value) -> Value? {
      if removed == added { return value }
      return total(from: value)?.sum
    }

    /// Returns the new average, nil if it cannot be computed from the former one and the former sum.
    func average(from value: Value, sum: Value) -> Value? {
      if removed == added { return value }
      guard let count = Self.count(average: value, sum: sum) else { return nil }
      let newCount = count - removed.count + added.count
      if newCount == 0 { return .null }
      guard newCount > 0, let total = total(from: sum) else { return nil }
      return .double(total.doubleSum / Double(newCount))
    }

    private func total(from value: Value) -> FieldTotal? {
      var total: FieldTotal
      switch value {
      case .integer(let sum):
        // Then there were integers only.
        guard removed.doubleCount == 0 else { return nil }
        total = FieldTotal(integer: sum)
      case .double(let sum):
        guard sum.isFinite else { return nil }
        total = FieldTotal(double: sum)
        total.remove(removed)
        total.doubleCount = max(total.doubleCount, 1)
        total.add(added)
        return Self.keepsPrecision(from: sum, to: total.doubleSum, removed) ? total : nil
      default: return nil
      }
      total.remove(removed)
      total.add(added)
      return total
    }

    /// Returns whether the error of a rounded sum is still as small in relation to the new one. A large sum may have been one of integers,
    /// which might fit into an integer now.
    private static func keepsPrecision(from sum: Double, to newSum: Double, _ removed: FieldTotal) -> Bool {
      guard removed.doubles.value.isFinite else { return false }
      return newSum.magnitude >= sum.magnitude / 2 && (sum.magnitude < 0x1p63 || newSum.magnitude > 0x1p63)
        || newSum.isNaN
    }

    /// The number of numbers, found out from their average and sum; nil if these do not tell.
    private static func count(average: Value, sum: Value) -> Int? {
      if average == .null { return 0 }
      guard let average = average.asDouble, let sum = sum.asDouble, average != 0, sum != 0 else { return nil }
      let quotient = sum / average
      let count = quotient.rounded()
      guard count >= 1, count <= 0x1p40, (quotient - count).magnitude < 0x1p-10 else { return nil }
      return Int(count)
    }
  }
}

extension Value {
  fileprivate var asDouble: Double? {
    switch self {
    case .integer(let number): Double(number)
    case .double(let number): number
    default: nil
    }
  }
}
