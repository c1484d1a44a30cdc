internal import HearthModel
internal import Synchronization

/// Takes the documents of one part as they come, and writes their lines.
final class PartReading: Sendable {
  private struct State {
    var writer: ValueJSONWriter
    var position: DocumentKey?
    /// Documents since the page began, and the bytes of their lines.
    var pageCount = 0
    var pageBytes = 0
    /// Documents whose lines wait to be written.
    var waitingCount = 0
    var isOver = false
    var failure: DataError?
  }

  /// Lines are written when there are so many bytes of them.
  private static let bufferBytes = 128 << 10

  private let part: ExportPart
  private let index: Int
  private let output: ExportOutput
  private let progress: DataProgress
  private let state: Mutex<State>

  init(
    part: ExportPart, index: Int, position: DocumentKey?, database: DatabaseID, output: ExportOutput,
    progress: DataProgress
  ) {
    self.part = part
    self.index = index
    self.output = output
    self.progress = progress
    state = Mutex(State(writer: ValueJSONWriter(database: database), position: position))
  }

  /// Begins a page, or begins it again behind the last document that came.
  /// - Returns: The last document that was taken.
  func beginPage() -> DocumentKey? {
    state.withLock { state in
      (state.pageCount, state.pageBytes) = (0, 0)
      return state.position
    }
  }

  func take(_ document: Document) {
    state.withLock { state in
      guard state.failure == nil, !state.isOver else { return }
      guard part.contains(document.key) else {
        // Behind the last document of the part.
        state.isOver = true
        return
      }
      let start = state.writer.bytes.count
      do {
        try DocumentLine.write(document, to: &state.writer)
      } catch {
        state.failure = DataError("Document \"\(document.key)\" cannot be read: \(error).")
        return
      }
      state.writer.append("\n")
      state.position = document.key
      state.pageCount += 1
      state.pageBytes += state.writer.bytes.count - start
      state.waitingCount += 1
      if state.writer.bytes.count >= Self.bufferBytes { flush(&state) }
    }
  }

  private func flush(_ state: inout State) {
    do throws(DataError) {
      try output.write(state.writer.bytes, part: index)
      let count = state.waitingCount
      progress.change {
        $0.documents += count
        $0.done += count
      }
    } catch {
      state.failure = error
    }
    state.writer.removeAll()
    state.waitingCount = 0
  }

  /// The bytes of a page that is worth its request, and the documents of one at most.
  private static let wantedPageBytes = 32 << 20
  private static let largestPage = 50_000

  /// Writes what waits.
  ///
  /// - Parameter limit: The most documents that the page could have.
  /// - Returns: The limit of the next page, which follows from the size of the documents in this one; nil if this one had fewer documents
  ///   than its limit, so that the part is over.
  func endPage(limit: Int) throws(DataError) -> Int? {
    let (page, failure) = state.withLock { state in
      if state.failure == nil { flush(&state) }
      return ((count: state.pageCount, bytes: state.pageBytes, isOver: state.isOver), state.failure)
    }
    if let failure { throw failure }
    guard !page.isOver, page.count >= limit else { return nil }
    let wanted = Self.wantedPageBytes / max(1, page.bytes / max(1, page.count))
    // A few small documents at the beginning do not say that all are.
    return min(max(wanted, 1), limit * 10, max(Self.largestPage, limit))
  }
}
