/// One aggregation of a query's result, as the Firestore documentation defines it.
package struct Aggregation: Hashable, Sendable {
  package enum Operation: Hashable, Sendable {
    case count(upTo: Int?)
    case sum(FieldPath)
    case average(FieldPath)
  }

  /// The most aggregations that one request may ask for.
  package static let maximumCount = 5

  package var alias: String
  package var operation: Operation

  package init(alias: String, operation: Operation) {
    self.alias = alias
    self.operation = operation
  }

  /// The fields of sums and averages, each once, in the order in which an index holds them: that of their paths.
  package static func paths(of aggregations: [Aggregation]) -> [FieldPath] {
    Set(aggregations.compactMap(\.path)).sorted()
  }

  /// The query whose result the aggregations are over.
  ///
  /// Sums and averages are computed in the order of their fields, over documents that have all of them (Firestore
  /// documentation of aggregation queries). With a limit this decides which documents take part.
  package static func query(_ query: Query, for aggregations: [Aggregation]) -> Query {
    let orders = query.orders.filter { !$0.path.isDocumentKey }
    let cursorLength = max(query.startAt?.position.count ?? 0, query.endAt?.position.count ?? 0)
    guard cursorLength <= orders.count, !query.explicitOrders.contains(where: \.path.isDocumentKey) else {
      return query
    }
    let direction = orders.last?.direction ?? .ascending
    var result = query
    var explicitOrders = orders
    for path in paths(of: aggregations) where !path.isDocumentKey && !orders.contains(where: { $0.path == path }) {
      explicitOrders.append(OrderBy(path: path, direction: direction))
    }
    result.explicitOrders = explicitOrders
    return result
  }

  /// Returns whether a value of this kind can be the result. Values of a backend are checked here, because the count of a result
  /// is read without another look.
  package func canResult(in value: Value) -> Bool {
    switch (operation, value) {
    case (.count, .integer), (.sum, .integer), (.sum, .double), (.sum, .null), (.average, .integer),
      (.average, .double),
      (.average, .null):
      true
    default:
      false
    }
  }

  /// The field whose numbers are summed.
  package var path: FieldPath? {
    switch operation {
    case .count: nil
    case .sum(let path), .average(let path): path
    }
  }
}
