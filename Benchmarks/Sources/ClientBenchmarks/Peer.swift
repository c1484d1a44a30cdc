internal import BenchmarkKit
internal import Foundation
internal import Hearth

/// Another process of a benchmark: the same program, which does what its arguments say.
final class Peer {
  static let command = "peer"

  /// The work of a process once it is ready.
  enum Role: String {
    /// Listens to a collection, and does nothing else.
    case idle
    /// Waits without Firestore: the share of the runtime and the libraries.
    case bare
    /// Writes a document repeatedly, with the time in it.
    case writer
  }

  static let writeCount = 500
  private static let pause = 0.02

  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()

  /// Starts a process and waits until it is ready.
  init(_ role: Role, folder: String, host: String) throws {
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
    process.arguments = [Self.command, role.rawValue, folder, host]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    try waitForLine()
  }

  var identifier: Int32 { process.processIdentifier }

  /// Lets it begin to write.
  func go() { input.fileHandleForWriting.write(Data("go\n".utf8)) }

  func waitForLine() throws {
    guard !output.fileHandleForReading.availableData.isEmpty else { throw Failure(message: "a process has ended") }
  }

  func kill() {
    Foundation.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }

  /// Ends it in good order.
  func end() {
    input.fileHandleForWriting.closeFile()
    process.waitUntilExit()
  }

  // MARK: - In the other process

  static func main() throws -> Never {
    let words = CommandLine.arguments
    guard words.count == 5, let role = Role(rawValue: words[2]) else { throw Failure(message: "\(words)") }
    if role == .bare {
      say()
      while readLine() != nil {}
      exit(0)
    }
    let app = App(cache: PersistentCacheSettings(directory: URL(fileURLWithPath: words[3])), host: words[4])
    if words[4] == SharingBenchmarks.nowhere { try app.goOffline() }
    let shown = DispatchSemaphore(value: 0)
    let registration = app.places.addSnapshotListener { _, _ in shown.signal() }
    shown.wait()
    say()
    if role == .writer, readLine() != nil {
      for _ in 0..<writeCount {
        app.places.document("place").setData(["at": monotonicSeconds])
        Thread.sleep(forTimeInterval: pause)
      }
      say()
    }
    while readLine() != nil {}
    registration.remove()
    try app.end()
    exit(0)
  }

  private static func say() { FileHandle.standardOutput.write(Data("ready\n".utf8)) }
}
