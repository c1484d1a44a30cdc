internal import Foundation
internal import HearthModel
internal import HearthWire

/// Sends the result of a query. The next piece is read when the client has taken the one before, so a client that does not read holds
/// no more than one piece.
struct ResultStream {
  let decoded: CheckedQuery
  let plan: ReadPlan
  let database: HostedDatabase
  /// The last message says what the query has cost.
  let isExplained: Bool

  /// The number of messages that are passed to the transport at a time.
  private static let messagesPerBatch = 64

  /// Each document in a message, the number of skipped ones in the first, `done` in the last. Without documents there is
  /// one message, because clients want at least one read time.
  func send(to writer: ResponseWriter<Google_Firestore_V1_RunQueryResponse>) async throws {
    var output = Output(explanation: QueryExplanation(of: decoded), writer: writer)
    do {
      try await sendAll(&output)
    } catch {
      if !output.isOpen { plan.abandon(in: database) }
      throw error
    }
  }

  private func sendAll(_ output: inout Output) async throws {
    var pages = ResultPages(
      of: decoded.query.widened(by: decoded.offset), isShallow: decoded.isShallow, plan: plan, in: database)
    if let search = decoded.search { return try await send(try await nearest(search, pages, &output), &output) }
    while let page = try await pages.next() {
      output.explanation.add(page.answer.execution)
      try await send(page, &output)
      guard !page.isLast else { return }
      // The next piece may take long to read.
      output.writer.flush()
    }
  }

  /// The result of a vector search, for which all documents of the query are read.
  private func nearest(
    _ search: VectorSearch, _ pages: ResultPages, _ output: inout Output
  ) async throws -> ResultPages.Page {
    var (pages, nearest) = (pages, VectorSearch.Nearest(search))
    var version = SnapshotVersion.none
    try await pages.all { answer in
      output.explanation.add(answer.execution)
      version = answer.readVersion
      try nearest.add(answer.documents)
    }
    let answer = QueryAnswer(documents: try nearest.finish(), readVersion: version, execution: nil)
    return ResultPages.Page(answer: answer, isLast: true)
  }

  private struct Output {
    var explanation: QueryExplanation
    let writer: ResponseWriter<Google_Firestore_V1_RunQueryResponse>
    var isOpen = false
    var skipped = 0
    /// Skipped documents that no message has reported yet.
    var unreported = 0
    var sent = 0
  }

  private func send(_ page: ResultPages.Page, _ output: inout Output) async throws {
    if !output.isOpen, let transaction = plan.newTransaction {
      var opened = Google_Firestore_V1_RunQueryResponse()
      opened.transaction = Data(transaction)
      try await output.writer.write(opened)
    }
    output.isOpen = true
    let skippedHere = min(decoded.offset - output.skipped, page.answer.documents.count)
    output.skipped += skippedHere
    output.unreported += skippedHere
    let readTime = database.translator.encode(page.answer.readVersion)
    let projection = Projection(paths: decoded.projection)
    var batch: [Google_Firestore_V1_RunQueryResponse] = []
    for document in page.answer.documents.dropFirst(skippedHere) {
      var response = Google_Firestore_V1_RunQueryResponse()
      response.document = database.translator.encodeDocument(try projection.applied(to: document))
      response.readTime = readTime
      response.skippedResults = Int32(clamping: output.unreported)
      output.unreported = 0
      output.sent += 1
      // Only now: the last message of all is kept back, because it says that it is the last.
      if batch.count == Self.messagesPerBatch {
        try await output.writer.write(contentsOf: batch)
        batch = []
      }
      batch.append(response)
    }
    if page.isLast {
      if batch.isEmpty {
        var response = Google_Firestore_V1_RunQueryResponse()
        response.readTime = readTime
        response.skippedResults = Int32(clamping: output.unreported)
        batch.append(response)
      }
      batch[batch.count - 1].done = true
      if isExplained { batch[batch.count - 1].explainMetrics = output.explanation.metrics(resultCount: output.sent) }
    }
    if !batch.isEmpty { try await output.writer.write(contentsOf: batch) }
  }
}
