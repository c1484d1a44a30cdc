/// The number of documents that can be read through indexes before a scan would be cheaper.
package struct ReadBudget {
  /// An index that leads to no more than this is used in any case.
  package static let smallResult: Int64 = 500
  /// More than any reading takes. Small multiples of it do not overflow.
  package static let unlimitedCount = Int64.max / 64

  package var left: Int64
  /// False while the documents of the scope are not counted: a small result is not worth it.
  package private(set) var isWhole: Bool
  /// Reading a document along an index costs about as much as scanning this many documents instead.
  private let scannedPerDocument: Int64

  /// A budget for a small result.
  ///
  /// - Parameter scannedPerDocument: With SQLite, 8 documents of a scan cost as much as one along an index, or twice as many where the places
  ///   can be sorted before the documents are read.
  package static func small(scannedPerDocument: Int64 = 8) -> ReadBudget {
    ReadBudget(left: smallResult, isWhole: false, scannedPerDocument: scannedPerDocument)
  }

  package static let unlimited = ReadBudget(left: unlimitedCount, isWhole: true, scannedPerDocument: 1)

  package static func whole(documentCount: Int, scannedPerDocument: Int64 = 8) -> ReadBudget {
    var budget = small(scannedPerDocument: scannedPerDocument)
    budget.extend(documentCount: documentCount)
    return budget
  }

  /// Adds what a scope with this many documents allows beyond a small result.
  package mutating func extend(documentCount: Int) {
    assert(!isWhole, "a budget is extended once")
    left += max(Self.smallResult, Int64(documentCount) / scannedPerDocument) - Self.smallResult
    isWhole = true
  }
}
