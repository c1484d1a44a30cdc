internal import HearthModel
internal import HearthWire
internal import SwiftProtobuf

/// One aggregation of a query's result, as the Firestore documentation defines it.
struct Aggregation {
  enum Operation {
    case count(upTo: Int?)
    case sum(FieldPath)
    case average(FieldPath)
  }

  static let maximumCount = 5

  var alias: String
  var operation: Operation

  /// Reads the aggregations of a request: 1 to 5, aliases unique, `field_1`, `field_2` … where none is given.
  static func decode(
    _ messages: [Google_Firestore_V1_StructuredAggregationQuery.Aggregation]
  ) throws -> [Aggregation] {
    guard !messages.isEmpty else { throw StatusError.invalid("Aggregations can not be empty.") }
    guard messages.count <= maximumCount else {
      throw StatusError.invalid(
        "The maximum number of aggregations allowed in an aggregation query is \(maximumCount). Received: "
          + "\(messages.count)")
    }
    var aliases: Set<String> = []
    for message in messages where !message.alias.isEmpty && !aliases.insert(message.alias).inserted {
      throw StatusError.invalid("Aggregation aliases contain duplicate alias: \(message.alias)")
    }
    var nextField = 1
    return try messages.map { message in
      var alias = message.alias
      while alias.isEmpty {
        let candidate = "field_\(nextField)"
        nextField += 1
        if aliases.insert(candidate).inserted { alias = candidate }
      }
      return Aggregation(alias: alias, operation: try decode(message))
    }
  }

  private static func decode(
    _ message: Google_Firestore_V1_StructuredAggregationQuery.Aggregation
  ) throws -> Operation {
    switch message.operator {
    case .count(let count):
      guard count.hasUpTo else { return .count(upTo: nil) }
      guard count.upTo.value > 0 else {
        throw StatusError.invalid("aggregations: count.up_to is \(count.upTo.value), but must be greater than zero")
      }
      return .count(upTo: Int(clamping: count.upTo.value))
    case .sum(let sum): return .sum(try FieldPath(parsingServerFormat: sum.field.fieldPath))
    case .avg(let average): return .average(try FieldPath(parsingServerFormat: average.field.fieldPath))
    case nil: throw StatusError.invalid("aggregations: none of count, sum and avg is set")
    }
  }

  /// The query whose result the aggregations are over.
  ///
  /// Sums and averages are computed in the order of their fields, over documents that have all of them (Firestore
  /// documentation of aggregation queries). With a limit this decides which documents take part.
  static func query(_ query: Query, for aggregations: [Aggregation]) -> Query {
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
  func value(over documents: some Collection<Document>) throws -> Value {
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
