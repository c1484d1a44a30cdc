/// The numbers that are counted up from 0 in the life of a cache: of batches, notices, clients, holders of the lease, uses.
///
/// A file may hold any number. One outside of the range was never counted, so it is damage, and none in the range overflows when it is added
/// to. Targets have a range of their own (`TargetID`).
///
/// A counter that is repaired goes on behind the highest row. So that it never comes to its end at once, it ends far behind the last row that it is
/// repaired from, and rows may have numbers behind its end:
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
