internal import Foundation
internal import HearthModel
internal import HearthRPC
internal import HearthWire
internal import SwiftProtobuf

extension FirestoreService {
  /// A part has at least so many documents, as in production.
  private static let minimumPartitionSize = 128

  /// Divides a collection group into parts that can be read side by side. Fewer parts than were asked for, or none, are a full answer.
  func partitionQuery(
    _ message: Google_Firestore_V1_PartitionQueryRequest, _ call: ServerCall
  ) async throws -> Google_Firestore_V1_PartitionQueryResponse {
    let parent = try ResourceName.parent(message.parent, at: "parent")
    let database = try await sessions.open(parent.database, for: call)
    guard parent.path.isEmpty else {
      throw StatusError.invalid("parent is \"\(message.parent)\", but partitions are of the whole database only")
    }
    guard case .structuredQuery(let structuredQuery)? = message.queryType else {
      throw StatusError.invalid("PartitionQueryRequest.query_type: no structured query is set")
    }
    let decoded = try CheckedQuery(parent: message.parent, query: structuredQuery, in: database)
    try await database.requireIndexes(for: decoded)
    try requirePartitionable(decoded)
    guard message.partitionCount > 0 else {
      throw StatusError.invalid("partition_count is \(message.partitionCount), but must be positive")
    }
    guard message.pageSize >= 0 else {
      throw StatusError.invalid("page_size must be greater than or equal to zero.")
    }
    let list = "\(decoded.query.canonicalID)\n\(message.partitionCount)"
    let token = try database.pageToken(message.pageToken, kind: .partitions, of: list)
    let selector = ReadPlan.Selector(message.consistencySelector)
    let plan = try await ReadPlan.prepare(selector, for: .partition(decoded.query), in: database)
    let count = Int(clamping: message.partitionCount)
    var points = try await plan.reading { version throws(StatusError) in
      try await database.partitionPoints(
        of: decoded.query, count: count, minimumSize: Self.minimumPartitionSize, at: version
      ).points
    }
    if let token {
      let last = try DocumentKey(ResourcePath(canonical: token.lastID))
      points = Array(points.drop { $0 <= last })
    }
    var response = Google_Firestore_V1_PartitionQueryResponse()
    let page = message.pageSize == 0 ? points : Array(points.prefix(Int(message.pageSize)))
    response.partitions = page.map { key in
      var cursor = Google_Firestore_V1_Cursor()
      let reference = Value.reference(ReferenceValue(database: database.id, key: key))
      cursor.values = [database.translator.encodeBytes(reference)]
      cursor.before = true
      return cursor
    }
    if page.count < points.count, let last = page.last {
      response.nextPageToken = database.text(of: PageToken(lastID: last.canonicalString, kind: .partitions, of: list))
    }
    return response
  }

  private func requirePartitionable(_ decoded: CheckedQuery) throws(StatusError) {
    let query = decoded.query
    guard query.isCollectionGroupQuery, query.collectionGroup != "" else {
      throw StatusError.invalid("Partition queries must select one collection with all_descendants.")
    }
    guard query.matchesAllDocuments, query.orders.allSatisfy({ $0.direction == .ascending }), decoded.offset == 0,
      decoded.search == nil
    else {
      throw StatusError.invalid(
        "Partition queries must be ordered by __name__ ascending, without filters, limit, offset, cursors and find_nearest."
      )
    }
  }

  /// Pipelines are not served.
  func executePipeline(
    _ message: Google_Firestore_V1_ExecutePipelineRequest, _ call: ServerCall,
    _ writer: ResponseWriter<Google_Firestore_V1_ExecutePipelineResponse>
  ) async throws {
    throw StatusError(
      code: .unimplemented,
      message: "Pipelines (ExecutePipeline) are not served: this is a database of the Standard edition. Use RunQuery.")
  }
}
