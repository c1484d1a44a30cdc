internal import Foundation
internal import HearthModel
internal import HearthPlan
internal import HearthWire
internal import SwiftProtobuf

/// Collects the plan and the costs of a query over all its pieces, for `explain_options`.
struct QueryExplanation {
  private let decoded: CheckedQuery
  private var query: Query { decoded.query }
  private var execution: QueryExecution?
  private let start = ContinuousClock.now

  init(of decoded: CheckedQuery) {
    self.decoded = decoded
  }

  /// Adds a piece.
  mutating func add(_ more: QueryExecution?) {
    guard let more else { return }
    guard var sum = execution else { return execution = more }
    sum.rowsRead += more.rowsRead
    sum.entriesRead += more.entriesRead
    sum.rangesRead += more.rangesRead
    for index in more.mergedIndexes where !sum.mergedIndexes.contains(index) { sum.mergedIndexes.append(index) }
    execution = sum
  }

  /// The plan alone.
  var planMetrics: Google_Firestore_V1_ExplainMetrics {
    var metrics = Google_Firestore_V1_ExplainMetrics()
    metrics.planSummary.indexesUsed = indexes.map { properties in
      Google_Protobuf_Struct(fields: [
        "query_scope": .init(stringValue: query.collectionGroup == nil ? "Collection" : "Collection group"),
        "properties": .init(stringValue: properties),
      ])
    }
    return metrics
  }

  /// The plan and what its run has cost.
  ///
  /// - Parameter resultCount: The number of results that the client gets.
  func metrics(resultCount: Int) -> Google_Firestore_V1_ExplainMetrics {
    var metrics = planMetrics
    metrics.executionStats.resultsReturned = Int64(resultCount)
    // Production counts the documents that it reads for the client, at least one.
    metrics.executionStats.readOperations = Int64(max(resultCount, 1))
    let (seconds, attoseconds) = start.duration(to: .now).components
    metrics.executionStats.executionDuration = Google_Protobuf_Duration(
      seconds: seconds, nanos: Int32(clamping: attoseconds / 1_000_000_000))
    var debug: [String: Google_Protobuf_Value] = [
      "documents_scanned": .init(stringValue: "\(execution?.rowsRead ?? 0)"),
      "index_entries_scanned": .init(stringValue: "\(execution?.entriesRead ?? 0)"),
      "billing_details": .init(
        structValue: Google_Protobuf_Struct(fields: [
          "documents_billable": .init(stringValue: "\(max(resultCount, 1))"),
          "index_entries_billable": .init(stringValue: "0"), "small_ops": .init(stringValue: "0"),
          "min_query_cost": .init(stringValue: resultCount == 0 ? "1" : "0"),
        ])),
    ]
    if let reason = execution?.reason { debug["plan_reason"] = .init(stringValue: reason) }
    metrics.executionStats.debugStats = Google_Protobuf_Struct(fields: debug)
    return metrics
  }

  /// The indexes as production writes them. Where the run has used none, because few documents were read, those that production uses.
  private var indexes: [String] {
    guard let execution, execution.plan == .index else { return neededIndexes }
    var definitions: [IndexDefinition] = []
    var readsKeys = false
    for access in execution.accesses {
      switch access {
      case .document: readsKeys = true
      case .index(let definition, _, _): if !definitions.contains(definition) { definitions.append(definition) }
      }
    }
    definitions += execution.mergedIndexes.filter { !definitions.contains($0) }
    let properties = definitions.map { Self.properties($0.fields, $0.keyDirection) }
    return properties + (readsKeys ? [Self.properties([], .ascending)] : [])
  }

  private var neededIndexes: [String] {
    var indexes: [String] = []
    for index in decoded.indexNeeds.flatMap(\.indexes) {
      let properties = Self.properties(index.fields, index.keyDirection, index.vector)
      if !indexes.contains(properties) { indexes.append(properties) }
    }
    return indexes.isEmpty ? [Self.properties([], query.orders.last?.direction ?? .ascending)] : indexes
  }

  private static func properties(
    _ fields: [IndexDefinition.Field], _ keyDirection: OrderBy.Direction, _ vector: QueryIndexDefinition.Vector? = nil
  ) -> String {
    var parts = fields.map { field in
      switch field.kind {
      case .ascending: "\(field.path) ASC"
      case .descending: "\(field.path) DESC"
      case .contains: "\(field.path) CONTAINS"
      }
    }
    parts.append("__name__ \(keyDirection == .ascending ? "ASC" : "DESC")")
    if let vector { parts.append("\(vector.path) VECTOR<\(vector.dimension)>") }
    return "(\(parts.joined(separator: ", ")))"
  }
}
