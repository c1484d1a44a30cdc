public import Foundation
internal import Logging

/// A Firestore server in the process of a test, on a free port of this machine.
///
/// An app that uses `Hearth`, or any other Firestore client, is pointed at ``address`` and behaves as with a backend:
///
/// ```swift
/// let server = try await TestServer.start()
/// let settings = Firestore.firestore().settings
/// settings.host = server.address
/// settings.isSSLEnabled = false
/// Firestore.firestore().settings = settings
/// // … the test …
/// try await Firestore.firestore().terminate()
/// await server.stop()
/// ```
///
/// It is the server of the program `hearth serve`. Any project and database id is accepted, and nothing has to be created. There are
/// no security rules: every client may read and write everything. Only programs on this machine can reach it.
///
/// Servers in one process are independent of each other, so each test can have its own. A server that is not stopped serves until the
/// process ends.
public final class TestServer: Sendable {
  /// The IP address that the server listens on, always `127.0.0.1`.
  public let host = "127.0.0.1"

  /// The port that the server listens on, 1 to 65535.
  public var port: Int { server.port }

  /// Host and port, such as `127.0.0.1:49152`, as `FirestoreSettings.host` and the environment variable `FIRESTORE_EMULATOR_HOST`
  /// take them.
  public var address: String { "\(host):\(port)" }

  private let server: EmbeddedServer

  private init(server: EmbeddedServer) {
    self.server = server
  }

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - folder: Where the databases are kept, one SQLite file each; the folder is created if it is missing. One server at a time
  ///     can use it. By default the databases are in memory, and gone when the server stops.
  ///   - port: The port to listen on, 1 to 65535. By default the system chooses a free one. The port of a server that was stopped
  ///     brings the backend back for clients that know its address.
  /// - Returns: The server, which accepts connections.
  /// - Throws: An error whose description names the cause and what to do: the port is in use or does not exist, or the folder cannot
  ///   be created, written or locked.
  public static func start(folder: URL? = nil, port: Int = 0) async throws -> TestServer {
    let storage: StorageLocation = folder.map { .folder(path: $0.path) } ?? .memory
    let quiet = Logger(label: "hearth") { _ in SwiftLogNoOpLogHandler() }
    return TestServer(server: try await EmbeddedServer.start(port: port, storage: storage, logger: quiet))
  }

  /// Ends the streams of all clients, finishes the calls in progress and closes the databases. Does nothing if the server was stopped.
  ///
  /// Clients that are connected see `UNAVAILABLE`, are offline, and connect again if a server is started on the same port. Terminate
  /// them first where that is not wanted.
  ///
  /// The port is free when it returns, after about two seconds at the latest.
  public func stop() async {
    await server.shutdown()
  }

  /// Starts a server, runs a test with it, and stops it whether the test throws or not.
  ///
  /// - Parameters:
  ///   - folder: As for ``start(folder:port:)``.
  ///   - port: As for ``start(folder:port:)``.
  ///   - isolation: The actor to run `body` on, by default that of the caller.
  ///   - body: The test.
  /// - Returns: The result of `body`.
  /// - Throws: As ``start(folder:port:)``, and what `body` throws.
  public static func run<Result>(
    folder: URL? = nil, port: Int = 0, isolation: isolated (any Actor)? = #isolation,
    _ body: (TestServer) async throws -> Result
  ) async throws -> Result {
    let server = try await start(folder: folder, port: port)
    do {
      let result = try await body(server)
      await server.stop()
      return result
    } catch {
      await server.stop()
      throw error
    }
  }
}
