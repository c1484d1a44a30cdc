import HearthServer
import Logging
import Synchronization

@testable import Hearth

/// The embedded server, empty and in memory, while a test runs.
enum TestBackend {
  static func run(_ body: (_ host: String) async throws -> Void) async throws {
    let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    let server = try await EmbeddedServer.start(port: 0, storage: .memory, logger: quiet)
    let result: Result<Void, any Error>
    do { result = .success(try await body("127.0.0.1:\(server.port)")) } catch { result = .failure(error) }
    await server.shutdown()
    try result.get()
  }
}

/// A count that may be raised from any thread.
final class Counter: Sendable {
  private let count = Mutex(0)

  var value: Int { count.withLock { $0 } }

  /// Returns the new count.
  @discardableResult
  func increment() -> Int {
    count.withLock {
      $0 += 1
      return $0
    }
  }
}
