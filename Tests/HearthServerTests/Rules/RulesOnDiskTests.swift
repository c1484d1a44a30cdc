import Foundation
import GRPCCore
import HearthModel
import HearthRules
import Testing

@testable import HearthServer

@Suite("Rules on a database that its first write creates", .timeLimit(.minutes(1)))
struct RulesOnDiskTests {
  private static let rules = """
    service cloud.firestore {
      match /databases/{database}/documents {
        match /notes/{id} {
          allow read;
          allow create: if request.auth.uid == 'alice' && request.resource.data.at <= request.time;
        }
      }
    }
    """

  private func withServer<R: Sendable>(
    _ folder: String, _ clock: ManualClock, _ body: (ServerFixture) async throws -> R
  ) async throws -> R {
    let server = try await EmbeddedServer.start(storage: .folder(folder), logger: ServerFixture.quietLogger) {
      $0.clock = clock.clock
      $0.callers = .locked(NamedCallers(), AccessRules(try? RuleSet(Self.rules), clock: clock.clock))
    }
    let result: Result<R, any Error>
    do {
      result = .success(
        try await ServerFixture.withClient(of: server) { fixture in
          var alice = fixture
          alice.metadata = ["authorization": "Bearer alice"]
          return try await body(alice)
        })
    } catch {
      result = .failure(error)
    }
    await server.shutdown()
    return try result.get()
  }

  @Test("what users have written is there after a restart, also where the rules depend on the time")
  func restart() async throws {
    try await withTemporaryFolder { folder in
      let clock = ManualClock()
      try await withServer(folder, clock) { alice in
        // The database is opened before anything is in it.
        _ = try? await alice.get("notes/none")
        for path in ["notes/a", "notes/b"] {
          clock.advance(seconds: 60)
          try await alice.set(path, ["at": .timestamp(clock.clock.now().cutToMilliseconds)])
        }
      }
      try await withServer(folder, clock) { alice in
        for path in ["notes/a", "notes/b"] { _ = try await alice.get(path) }
      }
    }
  }
}
