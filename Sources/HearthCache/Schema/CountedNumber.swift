/// The numbers that are counted up from 0 in the life of a cache: of batches, notices, clients, holders of the lease, uses.
///
/// A file may hold any number. One outside of the range was never counted, so it is damage, and none in the range overflows when it is added
/// to. Targets have a range of their own (`TargetID`).
enum CountedNumber {
  /// More than any use of a cache can have reached.
  static let limit: Int64 = 1 << 62
  static let range = 0..<limit

  /// The condition, in SQL, that a column holds such a number.
  static func condition(_ column: String) -> String {
    "typeof(\(column)) = 'integer' AND \(column) BETWEEN 0 AND \(limit - 1)"
  }
}
