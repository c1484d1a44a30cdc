import Foundation
import Synchronization
import TestSupport

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// `hearth serve` as a process of its own, from the folder of the tests' products.
final class ServeProcess {
  private final class Output: Sendable {
    let text = Mutex("")
  }

  private let process = Process()
  private let output = Output()

  /// - Parameter openFiles: The limit of the process, soft and hard; nil for that of the tests.
  init(openFiles: Int? = nil, folder: String, _ arguments: [String] = []) throws {
    let program = Self.productsFolder.appendingPathComponent("hearth").path
    let limit = openFiles.map { "ulimit -n \($0) && " } ?? ""
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments =
      ["-c", limit + "exec \"$@\"", "sh", program, "serve", "--port", "0", "--data", folder] + arguments
    process.standardInput = FileHandle.nullDevice
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let reader = pipe.fileHandleForReading
    Thread.detachNewThread { [output] in
      while case let data = reader.availableData, !data.isEmpty {
        output.text.withLock { $0 += String(decoding: data, as: UTF8.self) }
      }
    }
  }

  private static var productsFolder: URL {
    #if os(macOS)
      if let bundle = Bundle.allBundles.first(where: { $0.bundlePath.hasSuffix(".xctest") }) {
        return bundle.bundleURL.deletingLastPathComponent()
      }
    #endif
    return URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
  }

  /// The output and the log of the process.
  var log: String { output.text.withLock { $0 } }

  private struct Failure: Error { var log: String }

  /// Waits until the server listens.
  func port() async throws -> Int {
    var port: Int?
    try await waitUntil {
      port = log.firstMatch(of: /Hearth is serving on [0-9.]+:([0-9]+)\n/).flatMap { Int($0.1) }
      if !process.isRunning { throw Failure(log: log) }
      return port != nil
    }
    guard let port else { throw Failure(log: log) }
    return port
  }

  /// The processor time in seconds that the process has used. On Linux only.
  func processorTime() throws -> Double {
    // Fields 14 and 15 are ticks of a hundredth of a second, counted behind the name in parentheses (man 5 proc).
    let text = try String(contentsOfFile: "/proc/\(process.processIdentifier)/stat", encoding: .utf8)
    let fields = text.split(separator: ")").last.map { $0.split(separator: " ") } ?? []
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else {
      throw Failure(log: text)
    }
    return (user + system) / 100
  }

  var isRunning: Bool { process.isRunning }

  func send(_ signal: Int32) { kill(process.processIdentifier, signal) }

  /// Waits for the end of the process.
  ///
  /// - Returns: Its exit status; minus the number of the signal that ended it.
  func exitStatus() async throws -> Int32 {
    try await waitUntil { !process.isRunning }
    return process.terminationReason == .uncaughtSignal ? -process.terminationStatus : process.terminationStatus
  }

  /// Ends the process at once.
  func end() {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
  }
}
