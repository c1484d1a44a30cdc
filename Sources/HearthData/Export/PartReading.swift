internal import HearthModel
internal import Synchronization

/// Takes the documents of one part as they come, and writes their lines.
final class PartReading: Sendable {
  private struct State {
    var writer: ValueJSONWriter
    var position: DocumentKey?
    /// Documents since the page began.
    var pageCount = 0
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
      state.pageCount = 0
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
      do {
        try DocumentLine.write(document, to: &state.writer)
      } catch {
        state.failure = DataError("Document \"\(document.key)\" cannot be read: \(error).")
        return
      }
      state.writer.append("\n")
      state.position = document.key
      state.pageCount += 1
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

  /// Writes what waits.
  /// - Returns: True if the page had fewer documents than its limit, so that the part is over.
  func endPage(limit: Int) throws(DataError) -> Bool {
    let (failure, isOver) = state.withLock { state in
      if state.failure == nil { flush(&state) }
      return (state.failure, state.isOver || state.pageCount < limit)
    }
    if let failure { throw failure }
    return isOver
  }
}
