internal import Foundation
internal import HearthModel
internal import HearthStore
internal import HearthWire
internal import SwiftProtobuf

/// Collects the plan and the costs of a query over all its pieces, for `explain_options`.
struct QueryExplanation {
  private let query: Query
  private var execution: QueryExecution?
  private let start = ContinuousClock.now

  init(of query: Query) {
    self.query = query
  }

  /// Adds a piece.
  mutating func add(_ more: QueryExecution?) {
    guard let more else { return }
    guard var sum = execution else { return execution = more }
    sum.rowsRead += more.rowsRead
    sum.entriesRead += more.entriesRead
    for index in more.mergedIndexes where !sum.mergedIndexes.contains(index) { sum.mergedIndexes.append(index) }
    execution = sum
  }

  /// The plan alone.
  var planMetrics: Google_Firestore_V1_ExplainMetrics {
    var metrics = Google_Firestore_V1_ExplainMetrics()
    metrics.planSummary.indexesUsed = indexes.map { properties in
      Google_Protobuf_Struct(fields: [
        "query_scope": .init(stringValue: query.collectionGroup == nil ? "Collection" : "Collection Group"),
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

  /// The indexes as production writes them. The order of keys stands for the documents themselves.
  private var indexes: [String] {
    let keys = "(__name__ \(query.orders.first?.direction == .descending && query.isOrderedByKeyOnly ? "DESC" : "ASC"))"
    guard let execution, execution.plan == .index else { return [keys] }
    var definitions: [IndexDefinition] = []
    var readsKeys = false
    for access in execution.accesses {
      switch access {
      case .document: readsKeys = true
      case .index(let definition, _, _): if !definitions.contains(definition) { definitions.append(definition) }
      }
    }
    definitions += execution.mergedIndexes.filter { !definitions.contains($0) }
    return definitions.map(\.properties) + (readsKeys ? [keys] : [])
  }
}

extension IndexDefinition {
  fileprivate var properties: String {
    let parts = fields.map { field in
      switch field.kind {
      case .ascending: "\(field.path) ASC"
      case .descending: "\(field.path) DESC"
      case .contains: "\(field.path) CONTAINS"
      }
    }
    return "(\((parts + ["__name__ \(keyDirection == .ascending ? "ASC" : "DESC")"]).joined(separator: ", ")))"
  }
}
