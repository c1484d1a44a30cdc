package import HearthModel
internal import Synchronization

/// Standard output, for bytes.
package struct StandardOutput: Sendable {
  private let file = FileWriting()

  package init() {}

  /// - Throws: A ``DataError`` if nobody takes the bytes.
  package func write(_ bytes: [UInt8]) throws(DataError) {
    try file.write(bytes)
  }

  package func writeLine(_ line: String) throws(DataError) {
    try file.write(Array((line + "\n").utf8))
  }
}

/// Writes documents to standard output as they come, a line of JSON for each.
package final class DocumentOutput: Sendable {
  private struct State {
    var writer: ValueJSONWriter
    var count = 0
    var failure: DataError?
  }

  private static let bufferBytes = 64 << 10

  private let output = StandardOutput()
  private let state: Mutex<State>

  package init(database: DatabaseID) {
    state = Mutex(State(writer: ValueJSONWriter(database: database)))
  }

  package func take(_ document: Document) {
    state.withLock { state in
      guard state.failure == nil else { return }
      do {
        try DocumentLine.write(document, to: &state.writer)
        state.writer.append("\n")
        state.count += 1
      } catch {
        state.failure = DataError("Document \"\(document.key)\" cannot be read: \(error).")
      }
      if state.writer.bytes.count >= Self.bufferBytes { flush(&state) }
    }
  }

  private func flush(_ state: inout State) {
    do throws(DataError) {
      try output.write(state.writer.bytes)
    } catch {
      state.failure = state.failure ?? error
    }
    state.writer.removeAll()
  }

  /// Writes what waits.
  /// - Returns: The number of documents.
  package func end() throws(DataError) -> Int {
    let (count, failure) = state.withLock { state in
      flush(&state)
      return (state.count, state.failure)
    }
    if let failure { throw failure }
    return count
  }
}
