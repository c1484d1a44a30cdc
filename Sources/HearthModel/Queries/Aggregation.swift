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
    for aggregation in aggregations {
      guard let path = aggregation.path, !path.isDocumentKey, !explicitOrders.contains(where: { $0.path == path })
      else {
        continue
      }
      explicitOrders.append(OrderBy(path: path, direction: direction))
    }
    result.explicitOrders = explicitOrders
    return result
  }

  private var path: FieldPath? {
    switch operation {
    case .count: nil
    case .sum(let path), .average(let path): path
    }
  }

  /// The value over these documents.
  package func value(over documents: some Collection<Document>) throws -> Value {
    switch operation {
    case .count(let upTo):
      return .integer(Int64(min(documents.count, upTo ?? Int.max)))
    case .sum(let path):
      return try Total(of: path, in: documents).sum
    case .average(let path):
      return try Total(of: path, in: documents).average
    }
  }
}

/// The numbers of one field: integers are added exactly, so that only the final sum can overflow.
private struct Total {
  private var count = 0
  private var integers: Int128 = 0
  private var doubles = 0.0
  private var hasDouble = false

  init(of path: FieldPath, in documents: some Collection<Document>) throws {
    for document in documents {
      switch try document.fields.value(at: path) {
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
