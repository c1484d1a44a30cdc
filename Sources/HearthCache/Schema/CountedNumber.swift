/// The numbers that count up from 0 during the life of a cache: of batches, notices, clients, holders of the lease, and uses.
///
/// A file may hold any number. A number outside of the range was never counted, so it is damage; a number in the range does not overflow in
/// additions. Targets have a range of their own (`TargetID`).
///
/// A repaired counter continues after the highest row. Its end is far beyond the last row that it can be repaired from, so that it never
/// reaches its end at once. Rows may have numbers beyond its end:
///
/// | numbers | counters are repaired from rows with them | counters count on from them | rows may have them |
/// |---|---|---|---|
/// | below 2^61 | yes | yes | yes |
/// | below 3 · 2^60 | no | yes | yes |
/// | below 2^62 | no | no: the counter is damaged | yes |
enum CountedNumber {
  /// More than any use of a cache can have reached.
  static let limit: Int64 = 1 << 62
  static let range = 0..<limit
  static let bases: Range<Int64> = 0..<1 << 61
  static let counters: Range<Int64> = 0..<3 << 60

  /// The condition, in SQL, that a column holds such a number.
  static func condition(_ column: String, in range: Range<Int64> = range) -> String {
    "typeof(\(column)) = 'integer' AND \(column) BETWEEN \(range.lowerBound) AND \(range.upperBound - 1)"
  }
}
