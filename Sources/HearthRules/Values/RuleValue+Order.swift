extension RuleValue {
  /// Compares two values for `<` and its like: -1, 0 or 1; nil if they have no order.
  ///
  /// Strings are ordered by their UTF-16, as in production.
  static func order(_ left: RuleValue, _ right: RuleValue) -> Int? {
    switch (left, right) {
    case (.int(let left), .int(let right)): left < right ? -1 : left == right ? 0 : 1
    case (.int, .float), (.float, .int), (.float, .float):
      if let left = left.double, let right = right.double, !left.isNaN, !right.isNaN {
        left < right ? -1 : left == right ? 0 : 1
      } else {
        nil
      }
    case (.string(let left), .string(let right)):
      left.utf16.lexicographicallyPrecedes(right.utf16) ? -1 : left.hasSameBytes(as: right) ? 0 : 1
    case (.bytes(let left), .bytes(let right)):
      left.lexicographicallyPrecedes(right) ? -1 : left == right ? 0 : 1
    case (.timestamp(let left), .timestamp(let right)): left < right ? -1 : left == right ? 0 : 1
    case (.duration(let left), .duration(let right)): left < right ? -1 : left == right ? 0 : 1
    default: nil
    }
  }

  /// The order where that of queries and that of rules agree for all values; nil elsewhere.
  ///
  /// Queries order strings by their UTF-8, which differs for scalars from U+D800 on, and integers and doubles by their exact values, which rules
  /// do not from 2^53 on.
  static func queryOrder(_ left: RuleValue, _ right: RuleValue) -> Int? {
    if case .string(let left) = left, case .string(let right) = right,
      left.utf16.contains(where: { $0 >= 0xD800 }) || right.utf16.contains(where: { $0 >= 0xD800 })
    {
      return nil
    }
    if left.exceedsExactDoubles || right.exceedsExactDoubles { return nil }
    return order(left, right)
  }

  /// True for a number from 2^53 on: some integers of that size have no exact double.
  private var exceedsExactDoubles: Bool {
    switch self {
    case .int(let number): number.magnitude >= 1 << 53
    case .float(let number): number.magnitude >= 0x1p53
    default: false
    }
  }
}
