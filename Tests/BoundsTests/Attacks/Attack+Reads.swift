import Foundation
import HearthWire
import SwiftProtobuf

/// Reads whose answers are not taken.
extension Attack {
  /// The same query of every client, over the whole of `big` unless it says something else.
  func leaveUnread(
    query: StructuredQuery, _ change: (inout Google_Firestore_V1_RunQueryRequest) -> Void = { _ in }
  ) async throws {
    let call = try Call.query(query, change)
    try await leaveUnread { _ in call }
  }

  func leaveUnreadInThePast() async throws {
    let caller = try await caller()
    let time = try await caller.answer(
      to: .commit([.set("beside/past", ["n": .integer(1)])]), as: Google_Firestore_V1_CommitResponse.self
    ).commitTime
    try await SampleData.overwriteBig(with: caller)
    try await leaveUnread(query: .of("big")) { $0.readTime = time }
  }

  func leaveUnreadInTransactions(
    _ query: StructuredQuery, _ options: (inout Google_Firestore_V1_TransactionOptions) -> Void
  ) async throws {
    let caller = try await caller()
    try await leaveUnread { _ in
      let transaction = try await caller.answer(
        to: .begin(options), as: Google_Firestore_V1_BeginTransactionResponse.self
      ).transaction
      return try .query(query) { $0.transaction = transaction }
    }
  }

  /// Nobody reads the answer of a call of REST over HTTP/1.1. The system's buffers take megabytes of JSON for each client, which a debug
  /// build writes slowly, so there are fewer of them.
  func leaveUnreadOverREST(_ request: (PlainConnection) -> Void) async throws {
    for _ in 0..<4 * size { request(try await socket()) }
    try await Task.sleep(for: .milliseconds(500))
    await waitUntilSteady()
  }

  /// Many aggregations at once, which read much and answer little.
  func aggregate(_ change: (inout StructuredQuery) -> Void) async throws {
    var count = Google_Firestore_V1_StructuredAggregationQuery.Aggregation()
    count.count = .init()
    var sum = Google_Firestore_V1_StructuredAggregationQuery.Aggregation()
    sum.sum.field = .init("n")
    sum.alias = "sum"
    var average = Google_Firestore_V1_StructuredAggregationQuery.Aggregation()
    average.avg.field = .init("m")
    average.alias = "average"
    let call = try Call.aggregation(.of("big", change), [count, sum, average])
    try await leaveUnread { _ in call }
  }

  /// A vector search that finds a thousand documents of `big`.
  func searchVectors() async throws {
    try await leaveUnread(
      query: .of("big") {
        $0.findNearest.vectorField = .init("v")
        $0.findNearest.queryVector = .vector([1, 2, 3, 4])
        $0.findNearest.distanceMeasure = .euclidean
        $0.findNearest.limit = Google_Protobuf_Int32Value(1000)
      })
  }

  func getLarge() async throws {
    let call = try Call.batchGet((0..<SampleData.largeCount).map { "large/\($0)" })
    try await leaveUnread { _ in call }
  }
}
