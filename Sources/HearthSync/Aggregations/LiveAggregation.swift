package import HearthModel

/// The aggregations of a listener's query, kept up to date with its snapshots.
///
/// Invariant: after each snapshot the totals are those of the participating documents of the snapshot. The first snapshot is added up. Each
/// later one costs time in proportion to its changes, whatever the number of documents.
package struct LiveAggregation: Sendable {
  private let aggregations: [Aggregation]
  /// The fields that a document needs to take part, beyond those that the query itself asks for.
  private let requiredFields: [FieldPath]
  private let includesMetadataChanges: Bool
  /// Nil before the first snapshot.
  private var totals: AggregationTotals?
  private var shown: AggregateResult?

  /// - Parameters:
  ///   - query: The query whose result is aggregated.
  ///   - includesMetadataChanges: True if changes of the metadata alone count as changes.
  package init(_ aggregations: [Aggregation], of query: Query, includesMetadataChanges: Bool) {
    self.aggregations = aggregations
    self.includesMetadataChanges = includesMetadataChanges
    requiredFields = Self.requiredFields(of: aggregations, over: query)
  }

  /// The query to listen to.
  ///
  /// Without a limit it is the query itself, which other listeners may share; documents that lack a field are left out here. With a limit
  /// the fields decide which documents are within it.
  package static func listened(_ query: Query, for aggregations: [Aggregation]) -> Query {
    query.limit == nil ? query : Aggregation.query(query, for: aggregations)
  }

  private static func requiredFields(of aggregations: [Aggregation], over query: Query) -> [FieldPath] {
    let orders = Aggregation.query(query, for: aggregations).orders.map(\.path)
    let known = Set(listened(query, for: aggregations).orders.map(\.path))
    return orders.filter { !known.contains($0) }
  }

  /// Takes a snapshot of the listener. Each one must follow the one before it.
  ///
  /// - Returns: The result if it is the first one or has changed.
  /// - Throws: `dataLoss` for a document whose fields cannot be read. The totals must not be used any more then.
  package mutating func update(_ snapshot: ViewSnapshot) throws(StatusError) -> AggregateResult? {
    let result = try result(of: snapshot)
    if let shown, !hasChanged(from: shown, to: result) { return nil }
    shown = result
    return result
  }

  /// The result of a query that is run once.
  ///
  /// - Throws: As ``update(_:)``.
  package static func result(
    of aggregations: [Aggregation], over query: Query, in snapshot: ViewSnapshot
  ) throws(StatusError) -> AggregateResult {
    var aggregation = LiveAggregation(aggregations, of: query, includesMetadataChanges: false)
    return try aggregation.result(of: snapshot)
  }

  private mutating func result(of snapshot: ViewSnapshot) throws(StatusError) -> AggregateResult {
    let totals = try count(snapshot)
    return AggregateResult(
      values: totals.values, isFromCache: snapshot.isFromCache, hasPendingWrites: snapshot.hasPendingWrites,
      completeness: snapshot.completeness)
  }

  private func hasChanged(from old: AggregateResult, to new: AggregateResult) -> Bool {
    if old.values != new.values { return true }
    return includesMetadataChanges
      && (old.isFromCache != new.isFromCache || old.hasPendingWrites != new.hasPendingWrites)
  }

  private mutating func count(_ snapshot: ViewSnapshot) throws(StatusError) -> AggregationTotals {
    guard var current = totals else {
      var first = AggregationTotals(aggregations)
      for document in snapshot.documents { try change(&first, removing: nil, adding: document) }
      totals = first
      return first
    }
    // Not shared while they change, so that nothing is copied.
    totals = nil
    for change in snapshot.changes {
      try self.change(
        &current, removing: change.replaced?.document, adding: change.kind == .removed ? nil : change.document)
    }
    totals = current
    return current
  }

  private func change(
    _ totals: inout AggregationTotals, removing old: Document?, adding new: Document?
  ) throws(StatusError) {
    do throws(WireFormatError) {
      if let old, try takesPart(old) { try totals.remove(old) }
      if let new, try takesPart(new) { try totals.add(new) }
    } catch {
      guard let key = (new ?? old)?.key else { return }
      throw .malformed(key, error)
    }
  }

  private func takesPart(_ document: Document) throws(WireFormatError) -> Bool {
    guard !requiredFields.isEmpty else { return true }
    return try document.fields.withView { view throws(WireFormatError) in
      for path in requiredFields where try view.value(at: path) == nil { return false }
      return true
    }
  }
}

extension StatusError {
  /// The fields of a document cannot be read.
  static func malformed(_ key: DocumentKey, _ error: WireFormatError) -> StatusError {
    StatusError(
      code: .dataLoss,
      message: "Document \(key.canonicalString) cannot be aggregated: its fields are malformed: \(error)")
  }
}
