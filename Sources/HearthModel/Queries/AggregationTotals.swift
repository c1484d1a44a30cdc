/// The sums and counts of several aggregations. Documents can be added and removed one by one and in any order.
///
/// The values depend only on the documents that are in the totals, not on their history: see ``FieldTotal``.
package struct AggregationTotals: Sendable {
  private let aggregations: [Aggregation]
  private var totals: [FieldTotal]
  /// The number of documents that were added.
  package private(set) var documentCount = 0
  /// The number of those that show local mutations.
  package private(set) var pendingCount = 0

  package init(_ aggregations: [Aggregation]) {
    self.aggregations = aggregations
    totals = aggregations.map { _ in FieldTotal() }
  }

  /// The totals over these documents.
  package init(_ aggregations: [Aggregation], over documents: some Sequence<Document>) throws(WireFormatError) {
    self.init(aggregations)
    for document in documents { try add(document) }
  }

  package mutating func add(_ document: Document) throws(WireFormatError) {
    try document.fields.withView { view throws(WireFormatError) in try add(view) }
    if document.hasLocalMutations { pendingCount += 1 }
  }

  /// Takes an added document away again.
  package mutating func remove(_ document: Document) throws(WireFormatError) {
    try document.fields.withView { view throws(WireFormatError) in
      for (index, aggregation) in aggregations.enumerated() {
        guard let path = aggregation.path, let value = try view.value(at: path) else { continue }
        totals[index].remove(value)
      }
    }
    documentCount -= 1
    if document.hasLocalMutations { pendingCount -= 1 }
  }

  /// Adds a document, whose fields are read in place.
  package mutating func add(_ fields: EncodedFieldsView) throws(WireFormatError) {
    for (index, aggregation) in aggregations.enumerated() {
      guard let path = aggregation.path, let value = try fields.value(at: path) else { continue }
      totals[index].add(value)
    }
    documentCount += 1
  }

  /// Adds documents by their number alone. The aggregations must all be counts.
  package mutating func add(documentCount count: Int) {
    assert(aggregations.allSatisfy { $0.path == nil }, "sums of documents that were not read")
    documentCount += count
  }

  /// Adds the totals of another part of the documents.
  package mutating func add(_ other: AggregationTotals) {
    documentCount += other.documentCount
    pendingCount += other.pendingCount
    for (index, total) in other.totals.enumerated() { totals[index].add(total) }
  }

  /// The value of each aggregation by its alias; of several with the same alias, the last one counts.
  package var values: [String: Value] {
    var values: [String: Value] = [:]
    for (aggregation, total) in zip(aggregations, totals) {
      switch aggregation.operation {
      case .count(let upTo): values[aggregation.alias] = .integer(Int64(min(documentCount, upTo ?? Int.max)))
      case .sum: values[aggregation.alias] = total.sum
      case .average: values[aggregation.alias] = total.average
      }
    }
    return values
  }
}

// MARK: - Results that were computed elsewhere

extension AggregationTotals {
  /// Returns the aggregations to request from a backend, so that its values can be adjusted: an average needs the sum of its field as well.
  /// Nil if one request cannot hold them.
  package static func adjustable(_ aggregations: [Aggregation]) -> [Aggregation]? {
    var result = aggregations
    for aggregation in aggregations {
      guard case .average(let path) = aggregation.operation,
        !result.contains(where: { $0.operation == .sum(path) })
      else { continue }
      result.append(Aggregation(alias: "sum of \(aggregation.alias)", operation: .sum(path)))
    }
    return result.count <= Aggregation.maximumCount ? result : nil
  }

  /// Returns the values of a result in which some documents are replaced by others.
  ///
  /// Counts and sums of integers are exact. A sum of doubles is known in rounded form only; the new sum is less than two units in its last
  /// place away from the exact one.
  ///
  /// - Parameters:
  ///   - values: The values of a backend, by alias, of aggregations as ``adjustable(_:)`` gives them.
  ///   - removed: The totals of these aggregations over the documents that were part of the result.
  ///   - added: The totals over those that are part of it instead.
  /// - Returns: Nil if the values do not say enough, for example where most of a sum of doubles would be taken away.
  package static func adjust(
    _ values: [String: Value], removing removed: AggregationTotals, adding added: AggregationTotals
  ) -> [String: Value]? {
    var adjusted: [String: Value] = [:]
    for (index, aggregation) in removed.aggregations.enumerated() {
      guard let value = values[aggregation.alias] else { return nil }
      let change = FieldTotal.Change(removed: removed.totals[index], added: added.totals[index])
      let result: Value?
      switch (aggregation.operation, value) {
      case (.count(nil), .integer(let count)):
        // A backend that counts otherwise may send any number.
        let (rest, isTooSmall) = count.subtractingReportingOverflow(Int64(removed.documentCount))
        let (sum, isTooLarge) = rest.addingReportingOverflow(Int64(added.documentCount))
        result = isTooSmall || isTooLarge || rest < 0 ? nil : .integer(sum)
      case (.count, _): result = nil
      case (.sum, _): result = change.sum(from: value)
      case (.average(let path), _):
        let sum = removed.aggregations.first { $0.operation == .sum(path) }.flatMap { values[$0.alias] }
        result = sum.flatMap { change.average(from: value, sum: $0) }
      }
      guard let result else { return nil }
      adjusted[aggregation.alias] = result
    }
    return adjusted
  }
}
