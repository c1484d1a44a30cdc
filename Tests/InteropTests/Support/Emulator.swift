import Foundation
import TestSupport
import Testing

/// Google's own Firestore emulator, for suites that want a backend that nobody here wrote.
///
/// The emulator is started once for the suite that carries this trait and shut down after it. Each test uses a project id of its own.
struct Emulator: SuiteTrait, TestScoping {
  static let hint: Comment =
    "Google's Firestore emulator is not installed (gcloud components install cloud-firestore-emulator, or Debian's google-cloud-cli-firestore-emulator)"

  @TaskLocal static var port = 0

  /// True if gcloud, the emulator's component, and curl to talk to its control address are on this machine.
  static var isInstalled: Bool {
    guard Programs.find("curl") != nil, let gcloud = Programs.find("gcloud")?.resolvingSymlinksInPath() else {
      return false
    }
    let root = gcloud.deletingLastPathComponent().deletingLastPathComponent()
    let component = root.appendingPathComponent("platform/cloud-firestore-emulator")
    return FileManager.default.fileExists(atPath: component.path)
  }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    guard let port = try await Self.start() else {
      Issue.record("the emulator did not listen within a minute on any of three ports")
      return
    }
    let result: Result<Void, any Error>
    do {
      result = .success(try await Self.$port.withValue(port) { try await function() })
    } catch {
      result = .failure(error)
    }
    // The launcher leaves its Java child behind when it is signalled; the emulator's own request ends both.
    _ = try await Self.curl("-X", "POST", "127.0.0.1:\(port)/shutdown")
    try result.get()
  }

  /// Starts the emulator and waits until it answers.
  ///
  /// - Returns: Its port; nil if it did not answer on any of three.
  private static func start() async throws -> Int? {
    for _ in 0..<3 {
      let port = try Programs.freePort()
      let process = Process()
      process.executableURL = Programs.find("gcloud")
      process.arguments = ["emulators", "firestore", "start", "--host-port=127.0.0.1:\(port)"]
      process.standardInput = FileHandle.nullDevice
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.run()
      let answer = try await curl("--retry", "60", "--retry-connrefused", "--retry-delay", "1", "127.0.0.1:\(port)/")
      // An answer without the process comes from a server that took the port before it.
      if answer.status == 0, process.isRunning { return port }
      process.terminate()
    }
    return nil
  }

  private static func curl(_ arguments: String...) async throws -> Programs.Output {
    try await Programs.runInBackground(URL(fileURLWithPath: "/usr/bin/env"), ["curl", "-s"] + arguments)
  }
}
