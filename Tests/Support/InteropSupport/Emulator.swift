import Foundation
import TestSupport
package import Testing

/// Google's own Firestore emulator, for suites that want a backend that nobody here wrote.
///
/// One emulator serves all suites with this trait that run at the same time, because it takes longer to start than most of them take.
/// Each test uses a project id of its own.
package struct Emulator: SuiteTrait, TestScoping {
  package static let hint: Comment =
    "Google's Firestore emulator is not installed (gcloud components install cloud-firestore-emulator, or Debian's google-cloud-cli-firestore-emulator)"

  @TaskLocal package static var port = 0

  package init() {}

  /// True if gcloud, the emulator's component, and curl to talk to its control address are on this machine.
  package static var isInstalled: Bool {
    guard Programs.find("curl") != nil, let gcloud = Programs.find("gcloud")?.resolvingSymlinksInPath() else {
      return false
    }
    let root = gcloud.deletingLastPathComponent().deletingLastPathComponent()
    let component = root.appendingPathComponent("platform/cloud-firestore-emulator")
    return FileManager.default.fileExists(atPath: component.path)
  }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let port: Int?
    do { port = try await SharedEmulator.one.begin() } catch {
      try await SharedEmulator.one.end()
      throw error
    }
    guard let port else {
      Issue.record("the emulator did not listen within a minute on any of three ports")
      return try await SharedEmulator.one.end()
    }
    let result: Result<Void, any Error>
    do {
      result = .success(try await Self.$port.withValue(port) { try await function() })
    } catch {
      result = .failure(error)
    }
    try await SharedEmulator.one.end()
    try result.get()
  }

  /// Starts the emulator and waits until it answers.
  ///
  /// - Returns: Its port; nil if it did not answer on any of three.
  fileprivate static func start() async throws -> Int? {
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

  fileprivate static func curl(_ arguments: String...) async throws -> Programs.Output {
    try await Programs.runInBackground(URL(fileURLWithPath: "/usr/bin/env"), ["curl", "-s"] + arguments)
  }
}

/// The emulator of this test run, and how many suites need it now.
private actor SharedEmulator {
  static let one = SharedEmulator()

  private var suites = 0
  private var port: Task<Int?, any Error>?

  /// - Returns: The port; nil if it did not answer. ``end()`` must follow in every case.
  func begin() async throws -> Int? {
    suites += 1
    let port = self.port ?? Task { try await Emulator.start() }
    self.port = port
    return try await port.value
  }

  /// Shuts the emulator down with the last suite that needs it. One that comes later gets another.
  func end() async throws {
    suites -= 1
    guard suites == 0, let port else { return }
    self.port = nil
    guard let port = try? await port.value else { return }
    // The launcher leaves its Java child behind when it is signalled; the emulator's own request ends both.
    _ = try await Emulator.curl("-X", "POST", "127.0.0.1:\(port)/shutdown")
  }
}
