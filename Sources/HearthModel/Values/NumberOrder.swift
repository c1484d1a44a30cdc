/// The one order of integers and doubles: by mathematical value, NaN smallest and equal to itself, -0.0 equal to 0.
enum NumberOrder {
  static func compare(_ a: Double, _ b: Double) -> Ordering {
    if a < b { return .ascending }
    if a > b { return .descending }
    if a == b { return .same }
    return a.isNaN ? (b.isNaN ? .same : .ascending) : .descending
  }

  /// Exact: an integer beyond 2^53 is never rounded to a double to be compared.
  static func compare(_ a: Int64, _ b: Double) -> Ordering {
    if b.isNaN { return .descending }
    if b < -0x1p63 { return .descending }
    if b >= 0x1p63 { return .ascending }
    // -2^63 <= b < 2^63: the conversion truncates the fraction. The result is a double's whole part, so converting it back is exact.
    let truncated = Int64(b)
    if a != truncated { return a < truncated ? .ascending : .descending }
    return compare(Double(truncated), b)
  }
}
