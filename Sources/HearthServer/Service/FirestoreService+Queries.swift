internal import Foundation
internal import HearthModel
internal import HearthWire
internal import SwiftProtobuf

extension FirestoreService {
  func runQuery(
    _ message: Google_Firestore_V1_RunQueryRequest, _ call: ServerCall,
    _ writer: ResponseWriter<Google_Firestore_V1_RunQueryResponse>
  ) async throws {
    let parent = try ResourceName.parent(message.parent, at: "parent")
    let database = try backend.database(parent.database)
    guard case .structuredQuery(let structuredQuery)? = message.queryType else {
      throw StatusError.invalid("RunQueryRequest.query_type: no structured query is set")
    }
    let decoded = try decode(parent: message.parent, query: structuredQuery, in: database)
    let selector = ReadPlan.Selector(message.consistencySelector)
    let plan = try await ReadPlan.prepare(selector, in: database, query: decoded.query)
    if message.hasExplainOptions, !message.explainOptions.analyze {
      var response = Google_Firestore_V1_RunQueryResponse()
      if let transaction = plan.newTransaction { response.transaction = Data(transaction) }
      response.explainMetrics = try await explanation(of: decoded.query, in: database)
      return try await writer.write(response)
    }
    let stream = ResultStream(
      decoded: decoded, plan: plan, database: database, isExplained: message.hasExplainOptions)
    try await stream.send(to: writer)
  }

  private func explanation(
    of query: Query, in database: HostedDatabase
  ) async throws -> Google_Firestore_V1_ExplainMetrics {
    var explanation = QueryExplanation(of: query)
    explanation.add(try await database.storage.plan(of: query).execution)
    return explanation.planMetrics
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
    _ message: Google_Firestore_V1_RunAggregationQueryRequest, _ call: ServerCall,
    _ writer: ResponseWriter<Google_Firestore_V1_RunAggregationQueryResponse>
  ) async throws {
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
    if message.hasExplainOptions, !message.explainOptions.analyze {
      var response = Google_Firestore_V1_RunAggregationQueryResponse()
      response.explainMetrics = try await explanation(of: query, in: database)
      if let transaction = plan.newTransaction { response.transaction = Data(transaction) }
      return try await writer.write(response)
    }
    var explanation = QueryExplanation(of: query)
    let answer = try await plan.reading { version throws(StatusError) in
      try await database.storage.aggregate(aggregations, over: query, skipping: decoded.offset, at: version)
    }
    var response = Google_Firestore_V1_RunAggregationQueryResponse()
    for (alias, value) in answer.totals.values {
      response.result.aggregateFields[alias] = database.translator.encode(value)
    }
    response.readTime = database.translator.encode(answer.readVersion)
    if let transaction = plan.newTransaction { response.transaction = Data(transaction) }
    if message.hasExplainOptions {
      explanation.add(answer.execution)
      response.explainMetrics = explanation.metrics(resultCount: 1)
    }
    try await writer.write(response)
  }

  func listCollectionIds(
    _ message: Google_Firestore_V1_ListCollectionIdsRequest, _ call: ServerCall
  ) async throws -> Google_Firestore_V1_ListCollectionIdsResponse {
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
