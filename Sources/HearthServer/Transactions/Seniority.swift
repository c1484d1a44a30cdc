/// The age of a transaction, or of a write outside of transactions. The smaller one is the older.
struct Seniority: Hashable, Comparable, Sendable {
  /// The start of the transaction, or the arrival of the write, in microseconds since 1970. A transaction that repeats others has the time of
  /// the first of them.
  var time: Int64
  /// Orders those that have the same time.
  var number: Int64

  static func < (a: Seniority, b: Seniority) -> Bool { (a.time, a.number) < (b.time, b.number) }
}
