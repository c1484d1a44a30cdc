internal import Foundation
internal import HearthModel
internal import HearthRPC
internal import HearthWire
internal import SwiftProtobuf

extension FirestoreService {
  func runQuery(
    _ message: Google_Firestore_V1_RunQueryRequest, _ call: ServerCall,
    _ writer: ResponseWriter<Google_Firestore_V1_RunQueryResponse>
  ) async throws {
    let parent = try ResourceName.parent(message.parent, at: "parent")
    let database = try await sessions.open(parent.database, for: call)
    guard case .structuredQuery(let structuredQuery)? = message.queryType else {
      throw StatusError.invalid("RunQueryRequest.query_type: no structured query is set")
    }
    let decoded = try CheckedQuery(parent: message.parent, query: structuredQuery, in: database)
    try await database.requireIndexes(for: decoded)
    if message.hasExplainOptions { try database.checkExplaining(decoded.query) }
    let selector = ReadPlan.Selector(message.consistencySelector)
    let plan = try await ReadPlan.prepare(selector, for: .list(decoded.query, skipping: decoded.offset), in: database)
    if message.hasExplainOptions, !message.explainOptions.analyze {
      do {
        var response = Google_Firestore_V1_RunQueryResponse()
        if let transaction = plan.newTransaction { response.transaction = Data(transaction) }
        response.explainMetrics = try await explanation(of: decoded, in: database)
        return try await writer.write(response)
      } catch {
        await plan.abandon(in: database)
        throw error
      }
    }
    let stream = ResultStream(
      decoded: decoded, plan: plan, database: database, isExplained: message.hasExplainOptions)
    try await stream.send(to: writer)
  }

  private func explanation(
    of decoded: CheckedQuery, in database: Session
  ) async throws -> Google_Firestore_V1_ExplainMetrics {
    var explanation = QueryExplanation(of: decoded)
    explanation.add(try await database.plan(of: decoded.query).execution)
    return explanation.planMetrics
  }

  func runAggregationQuery(
    _ message: Google_Firestore_V1_RunAggregationQueryRequest, _ call: ServerCall,
    _ writer: ResponseWriter<Google_Firestore_V1_RunAggregationQueryResponse>
  ) async throws {
    let parent = try ResourceName.parent(message.parent, at: "parent")
    let database = try await sessions.open(parent.database, for: call)
    guard case .structuredAggregationQuery(let aggregationQuery)? = message.queryType,
      case .structuredQuery(let structuredQuery)? = aggregationQuery.queryType
    else {
      throw StatusError.invalid("RunAggregationQueryRequest.query_type: no structured query is set")
    }
    let aggregations = try Aggregation.decode(aggregationQuery.aggregations)
    let decoded = try CheckedQuery(
      parent: message.parent, query: structuredQuery, for: aggregations, in: database)
    try await database.requireIndexes(for: decoded)
    if message.hasExplainOptions { try database.checkExplaining(decoded.query) }
    let selector = ReadPlan.Selector(message.consistencySelector)
    let plan = try await ReadPlan.prepare(
      selector, for: .aggregate(aggregations, over: decoded.asked, skipping: decoded.offset), in: database)
    do {
      try await writer.write(try await response(to: message, aggregations, over: decoded, plan, in: database))
    } catch {
      await plan.abandon(in: database)
      throw error
    }
  }

  private func response(
    to message: Google_Firestore_V1_RunAggregationQueryRequest, _ aggregations: [Aggregation],
    over decoded: CheckedQuery, _ plan: ReadPlan, in database: Session
  ) async throws -> Google_Firestore_V1_RunAggregationQueryResponse {
    if message.hasExplainOptions, !message.explainOptions.analyze {
      var response = Google_Firestore_V1_RunAggregationQueryResponse()
      response.explainMetrics = try await explanation(of: decoded, in: database)
      if let transaction = plan.newTransaction { response.transaction = Data(transaction) }
      return response
    }
    var explanation = QueryExplanation(of: decoded)
    let answer = try await answer(aggregations, over: decoded, plan, in: database)
    var response = Google_Firestore_V1_RunAggregationQueryResponse()
    for (alias, value) in answer.totals.values {
      response.result.aggregateFields[alias] = database.translator.encode(value)
    }
    response.readTime = database.translator.encode(answer.readVersion)
    if let transaction = plan.newTransaction { response.transaction = Data(transaction) }
    if message.hasExplainOptions {
      explanation.add(answer.execution)
      explanation.add(answer.skippedExecution)
      response.explainMetrics = explanation.metrics(resultCount: 1)
    }
    return response
  }

  private func answer(
    _ aggregations: [Aggregation], over decoded: CheckedQuery, _ plan: ReadPlan, in database: Session
  ) async throws -> AggregateAnswer {
    guard decoded.isShallow || decoded.search != nil else {
      return try await plan.reading { version throws(StatusError) in
        try await database.aggregate(aggregations, over: decoded.asked, skipping: decoded.offset, at: version)
      }
    }
    var pages = ResultPages(
      of: decoded.query, skipping: decoded.offset, isShallow: decoded.isShallow, plan: plan, in: database)
    var answer = AggregateAnswer(totals: AggregationTotals(aggregations), readVersion: .none, execution: nil)
    var nearest = decoded.search.map { VectorSearch.Nearest($0) }
    var merged = MergedResults(of: decoded.query, skipping: decoded.offset)
    try await pages.all { page in
      answer.readVersion = page.readVersion
      answer.execution = page.execution
      if nearest == nil { merged.add(page.documents) } else { try nearest?.add(page.documents) }
      for document in merged.takeSettled() { try answer.totals.add(document) }
    }
    for document in merged.finish() { try answer.totals.add(document) }
    var rest = (nearest?.finish() ?? [])[...]
    while let search = decoded.search, !rest.isEmpty {
      let documents = try await search.firstDocuments(
        of: rest, inResultOf: decoded.query, at: answer.readVersion, plan, in: database)
      rest = rest.dropFirst(documents.count)
      for document in documents { try answer.totals.add(document) }
    }
    return answer
  }

  func listCollectionIds(
    _ message: Google_Firestore_V1_ListCollectionIdsRequest, _ call: ServerCall
  ) async throws -> Google_Firestore_V1_ListCollectionIdsResponse {
    let parent = try ResourceName.parent(message.parent, at: "parent")
    let database = try await sessions.open(parent.database, for: call)
    guard message.pageSize >= 0 else {
      throw StatusError.invalid("page_size must be greater than or equal to zero.")
    }
    let token = try database.pageToken(message.pageToken, kind: .collections, of: message.parent)
    let selector = ReadPlan.Selector(message.consistencySelector)
    let plan = try await ReadPlan.prepare(selector, for: .listChildren(of: parent.path), in: database)
    let size = message.pageSize == 0 ? PageToken.defaultPageSize : Int(message.pageSize)
    let list = CollectionList(parent: parent.path, database: database, plan: plan)
    let (ids, isLast) = try await list.page(after: token?.lastID, size: size)
    var response = Google_Firestore_V1_ListCollectionIdsResponse()
    response.collectionIds = ids
    if !isLast, let last = ids.last {
      response.nextPageToken = database.text(of: PageToken(lastID: last, kind: .collections, of: message.parent))
    }
    return response
  }
}
