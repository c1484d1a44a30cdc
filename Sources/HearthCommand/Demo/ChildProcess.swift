import Foundation

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// A message of a second process: one JSON object on a line.
enum DemoEvent {
  static func emit(_ event: [String: Any]) {
    let data = (try? JSONSerialization.data(withJSONObject: event, options: .sortedKeys)) ?? Data("{}".utf8)
    Terminal.write(data + Data("\n".utf8))
  }
}

/// A second process that runs this same program, talks in lines of JSON on its standard output, and can be killed.
final class ChildProcess: @unchecked Sendable {
  // Safe: the handler that reads the output on another thread only touches `buffer` and `events`, which are always used under `lock`.
  // All else is set in `init` and then used by one task of the demo at a time.
  private let lock = NSLock()
  private var buffer = Data()
  private var events: [[String: Any]] = []
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()

  init(arguments: [String]) throws {
    guard let executable = Bundle.main.executableURL else {
      throw DemoError(description: "the path of this program is not known, so the second process cannot be started")
    }
    process.executableURL = executable
    process.arguments = arguments
    process.standardInput = input
    process.standardOutput = output
    output.fileHandleForReading.readabilityHandler = { [weak self] handle in
      let data = handle.availableData
      if data.isEmpty { handle.readabilityHandler = nil } else { self?.take(data) }
    }
    try process.run()
  }

  var identifier: Int32 { process.processIdentifier }
  var isRunning: Bool { process.isRunning }

  /// Waits for the next event of a kind and removes everything up to it.
  func event(_ kind: String) async throws -> [String: Any] {
    try await waitUntil("the second process to say \"\(kind)\"") {
      try lock.withLock {
        if let failed = events.first(where: { $0["event"] as? String == "failed" }) {
          throw DemoError(description: "the second process failed: \(failed["reason"] ?? "no reason given")")
        }
        guard let index = events.firstIndex(where: { $0["event"] as? String == kind }) else { return nil }
        defer { events.removeSubrange(...index) }
        return events[index]
      }
    }
  }

  /// Removes and returns the events of a kind that have come so far.
  func drain(_ kind: String) -> [[String: Any]] {
    lock.withLock {
      defer { events.removeAll { $0["event"] as? String == kind } }
      return events.filter { $0["event"] as? String == kind }
    }
  }

  func send(_ line: String) {
    input.fileHandleForWriting.write(Data((line + "\n").utf8))
  }

  /// Closes the standard input of the process, which ends when it has read all of it.
  func closeInput() {
    try? input.fileHandleForWriting.close()
  }

  /// Ends the process as a power cut would, with SIGKILL: it can flush and close nothing.
  func killAtOnce() async {
    kill(process.processIdentifier, SIGKILL)
    await exit()
  }

  /// Waits for the end of the process.
  /// - Returns: the exit status, or minus the signal that ended it.
  @discardableResult
  func exit() async -> Int32 {
    while process.isRunning {
      try? await Task.sleep(for: .milliseconds(5))
    }
    return process.terminationReason == .uncaughtSignal ? -process.terminationStatus : process.terminationStatus
  }

  private func take(_ data: Data) {
    lock.withLock {
      buffer.append(data)
      while let newline = buffer.firstIndex(of: 0x0A) {
        let line = buffer[buffer.startIndex..<newline]
        buffer.removeSubrange(buffer.startIndex...newline)
        if let object = try? JSONSerialization.jsonObject(with: Data(line)) as? [String: Any] {
          events.append(object)
        }
      }
    }
  }
}
