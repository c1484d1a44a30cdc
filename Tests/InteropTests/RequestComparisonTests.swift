import Foundation
import HearthServer
import InteropSupport
import Logging
import TestSupport
import Testing

private enum ComparisonPython {
  /// True if python3 can send the requests.
  @Sendable static func isUsable() async -> Bool {
    guard Emulator.isInstalled else { return false }
    return await PythonClient.isInstalled()
  }
}

/// Sends generated requests, right and wrong ones, to Google's emulator and to our server. docs/server.md lists the known differences.
@Suite(
  "Generated requests to Google's emulator and hearth serve", .timeLimit(.minutes(10)),
  .enabled(
    "Google's emulator or google-cloud-firestore for python3 is not installed", ComparisonPython.isUsable), Emulator())
struct RequestComparisonTests {
  @Test("2,000 requests have the same answers: status, documents and results")
  func equalAnswers() async throws {
    let environment = ProcessInfo.processInfo.environment
    let seed = environment["HEARTH_TEST_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1..<1_000_000)
    let count = environment["HEARTH_COMPARISONS"].flatMap { Int($0) } ?? 2_000
    let server = try await EmbeddedServer.start(
      host: "127.0.0.1", port: 0, storage: .memory, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let script = try #require(Bundle.module.url(forResource: "compare_requests", withExtension: "py"))
    let python = try #require(Programs.find("python3"))
    let output = try await Programs.runInBackground(
      python, [script.path, "127.0.0.1:\(Emulator.port)", "127.0.0.1:\(server.port)", "\(count)", "\(seed)"],
      environment: ["PYTHONDONTWRITEBYTECODE": "1"])
    print("seed \(seed): \(output.text.split(separator: "\n").last ?? "")")
    #expect(output.status == 0, "HEARTH_TEST_SEED=\(seed)\n\(output.text.prefix(4_000))")
    await server.shutdown()
  }
}
