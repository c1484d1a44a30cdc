package import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A running program that is read line by line. Its output is read on a thread of its own, so that waiting for it does not
/// hold up the servers and clients that run in the test's process.
package final class LineProcess {
  private let process = Process()
  private let lines: AsyncStream<Data>
  private var iterator: AsyncStream<Data>.Iterator
  private let input: Pipe?

  /// - Parameter takesInput: True to send it lines with ``send(_:)``.
  package init(_ program: URL, _ arguments: [String], takesInput: Bool = false) throws {
    let output = Pipe()
    process.executableURL = program
    process.arguments = arguments
    input = takesInput ? Pipe() : nil
    if let input { process.standardInput = input } else { process.standardInput = FileHandle.nullDevice }
    process.standardOutput = output
    let (stream, continuation) = AsyncStream.makeStream(of: Data.self)
    lines = stream
    iterator = stream.makeAsyncIterator()
    try process.run()
    let reader = output.fileHandleForReading
    Thread.detachNewThread {
      var buffer = Data()
      while case let data = reader.availableData, !data.isEmpty {
        buffer.append(data)
        while let newline = buffer.firstIndex(of: 0x0A) {
          continuation.yield(Data(buffer[buffer.startIndex..<newline]))
          buffer.removeSubrange(buffer.startIndex...newline)
        }
      }
      continuation.finish()
    }
  }

  package var processIdentifier: Int32 { process.processIdentifier }

  /// The next line, waiting for it; nil when the program has ended and everything was read.
  package nonisolated(nonsending) func nextLine() async -> String? {
    await iterator.next(isolation: #isolation).map { String(decoding: $0, as: UTF8.self) }
  }

  /// The next line that is a JSON object, waiting for it; nil when the program has ended and everything was read.
  package nonisolated(nonsending) func next() async -> [String: Any]? {
    while let line = await nextLine() {
      if let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] { return object }
    }
    return nil
  }

  /// Writes a line to the program's standard input. A program that has ended gets nothing.
  package func send(_ line: String) {
    guard process.isRunning else { return }
    try? input?.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
  }

  /// Ends the program's standard input.
  package func endInput() { try? input?.fileHandleForWriting.close() }

  /// SIGSTOP: the process does nothing more until ``goOn()``, and keeps its locks.
  package func stop() { kill(process.processIdentifier, SIGSTOP) }

  package func goOn() { kill(process.processIdentifier, SIGCONT) }

  /// SIGTERM: what a service manager sends first.
  package func askToEnd() { kill(process.processIdentifier, SIGTERM) }

  /// SIGINT: what Ctrl-C sends.
  package func interrupt() { kill(process.processIdentifier, SIGINT) }

  /// SIGKILL: what a power cut does to a process.
  package func killAtOnce() {
    kill(process.processIdentifier, SIGKILL)
  }

  /// Waits for the end of the program, on a thread of its own.
  package nonisolated(nonsending) func waitForExit() async -> Int32 {
    let process = process
    return await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        process.waitUntilExit()
        continuation.resume(returning: process.terminationStatus)
      }
    }
  }
}
