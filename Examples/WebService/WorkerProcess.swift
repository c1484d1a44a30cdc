import Foundation

/// A worker: a second process of this program, with other arguments.
///
/// It ends in good order when its standard input is closed, which also happens when its parent process is killed.
final class WorkerProcess: @unchecked Sendable {
  // Safe: `process` is set up in `init` and not used later; `input` is only closed, which FileHandle allows on any thread.
  private let process = Process()
  private let input = Pipe()
  private let status: AsyncStream<Int32>

  init(arguments: [String]) throws {
    let (status, continuation) = AsyncStream.makeStream(of: Int32.self)
    self.status = status
    process.executableURL = Bundle.main.executableURL
    process.arguments = arguments
    process.standardInput = input
    process.terminationHandler = { process in
      continuation.yield(process.terminationStatus)
      continuation.finish()
    }
    try process.run()
  }

  /// Waits for the end of the process.
  /// - Returns: Its exit status; -1 if the task was cancelled before.
  func end() async -> Int32 {
    await status.first { _ in true } ?? -1
  }

  /// Makes the worker finish its requests and end.
  func askToEnd() {
    try? input.fileHandleForWriting.close()
  }
}
