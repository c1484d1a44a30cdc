internal import Foundation
internal import GRPCCore
internal import HearthModel
internal import HearthWire
internal import SwiftProtobuf

extension FirestoreService {
  func runQuery(
    request: ServerRequest<Google_Firestore_V1_RunQueryRequest>, context: ServerContext
  ) async throws -> StreamingServerResponse<Google_Firestore_V1_RunQueryResponse> {
    streaming(context) { writer in
      let message = request.message
      let parent = try ResourceName.parent(message.parent, at: "parent")
      let database = try backend.database(parent.database)
      guard case .structuredQuery(let structuredQuery)? = message.queryType else {
        throw StatusError.invalid("RunQueryRequest.query_type: no structured query is set")
      }
      let decoded = try decode(parent: message.parent, query: structuredQuery, in: database)
      let selector = ReadPlan.Selector(message.consistencySelector)
      let plan = try await ReadPlan.prepare(selector, in: database, query: decoded.query)
      let answer = try await plan.reading { version throws(StatusError) in
        try await database.storage.run(decoded.query.widened(by: decoded.offset), at: version)
      }
      if let transaction = plan.newTransaction {
        var opened = Google_Firestore_V1_RunQueryResponse()
        opened.transaction = Data(transaction)
        try await writer.write(opened)
      }
      try await send(answer.documents, skipping: decoded, readVersion: answer.readVersion, in: database, to: writer)
    }
  }

  /// Each document in a message, the number of skipped ones in the first, `done` in the last. Without documents there is
  /// one message, because clients want at least one read time.
  private func send(
    _ documents: [Document], skipping decoded: DecodedQuery, readVersion: SnapshotVersion,
    in database: HostedDatabase, to writer: RPCWriter<Google_Firestore_V1_RunQueryResponse>
  ) async throws {
    let projection = Projection(paths: decoded.projection)
    let readTime = database.translator.encode(readVersion)
    var skipped = Int32(clamping: min(decoded.offset, documents.count))
    let rest = documents.dropFirst(decoded.offset)
    for (index, document) in zip(rest.indices, rest) {
      var response = Google_Firestore_V1_RunQueryResponse()
      response.document = database.translator.encodeDocument(try projection.applied(to: document))
      response.readTime = readTime
      response.skippedResults = skipped
      skipped = 0
      if index == rest.indices.last { response.done = true }
      try await writer.write(response)
    }
    if rest.isEmpty {
      var response = Google_Firestore_V1_RunQueryResponse()
      response.readTime = readTime
      response.skippedResults = skipped
      response.done = true
      try await writer.write(response)
    }
  }

  /// Translates a query and checks it against the limits.
  func decode(
    parent: String, query: Google_Firestore_V1_StructuredQuery, in database: HostedDatabase
  ) throws -> DecodedQuery {
    let decoded = try database.translator.decode(parent: parent, query: query)
    guard decoded.findNearest == nil else {
      throw StatusError(code: .unimplemented, message: "StructuredQuery.find_nearest is not served.")
    }
    try QueryLimits.check(decoded.query)
    return decoded
  }

  func runAggregationQuery(
    request: ServerRequest<Google_Firestore_V1_RunAggregationQueryRequest>, context: ServerContext
  ) async throws -> StreamingServerResponse<Google_Firestore_V1_RunAggregationQueryResponse> {
    streaming(context) { writer in
      let message = request.message
      let parent = try ResourceName.parent(message.parent, at: "parent")
      let database = try backend.database(parent.database)
      guard case .structuredAggregationQuery(let aggregationQuery)? = message.queryType,
        case .structuredQuery(let structuredQuery)? = aggregationQuery.queryType
      else {
        throw StatusError.invalid("RunAggregationQueryRequest.query_type: no structured query is set")
      }
      let aggregations = try Aggregation.decode(aggregationQuery.aggregations)
      let decoded = try decode(parent: message.parent, query: structuredQuery, in: database)
      let query = Aggregation.query(decoded.query, for: aggregations)
      let selector = ReadPlan.Selector(message.consistencySelector)
      let plan = try await ReadPlan.prepare(selector, in: database, query: query)
      let answer = try await plan.reading { version throws(StatusError) in
        try await database.storage.aggregate(aggregations, over: query, skipping: decoded.offset, at: version)
      }
      var response = Google_Firestore_V1_RunAggregationQueryResponse()
      for (alias, value) in answer.totals.values {
        response.result.aggregateFields[alias] = database.translator.encode(value)
      }
      response.readTime = database.translator.encode(answer.readVersion)
      if let transaction = plan.newTransaction { response.transaction = Data(transaction) }
      try await writer.write(response)
    }
  }

  func listCollectionIds(
    request: ServerRequest<Google_Firestore_V1_ListCollectionIdsRequest>, context: ServerContext
  ) async throws -> ServerResponse<Google_Firestore_V1_ListCollectionIdsResponse> {
    try await unary(context) {
      let message = request.message
      let parent = try ResourceName.parent(message.parent, at: "parent")
      let database = try backend.database(parent.database)
      guard message.pageSize >= 0 else { throw StatusError.invalid("Page size must be nonnegative.") }
      guard message.consistencySelector == nil else {
        throw StatusError(code: .unimplemented, message: "ListCollectionIdsRequest.read_time is not served.")
      }
      let token = try PageToken(parsing: message.pageToken, kind: .collections, of: message.parent)
      var ids = try await database.storage.collectionIDs(under: parent.path)
      if let last = token?.lastID { ids = Array(ids.drop { !(ResourcePath([last]) < ResourcePath([$0])) }) }
      var response = Google_Firestore_V1_ListCollectionIdsResponse()
      let size = message.pageSize == 0 ? PageToken.defaultPageSize : Int(message.pageSize)
      response.collectionIds = Array(ids.prefix(size))
      if ids.count > size, let last = response.collectionIds.last {
        response.nextPageToken = PageToken(lastID: last, kind: .collections, of: message.parent).text
      }
      return response
    }
  }
}
