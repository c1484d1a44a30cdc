internal import HearthModel
internal import HearthPlan
internal import HearthStore

extension PieceSource {
  /// The next piece of a result.
  ///
  /// Each piece is a read of its own, so that neither a connection nor a state of the database is held while the caller passes it on.
  ///
  /// 1. A result that is found in its order is read in pieces: each begins after the last document of the one before.
  /// 2. Any other result is sorted, and so is a past result if much has changed since. If its documents have more bytes than a piece, their
  ///    keys are kept in its order, and each piece reads documents again, as they were at the version of the first.
  /// 3. If the keys take more memory than there is for them, a result that is found in its order among other documents is read as in 1.
  ///
  /// - Throws: ``SortBudgetExceeded`` if none of the three is possible.
  func page(
    of query: Query, after cursor: QueryCursor?, in database: DatabaseID, at past: SnapshotVersion?, _ sizes: PieceSizes
  ) throws -> QueryPage {
    var position = OrderedPosition(in: query, sizes)
    switch try cursor.map(ResultPosition.init) {
    case .sorted(let keys): return try page(of: keys, at: try past ?? version, sizes)
    case .ordered(let next): position = next
    case nil: break
    }
    if try position.effort == .patient || !isSmall(position, at: past),
      let page = try orderedPage(of: query, position, in: database, at: past, sizes)
    {
      return page
    }
    do {
      return try sortedPage(of: query, position, at: past, sizes)
    } catch let error as SortBudgetExceeded {
      position.effort = .patient
      guard let page = try orderedPage(of: query, position, in: database, at: past, sizes) else { throw error }
      return page
    }
  }

  /// Returns whether a whole result is one piece: then the plan that costs least need not give its order.
  private func isSmall(_ position: OrderedPosition, at past: SnapshotVersion?) throws -> Bool {
    guard position.start == nil, try past.map({ try $0 >= version }) ?? true else { return false }
    return position.remaining.map { $0 <= position.count } ?? false
  }

  /// - Returns: nil if the result is not found in its order, or only at a cost that is beyond the effort.
  private func orderedPage(
    of query: Query, _ position: OrderedPosition, in database: DatabaseID, at past: SnapshotVersion?,
    _ sizes: PieceSizes
  ) throws -> QueryPage? {
    let wanted = min(position.count, position.remaining ?? .max)
    let isPast = try past.map { try $0 < version } ?? false
    var piece = query
    if let start = position.start { piece.startAt = start }
    // In a read of the past, many of the documents may have come since.
    piece.limit = isPast ? position.count : wanted
    guard let first = try self.piece(of: piece, bytes: sizes.bytes, position.effort) else { return nil }

    var next = position
    let answer: QueryAnswer
    let end: Document?
    if let past, isPast {
      var changed = position.past ?? PastDocuments(at: past, maximumBytes: sizes.keptBytes)
      try changed.catchUp(with: self, for: piece)
      if position.effort == .direct, changed.isWorthSorting(remaining: position.remaining) { return nil }
      let reading = PastPieceReading(piece, count: wanted, bytes: sizes.bytes, position.effort, in: database)
      guard let part = try pastPiece(reading, from: first, changed) else { return nil }
      answer = QueryAnswer(documents: part.documents, readVersion: past, execution: part.execution)
      (end, next.past) = (part.end, changed)
    } else {
      answer = QueryAnswer(
        documents: first.documents, readVersion: try past ?? version, execution: first.execution)
      end = first.isCut || first.documents.count == wanted ? first.documents.last : nil
    }
    next.remaining = position.remaining.map { $0 - answer.documents.count }
    guard let end, next.remaining != 0 else { return QueryPage(answer: answer, next: nil) }
    next.start = try Bound(after: end, of: query, in: database)
    next.count = sizes.count(after: answer.documents, of: position.count)
    return QueryPage(answer: answer, next: ResultPosition.ordered(next).cursor)
  }

  // MARK: - Sorted results

  /// The first piece of the rest of a result, which is sorted.
  private func sortedPage(
    of query: Query, _ position: OrderedPosition, at past: SnapshotVersion?, _ sizes: PieceSizes
  ) throws -> QueryPage {
    var rest = query
    if let start = position.start { rest.startAt = start }
    rest.limit = position.remaining
    let result = try sorted(rest, at: past, bytes: sizes.bytes)
    guard let keys = result.keys else {
      let answer = QueryAnswer(
        documents: result.documents, readVersion: try past ?? version, execution: result.execution)
      return QueryPage(answer: answer, next: nil)
    }
    var page = try page(of: keys, at: try past ?? version, sizes)
    page.answer.execution = page.answer.execution.map { result.execution.adding($0) }
    return page
  }

  /// The first of some documents, as they were at a version.
  private func page(of keys: SortedKeys, at past: SnapshotVersion, _ sizes: PieceSizes) throws -> QueryPage {
    var rest = keys
    let documents = try documents(taking: &rest, at: past, sizes)
    var execution = QueryExecution(plan: .keys, rowsRead: documents.count, documentsDecoded: documents.count)
    execution.resultCount = documents.count
    let answer = QueryAnswer(documents: documents, readVersion: past, execution: execution)
    return QueryPage(answer: answer, next: rest.isEmpty ? nil : ResultPosition.sorted(rest).cursor)
  }

  // MARK: - Missing indexes

  /// The indexes that would have answered a query better, if they are worth their cost.
  ///
  /// An index that leads to many documents that do not match is no reason to go without a better one. A result that had to be sorted by its
  /// keys deserves one that gives its order, however many documents it has.
  func missingIndexes(for query: Query, after execution: QueryExecution?) throws -> [IndexDefinition] {
    guard let execution else { return [] }
    let missing = execution.isWorthAnIndex ? try missingIndexes(for: query, forPieces: nil) : []
    guard execution.isSortedByKeys else { return missing }
    return missing + (try missingIndexes(forPiecesOf: query, .direct).filter { !missing.contains($0) })
  }

  /// The indexes by which a result could be read piece by piece at a cost.
  func missingIndexes(forPiecesOf query: Query, _ effort: PieceEffort) throws -> [IndexDefinition] {
    try missingIndexes(for: query.with(limit: query.limit ?? .max), forPieces: effort)
  }
}

extension QueryExecution {
  /// The effort of both parts of one reading.
  func adding(_ other: QueryExecution) -> QueryExecution {
    var sum = self
    sum.rowsRead += other.rowsRead
    sum.entriesRead += other.entriesRead
    sum.rangesRead += other.rangesRead
    sum.documentsDecoded += other.documentsDecoded
    // A sorted result is known as a whole before its first document is read.
    if !isSortedByKeys { sum.resultCount += other.resultCount }
    return sum
  }
}
