import Foundation
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
    let port = try Programs.freePort()
    let process = Process()
    process.executableURL = Programs.find("gcloud")
    process.arguments = ["emulators", "firestore", "start", "--host-port=127.0.0.1:\(port)"]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    let answer = try await Self.curl("--retry", "60", "--retry-connrefused", "--retry-delay", "1", "127.0.0.1:\(port)/")
    guard answer.status == 0 else {
      process.terminate()
      Issue.record("the emulator did not listen on port \(port) within a minute")
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

  private static func curl(_ arguments: String...) async throws -> Programs.Output {
    try await Programs.runInBackground(URL(fileURLWithPath: "/usr/bin/env"), ["curl", "-s"] + arguments)
  }
}
