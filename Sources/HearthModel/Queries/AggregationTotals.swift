/// The sums and counts of several aggregations over documents that are added one by one, in any order.
package struct AggregationTotals: Sendable {
  private let aggregations: [Aggregation]
  private var totals: [Total]
  /// The number of documents that were added.
  package private(set) var documentCount = 0

  package init(_ aggregations: [Aggregation]) {
    self.aggregations = aggregations
    totals = aggregations.map { _ in Total() }
  }

  /// The totals over these documents.
  package init(_ aggregations: [Aggregation], over documents: some Sequence<Document>) throws(WireFormatError) {
    self.init(aggregations)
    for document in documents {
      try document.fields.withView { view throws(WireFormatError) in try add(view) }
    }
  }

  /// Adds a document, whose fields are read in place.
  package mutating func add(_ fields: EncodedFieldsView) throws(WireFormatError) {
    documentCount += 1
    for (index, aggregation) in aggregations.enumerated() {
      guard let path = aggregation.path, let value = try fields.value(at: path) else { continue }
      totals[index].add(value)
    }
  }

  /// Adds the totals of another part of the documents.
  package mutating func add(_ other: AggregationTotals) {
    documentCount += other.documentCount
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

/// The numbers of one field: integers are added exactly, so that only the final sum can overflow.
private struct Total {
  private var count = 0
  private var integers: Int128 = 0
  private var doubles = 0.0
  private var hasDouble = false

  mutating func add(_ value: EncodedValue) {
    switch value.payload {
    case .integer(let number):
      integers += Int128(number)
      count += 1
    case .double(let number):
      doubles += number
      hasDouble = true
      count += 1
    default:
      break
    }
  }

  mutating func add(_ other: Total) {
    count += other.count
    integers += other.integers
    doubles += other.doubles
    hasDouble = hasDouble || other.hasDouble
  }

  /// An integer as long as only integers were added and the sum is one; 0 for nothing.
  var sum: Value {
    if !hasDouble, let sum = Int64(exactly: integers) { return .integer(sum) }
    return .double(Double(integers) + doubles)
  }

  /// Null for nothing.
  var average: Value {
    count == 0 ? .null : .double((Double(integers) + doubles) / Double(count))
  }
}
