public import Foundation
internal import HearthRules
internal import Logging

/// A Firestore server in the process of a test, on a free port of this machine.
///
/// Point an app that uses `Hearth`, or any other Firestore client, at ``address``. It behaves as with a backend:
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
/// It is the same server as that of the program `hearth serve`. It accepts any project and database id, and nothing has to be created.
/// Only programs on this machine can reach it. Every client may read and write everything, until ``setSecurityRules(_:)`` is called.
///
/// Servers in one process are independent of each other, so each test can have its own. A server that is not stopped serves until the
/// process ends.
public final class TestServer: Sendable {
  /// The IP address that the server listens on, always `127.0.0.1`.
  public let host = "127.0.0.1"

  /// The port that the server listens on, 1 to 65535.
  public var port: Int { server.port }

  /// Host and port, such as `127.0.0.1:49152`, in the form for `FirestoreSettings.host` and the environment variable
  /// `FIRESTORE_EMULATOR_HOST`.
  public var address: String { "\(host):\(port)" }

  private let server: EmbeddedServer
  private let rules: AccessRules

  private init(server: EmbeddedServer, rules: AccessRules) {
    self.server = server
    self.rules = rules
  }

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - folder: The folder of the databases, one SQLite file each; it is created if it is missing. One server at a time can use it. By
  ///     default the databases are in memory, and are lost when the server stops.
  ///   - port: The port to listen on, 1 to 65535. By default the system chooses a free one. With the port of a stopped server, the backend
  ///     is back for clients that know its address.
  /// - Returns: The server, which accepts connections.
  /// - Throws: An error whose description names the cause and what to do: the port is in use or does not exist, or the folder cannot
  ///   be created, written or locked.
  public static func start(folder: URL? = nil, port: Int = 0) async throws -> TestServer {
    let storage: StorageLocation = folder.map { .folder(path: $0.path) } ?? .memory
    let quiet = Logger(label: "hearth") { _ in SwiftLogNoOpLogHandler() }
    let rules = AccessRules(isDevelopment: true)
    let server = try await EmbeddedServer.start(port: port, storage: storage, logger: quiet) {
      $0.callers = .development(rules)
    }
    return TestServer(server: server, rules: rules)
  }

  /// Puts security rules in force, for all projects, from the next request on. Listeners that they do not allow end with
  /// `permissionDenied`.
  ///
  /// The language is that of Firebase (https://firebase.google.com/docs/rules/rules-language). A caller is the user that its token
  /// names, see ``token(userID:claims:)``. Callers with the owner's token, such as `EmulatorOwnerCredentials`, are not subject to rules.
  ///
  /// - Parameter rules: The contents of a file `firestore.rules`.
  /// - Throws: An error whose description lists each mistake with its line. The former rules stay in force.
  public func setSecurityRules(_ rules: String) throws {
    self.rules.replace(try RuleSet(rules))
  }

  /// A token of a user for servers that do not verify signatures: this one, Google's emulators, and `hearth serve` in development.
  ///
  /// ```swift
  /// settings.credentials = IDTokenCredentials(userID: "alice") { _ in
  ///   IDToken(try TestServer.token(userID: "alice"), userID: "alice")
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - userID: `request.auth.uid` in rules.
  ///   - claims: Further members of `request.auth.token`, as `JSONSerialization` takes them.
  /// - Throws: `CocoaError` for claims that are no JSON.
  public static func token(userID: String, claims: [String: Any] = [:]) throws -> String {
    let payload = claims.merging(["sub": userID, "user_id": userID]) { $1 }
    guard JSONSerialization.isValidJSONObject(payload) else { throw CocoaError(.propertyListWriteInvalid) }
    let parts = try [["alg": "none", "typ": "JWT"], payload].map { part in
      try JSONSerialization.data(withJSONObject: part, options: .sortedKeys).base64EncodedString()
        .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
        .replacingOccurrences(of: "=", with: "")
    }
    return parts.joined(separator: ".") + "."
  }

  /// Ends the streams of all clients, finishes the calls in progress and closes the databases. Does nothing if the server was stopped.
  ///
  /// Connected clients see `UNAVAILABLE` and are offline. They connect again if a server is started on the same port. To prevent that,
  /// terminate them first.
  ///
  /// When this returns, after at most about two seconds, the port is free.
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
