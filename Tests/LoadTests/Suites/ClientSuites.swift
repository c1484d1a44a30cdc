import Foundation
import HearthServer
import Logging
import TestSupport
import Testing

/// Programs that test our server with Google's clients. They run one after the other and without other tests at the same time: their time
/// limits assume a machine that does nothing else.
@Suite("Suites of Google's clients", .serialized)
enum ClientSuites {
  static func withServer(
    databaseLimits: DatabaseLimits = DatabaseLimits(), _ body: (EmbeddedServer) async throws -> Void
  ) async throws {
    let server = try await EmbeddedServer.start(
      host: "127.0.0.1", port: 0, storage: .memory, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) {
      $0.databaseLimits = databaseLimits
    }
    do { try await body(server) } catch {
      await server.shutdown()
      throw error
    }
    await server.shutdown()
  }
}

/// Skips a suite whose programs cannot be had, with the reason, which is known only after the attempt.
struct Availability: SuiteTrait {
  let name: String
  let reason: @Sendable () async -> String?

  func prepare(for test: Test) async throws {
    guard let reason = await reason() else { return }
    print("\(name): skipped, \(reason)")
    try await ConditionTrait.disabled("\(reason)").prepare(for: test)
  }
}

/// The counts of a suite. Its line is one of those that `scripts/test` repeats at its end.
struct SuiteCounts: Equatable, CustomStringConvertible {
  var passed: Int
  var failed: Int
  var skipped: Int

  init(passed: Int, failed: Int, skipped: Int) {
    (self.passed, self.failed, self.skipped) = (passed, failed, skipped)
  }

  /// The counts of the line "`name`: 1 passed, 2 failed, 3 skipped" in a program's output.
  init?(of name: String, in text: String) {
    let counts = text.split(separator: "\n").filter { $0.hasPrefix("\(name): ") }
      .compactMap { $0.firstMatch(of: /: (\d+) passed, (\d+) failed, (\d+) skipped$/)?.output }
    guard let match = counts.first, let passed = Int(match.1), let failed = Int(match.2), let skipped = Int(match.3)
    else { return nil }
    self.init(passed: passed, failed: failed, skipped: skipped)
  }

  var description: String { "\(passed) passed, \(failed) failed, \(skipped) skipped" }
}
