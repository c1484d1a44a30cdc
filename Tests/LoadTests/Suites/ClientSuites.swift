import ClusterSupport
import Foundation
import HearthAuthentication
import HearthServer
import TestSupport
import Testing

@testable import HearthRPC

/// Programs that test our server with Google's clients. They run one after the other and without other tests at the same time: their time
/// limits assume a machine that does nothing else.
@Suite("Suites of Google's clients", .serialized)
enum ClientSuites {
  /// An administrator's secret, which suites send to a locked server.
  static let token = "an-administrator-of-the-suites-of-google's-clients"

  /// A server that nobody but an administrator may use.
  static func locked(_ replaced: String? = nil) throws -> EmbeddedServer.Callers {
    let authenticator = TokenAuthenticator(
      issuers: [], administrators: try AdministratorTokens([token], source: "The suite"))
    guard let replaced else { return .locked(authenticator) }
    return .locked(ReplacedToken(text: replaced, by: token, authenticator: authenticator))
  }

  /// A server, or several, that a suite runs against.
  struct Backend: Sendable {
    var isLocked = false
    var storage = ServedStorage.embedded

    static var all: [Backend] { ServedStorage.available.map { Backend(storage: $0) } + [Backend(isLocked: true)] }

    /// The text behind the name of a suite in the line of its counts.
    var suffix: String { (isLocked ? " with a token" : "") + (storage == .cluster ? " over two nodes" : "") }
  }

  /// Runs `body` against a port of 127.0.0.1.
  ///
  /// - Parameter replaced: The token that stands for the administrator's; nil for the same.
  static func withServer(
    _ backend: Backend = Backend(), replaced: String? = nil, databaseLimits: DatabaseLimits = DatabaseLimits(),
    _ body: (_ port: Int) async throws -> Void
  ) async throws {
    let callers = backend.isLocked ? try locked(replaced) : .development()
    try await backend.storage.withServers {
      $0.callers = callers
      $0.databaseLimits = databaseLimits
    } _: { port in
      try await body(port)
    }
  }
}

/// Stands for a proxy that puts a token in the place of another one: to an emulator's address, Google's Go client sends `owner` only.
private struct ReplacedToken: CallAuthenticator {
  let text: String
  let replacement: String
  let authenticator: TokenAuthenticator

  init(text: String, by replacement: String, authenticator: TokenAuthenticator) {
    self.text = text
    self.replacement = replacement
    self.authenticator = authenticator
  }

  private func replaced(_ metadata: CallMetadata) -> CallMetadata {
    guard metadata["authorization"] == ["Bearer \(text)"] else { return metadata }
    var replaced = CallMetadata()
    replaced.add(name: "authorization", value: "Bearer \(replacement)")
    return replaced
  }

  func known(_ metadata: CallMetadata) throws(CallStatus) -> KnownCaller {
    try authenticator.known(replaced(metadata))
  }

  func identify(_ metadata: CallMetadata) async throws(CallStatus) -> CallIdentity {
    try await authenticator.identify(replaced(metadata))
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
