package import HearthStore

/// The failures of a database that a test asks for: of transactions by their names, and of statements by their numbers.
package struct InjectedFailures {
  /// Transactions with these names fail.
  package var transactions: Set<String> = []
  /// The kind of the error with which they fail.
  package var transactionKind: StoreError.Kind
  /// Statements and commits with these numbers fail.
  package var statements = 0..<0
  package var statementKind = StoreError.Kind.io
  /// The number of statements and commits so far.
  package private(set) var statementCount = 0

  package init(transactionKind: StoreError.Kind = .unavailable) {
    self.transactionKind = transactionKind
  }

  /// True if something fails, or will.
  package var areExpected: Bool { !transactions.isEmpty || statements.upperBound > statementCount }

  /// Returns the error of the transaction that begins; nil if it does not fail.
  package func failure(ofTransaction name: String) -> StoreError? {
    transactions.contains(name) ? StoreError(kind: transactionKind, message: "made to fail: \(name)") : nil
  }

  /// Counts a statement or a commit.
  ///
  /// - Returns: Its error; nil if it does not fail.
  package mutating func countStatement() -> StoreError? {
    defer { statementCount += 1 }
    guard statements.contains(statementCount) else { return nil }
    return StoreError(kind: statementKind, message: "statement \(statementCount) was made to fail")
  }

  /// Looks at one place where a database may fail.
  package mutating func failure(at point: Database.FailurePoint) -> StoreError? {
    if case .transaction(let name) = point { failure(ofTransaction: name) } else { countStatement() }
  }
}
