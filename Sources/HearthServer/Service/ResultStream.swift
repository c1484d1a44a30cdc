internal import Foundation
internal import HearthModel
internal import HearthRPC
internal import HearthWire
internal import NIOCore
internal import SwiftProtobuf

/// Sends the result of a query. The next piece is read while the client takes the one before, unless most of that is still unsent. So a
/// client that does not read holds one piece.
struct ResultStream {
  let decoded: CheckedQuery
  let plan: ReadPlan
  let database: Session
  /// The last message says what the query has cost.
  let isExplained: Bool

  /// The size in bytes of the pieces in which messages are passed to the transport. With the message that exceeds it, a piece mostly fits
  /// in a buffer of 64 KiB; the next size of buffers is twice that.
  private static let bytesPerPiece = 48 << 10

  private var projection: Projection { decoded.projection }

  /// Each document in a message, the number of skipped ones in the first, `done` in the last. Without documents there is
  /// one message, because clients want at least one read time.
  func send(to writer: ResponseWriter<Google_Firestore_V1_RunQueryResponse>) async throws {
    var output = Output(explanation: QueryExplanation(of: decoded), writer: writer)
    do {
      try await sendAll(&output)
    } catch {
      if !output.isOpen { await plan.abandon(in: database) }
      throw error
    }
  }

  private func sendAll(_ output: inout Output) async throws {
    let start = ResultPages(
      of: decoded.query, skipping: decoded.offset, isShallow: decoded.isShallow, plan: plan, in: database)
    if let search = decoded.search { return try await sendNearest(search, start, &output) }
    var pace = ResultPace(load: output.writer.load, clock: ContinuousClock())
    var (pages, page) = try await start.advanced()
    while let present = page {
      output.explanation.add(present.answer.execution)
      let bytes = present.answer.documents.heldBytes
      output.writer.holds(bytes)
      guard !present.isLast else { return try await send(present, &output) }
      let (begin, rest) = present.halves
      try await send(begin, &output)
      let current = pages
      if output.writer.isBehind {
        try await send(rest, &output)
        output.writer.flush()
        page = nil
        (pages, page) = try await current.advanced()
      } else {
        output.writer.holds(2 * bytes)
        async let following = current.advanced()
        try await send(rest, &output)
        // The next piece may take long to read.
        output.writer.flush()
        (pages, page) = try await following
      }
      try await pace.rest()
    }
  }

  /// Sends the result of a vector search, for which all documents of the query are read.
  private func sendNearest(_ search: VectorSearch, _ pages: ResultPages, _ output: inout Output) async throws {
    var (pages, nearest) = (pages, VectorSearch.Nearest(search))
    var version = SnapshotVersion.none
    try await pages.all { answer in
      output.explanation.add(answer.execution)
      version = answer.readVersion
      try nearest.add(answer.documents)
    }
    var rest = nearest.finish()[...]
    repeat {
      let documents = try await search.firstDocuments(
        of: rest, inResultOf: decoded.query, at: version, plan, in: database)
      rest = rest.dropFirst(documents.count)
      output.writer.holds(documents.heldBytes)
      let answer = QueryAnswer(documents: documents, readVersion: version, execution: nil)
      try await send(ResultPages.Page(answer: answer, isLast: rest.isEmpty), &output)
    } while !rest.isEmpty
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
    let documents = page.answer.documents.dropFirst(skippedHere)
    try await send(page.isLast ? documents.dropLast() : documents, at: page.answer.readVersion, &output)
    guard page.isLast else { return }
    var last = Google_Firestore_V1_RunQueryResponse()
    if let document = documents.last {
      last.document = database.translator.encodeDocument(try projection.applied(to: document))
      output.sent += 1
    }
    last.readTime = database.translator.encode(page.answer.readVersion)
    last.skippedResults = Int32(clamping: output.unreported)
    last.done = true
    if isExplained { last.explainMetrics = output.explanation.metrics(resultCount: output.sent) }
    try await output.writer.write(last)
  }

  /// Sends documents that do not include the last one of the result.
  private func send(
    _ documents: ArraySlice<Document>, at version: SnapshotVersion, _ output: inout Output
  ) async throws {
    guard !documents.isEmpty else { return }
    var others = Google_Firestore_V1_RunQueryResponse()
    others.readTime = database.translator.encode(version)
    let frames = DocumentFrames(of: database.id, wrapper: nil, others: try others.serializedBytes())
    var buffer = ByteBuffer()
    for document in documents {
      let shown = try projection.applied(to: document)
      if output.unreported > 0 {
        others.skippedResults = Int32(clamping: output.unreported)
        output.unreported = 0
        try DocumentFrames(of: database.id, wrapper: nil, others: others.serializedBytes()).write(shown, to: &buffer)
      } else {
        frames.write(shown, to: &buffer)
      }
      output.sent += 1
      guard buffer.readableBytes >= Self.bytesPerPiece else { continue }
      try await output.writer.write(encoded: buffer)
      buffer = ByteBuffer()
    }
    if buffer.readableBytes > 0 { try await output.writer.write(encoded: buffer) }
  }
}

extension [Document] {
  /// The memory that the documents take.
  var heldBytes: Int { reduce(0) { $0 + $1.fields.bytes.count + Self.bytesPerDocument } }

  /// The bytes in addition to the fields: the key, its path, and the document itself.
  private static let bytesPerDocument = 256
}
