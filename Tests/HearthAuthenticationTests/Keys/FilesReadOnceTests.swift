import Foundation
import TestSupport
import Testing

@testable import HearthAuthentication

@Suite("Files with secrets that are read once")
struct FilesReadOnceTests {
  @Test("each change is logged once, with the file and that a restart takes it")
  func changes() async throws {
    try await withTemporaryFolder { folder in
      let (log, paths) = (LogRecorder(), ["a", "b"].map { "\(folder)/\($0)" })
      func write(_ text: String, to path: String) throws { try Data(text.utf8).write(to: URL(fileURLWithPath: path)) }
      for path in paths { try write("first", to: path) }
      let files = FilesReadOnce(paths: paths, logger: log.logger)
      files.look()
      #expect(log.lines.isEmpty)
      try write("another", to: paths[1])
      for _ in 0..<3 { files.look() }
      #expect(
        log.lines.count == 1 && log.lines[0].hasPrefix("warning a file with secrets has changed")
          && log.lines[0].contains("restarted") && log.lines[0].hasSuffix("file=\(paths[1])"), "\(log.lines)")
      let watch = Task { await files.watch(every: .milliseconds(5)) }
      try FileManager.default.removeItem(atPath: paths[0])
      try await waitUntil { log.lines.count == 2 }
      watch.cancel()
      #expect(log.lines[1].hasSuffix("file=\(paths[0])"))
    }
  }
}
