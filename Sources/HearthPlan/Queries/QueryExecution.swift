package import HearthModel

/// The plan that answers a query. All plans give the same documents in the same order.
package enum QueryPlan: Equatable, Sendable {
  /// One document by its key.
  case document(DocumentKey)
  /// The documents whose keys are among the conditions, or as many documents in the order of their keys as the limit allows.
  case keys
  /// The documents that indexes, and keys among the conditions, lead to.
  case index
  /// The documents of the previous result that still match, and those that changed since.
  case previousResult
  /// Every document of the scope.
  case scan
}

/// The cost of answering a query.
package struct QueryExecution: Equatable, Sendable {
  /// The plan of one of a query's alternatives (`or`, `in`).
  package enum Access: Equatable, Sendable {
    case document(DocumentKey)
    case index(IndexDefinition, bounds: [String], isOrdered: Bool)
  }

  /// A part of the work and its time.
  package struct Step: Equatable, Sendable {
    package var name: String
    package var duration: Duration

    package init(name: String, duration: Duration) {
      self.name = name
      self.duration = duration
    }
  }

  package var plan: QueryPlan
  /// One for each alternative, for the plans `keys` and `index`.
  package var accesses: [Access] = []
  /// Further indexes whose entries left out documents that the accesses lead to.
  package var mergedIndexes: [IndexDefinition] = []
  /// The reason why no index was used, for the other plans.
  package var reason: String?
  /// The indexes that would have answered the query better. Only where they were asked for.
  package var missingIndexes: [IndexDefinition] = []
  /// Stored documents that were looked at.
  package var rowsRead: Int
  /// Entries of indexes that were read.
  package var entriesRead: Int
  /// Ranges of indexes that were looked into.
  package var rangesRead = 0
  /// Stored documents that were copied out of the database.
  package var documentsDecoded: Int
  /// Documents of the result.
  package var resultCount = 0
  /// True if the result was sorted by its keys alone, because its documents have more bytes than may be kept.
  package var isSortedByKeys = false
  /// Only when there was a clock.
  package var steps: [Step] = []

  package init(plan: QueryPlan, rowsRead: Int = 0, entriesRead: Int = 0, documentsDecoded: Int = 0) {
    self.plan = plan
    self.rowsRead = rowsRead
    self.entriesRead = entriesRead
    self.documentsDecoded = documentsDecoded
  }

  /// Below this, a scan is quick enough.
  private static let rowsWithoutIndex = 100
  /// The ratio of documents read to documents found from which a query deserves an index: 3.4 as in firebase-ios-sdk query_engine.cc (the
  /// JavaScript SDK uses 4 to 8). Kept as a fraction of whole numbers.
  private static let indexRatio = (numerator: 34, denominator: 10)

  /// True if so many documents and ranges were read for the result that an index is worth its costs for later writes.
  package var isWorthAnIndex: Bool {
    let looks = rowsRead + rangesRead
    return looks >= Self.rowsWithoutIndex
      && looks * Self.indexRatio.denominator > resultCount * Self.indexRatio.numerator
  }
}

/// Measures the parts of an execution with the caller's clock.
package struct ExecutionTimer {
  private let clock: (() -> Duration)?
  private var last: Duration
  package private(set) var steps: [QueryExecution.Step] = []

  package init(_ clock: (() -> Duration)?) {
    self.clock = clock
    last = clock?() ?? .zero
  }

  /// Ends a part of the work.
  package mutating func finish(_ name: String) {
    guard let clock else { return }
    let now = clock()
    steps.append(QueryExecution.Step(name: name, duration: now - last))
    last = now
  }
}
