/// One transaction of a client on lists of numbers, to whose ends numbers are appended, each number once in the whole history.
package struct ListTransaction: Sendable {
  package enum Outcome: Sendable {
    case committed
    case failed
    /// The client ended, or lost its connection, before it heard of the outcome.
    case unknown
  }

  package var client: String
  /// A count of all events of the history, drawn before the transaction began.
  package var began: UInt64
  /// Drawn after the transaction ended.
  package var ended: UInt64
  package var outcome: Outcome
  /// The lists as they were before the transaction's own appends. A list that does not exist is empty.
  package var reads: [String: [Int]]
  package var appends: [String: [Int]]

  package init(
    client: String, began: UInt64, ended: UInt64, outcome: Outcome, reads: [String: [Int]] = [:],
    appends: [String: [Int]] = [:]
  ) {
    self.client = client
    self.began = began
    self.ended = ended
    self.outcome = outcome
    self.reads = reads
    self.appends = appends
  }
}

/// The transactions of clients, in one order of time.
package actor ListHistory {
  private var events: UInt64 = 0
  package private(set) var transactions: [ListTransaction] = []

  package init() {}

  package func event() -> UInt64 {
    events += 1
    return events
  }

  package func add(_ transaction: ListTransaction) { transactions.append(transaction) }

  package var committedCount: Int { transactions.count { $0.outcome == .committed } }
}
