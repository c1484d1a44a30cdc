/// The number of documents that can be read through indexes before a scan would be cheaper.
struct ReadBudget {
  /// An index that leads to no more than this is used in any case.
  static let smallResult: Int64 = 500
  /// Reading along an index costs about as much as scanning this many documents instead, or twice as many where the places
  /// can be sorted before the documents are read.
  private static let scannedPerDocument: Int64 = 8
  /// No reading takes so much. Multiples of it are numbers too.
  static let unlimitedCount = Int64.max / 64

  var left: Int64
  /// False while the documents of the scope are not counted: a small result is not worth it.
  private(set) var isWhole: Bool

  static let small = ReadBudget(left: smallResult, isWhole: false)
  static let unlimited = ReadBudget(left: unlimitedCount, isWhole: true)

  static func whole(documentCount: Int) -> ReadBudget {
    ReadBudget(left: max(smallResult, Int64(documentCount) / scannedPerDocument), isWhole: true)
  }

  /// Adds what a scope of so many documents allows beyond a small result.
  mutating func extend(documentCount: Int) {
    assert(!isWhole, "a budget is extended once")
    left += Self.whole(documentCount: documentCount).left - Self.smallResult
    isWhole = true
  }
}
