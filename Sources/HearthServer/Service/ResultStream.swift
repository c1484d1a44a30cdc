internal import Foundation
internal import HearthModel
internal import HearthWire

/// Sends the result of a query. The next piece is read when the client has taken the one before, so a client that does not read holds
/// no more than one piece.
struct ResultStream {
  let decoded: DecodedQuery
  let plan: ReadPlan
  let database: HostedDatabase
  /// The last message says what the query has cost.
  let isExplained: Bool

  /// The number of messages that are passed to the transport at a time.
  private static let messagesPerBatch = 64

  /// Each document in a message, the number of skipped ones in the first, `done` in the last. Without documents there is
  /// one message, because clients want at least one read time.
  func send(to writer: ResponseWriter<Google_Firestore_V1_RunQueryResponse>) async throws {
    let query = decoded.query.widened(by: decoded.offset)
    let projection = Projection(paths: decoded.projection)
    var explanation = QueryExplanation(of: query)
    var (skipped, unreported, sent) = (0, 0, 0)
    var next: QueryPage? = try await page(of: query, after: nil, at: nil)
    if let transaction = plan.newTransaction {
      var opened = Google_Firestore_V1_RunQueryResponse()
      opened.transaction = Data(transaction)
      try await writer.write(opened)
    }
    while let page = next {
      explanation.add(page.answer.execution)
      let skippedHere = min(decoded.offset - skipped, page.answer.documents.count)
      skipped += skippedHere
      unreported += skippedHere
      let readTime = database.translator.encode(page.answer.readVersion)
      let documents = page.answer.documents.dropFirst(skippedHere)
      var batch: [Google_Firestore_V1_RunQueryResponse] = []
      for document in documents {
        var response = Google_Firestore_V1_RunQueryResponse()
        response.document = database.translator.encodeDocument(try projection.applied(to: document))
        response.readTime = readTime
        response.skippedResults = Int32(clamping: unreported)
        unreported = 0
        sent += 1
        // Only now: the last message of all is kept back, because it says that it is the last.
        if batch.count == Self.messagesPerBatch {
          try await writer.write(contentsOf: batch)
          batch = []
        }
        batch.append(response)
      }
      if page.next == nil {
        if batch.isEmpty {
          var response = Google_Firestore_V1_RunQueryResponse()
          response.readTime = readTime
          response.skippedResults = Int32(clamping: unreported)
          batch.append(response)
        }
        batch[batch.count - 1].done = true
        if isExplained { batch[batch.count - 1].explainMetrics = explanation.metrics(resultCount: sent) }
      }
      if !batch.isEmpty { try await writer.write(contentsOf: batch) }
      guard let cursor = page.next else { return }
      // The next piece may take long to read.
      writer.flush()
      next = try await self.page(of: query, after: cursor, at: page.answer.readVersion)
    }
  }

  /// - Parameter version: The version of the first piece; nil for that piece itself.
  private func page(of query: Query, after cursor: QueryCursor?, at version: SnapshotVersion?) async throws -> QueryPage
  {
    let storage = database.storage
    return try await plan.reading(laterAt: version) { version throws(StatusError) in
      try await storage.page(of: query, after: cursor, at: version)
    }
  }
}
