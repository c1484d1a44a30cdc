package import HearthModel
package import HearthPlan

/// The first documents of a result.
package struct ResultPiece: Sendable {
  package var documents: [Document]
  /// True if the piece was cut because of its bytes. Otherwise it ends with the result, or with the limit of the query.
  package var isCut: Bool
  package var execution: QueryExecution

  package init(documents: [Document], isCut: Bool, execution: QueryExecution) {
    self.documents = documents
    self.isCut = isCut
    self.execution = execution
  }
}

/// A result whose documents are kept if they are few, and otherwise the keys of all of them.
package struct SortedResult: Sendable {
  package var documents: [Document]
  /// Nil if the documents are there.
  package var keys: SortedKeys?
  package var execution: QueryExecution

  package init(documents: [Document], keys: SortedKeys?, execution: QueryExecution) {
    self.documents = documents
    self.keys = keys
    self.execution = execution
  }
}

extension QueryExecutor {
  /// The first documents of a query's result, if a plan finds documents in the order of the query. So a result can be read piece by piece
  /// at about the cost of the whole.
  ///
  /// - Parameters:
  ///   - query: Its limit is the largest number of documents of the piece.
  ///   - bytes: The piece ends with the document that exceeds them.
  /// - Returns: nil if no plan finds them in this order at this cost.
  package func piece(of query: Query, bytes: Int, _ effort: PieceEffort) throws -> ResultPiece? {
    assert(localMutations == nil && earlier == nil, "pieces are of stored documents as they are")
    guard query.limit != nil, !query.isLimitToLast, query.documentKey == nil else { return nil }
    let executor = within(ResultBounds(documentBytes: bytes, excess: .cut))
    return try documents.database.readTransaction("Read piece") {
      guard let (contents, execution) = try executor.contents(inOrderOf: query, effort) else { return nil }
      var piece = ResultPiece(documents: contents.documents, isCut: contents.isCut, execution: execution)
      piece.execution.resultCount = contents.documents.count
      return piece
    }
  }

  private func contents(
    inOrderOf query: Query, _ effort: PieceEffort
  ) throws -> (ResultContents, QueryExecution)? {
    var reason: String?
    switch try decide(query, isOrderNeeded: effort == .patient) {
    case .scan(let why): reason = why
    case .use(let accesses):
      var run = try IndexedRun(self, query, accesses)
      if let piece = try run.piece(effort) { return piece }
    }
    guard walksKeys, let walk = KeyWalk(query, self), effort == .patient || !walk.mayLeaveOut else { return nil }
    var piece = try walk.piece()
    piece?.1.reason = reason
    return piece
  }

  /// The result of a query by the plan that costs least. If its documents have more than `bytes`, it is sorted by their keys alone.
  ///
  /// - Throws: ``SortBudgetExceeded`` if the account does not give the memory for these; else as ``run(_:previous:clock:)``.
  package func sorted(_ query: Query, bytes: Int, account: SortAccount) throws -> SortedResult {
    let bounds = ResultBounds(documentBytes: bytes, excess: .sortKeys(account))
    let (contents, execution) = try within(bounds).contents(of: query)
    return SortedResult(documents: contents.documents, keys: contents.keys, execution: execution)
  }
}
