import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2
import Logging
import Synchronization
import TestSupport

@testable import HearthServer

/// The embedded server behind TLS, with a certificate of the tests' own authority and a check of every call's headers.
final class SecureServer: Sendable {
  enum Certificate {
    /// For localhost, by an authority that a test may trust.
    case server
    /// By the same authority, for another host.
    case stranger
    /// For localhost, by another authority, valid in 2020 only.
    case expired
  }

  typealias Check = @Sendable (_ method: String, _ authorization: String?, _ appCheck: String?) async throws -> Void

  let port: Int
  var host: String { "localhost:\(port)" }
  private let backend: EmbeddedBackend
  private let server: GRPCServer<HTTP2ServerTransport.Posix>
  private let serving: Task<Void, any Error>

  private init(
    port: Int, backend: EmbeddedBackend, server: GRPCServer<HTTP2ServerTransport.Posix>,
    serving: Task<Void, any Error>
  ) {
    self.port = port
    self.backend = backend
    self.server = server
    self.serving = serving
  }

  /// Serves an empty database in memory while `body` runs.
  static func run(
    _ certificate: Certificate = .server, check: @escaping Check = { _, _, _ in },
    _ body: (SecureServer) async throws -> Void
  ) async throws {
    let server = try await start(certificate, check)
    let result: Result<Void, any Error>
    do { result = .success(try await body(server)) } catch { result = .failure(error) }
    await server.shutdown()
    try result.get()
  }

  private static func start(_ certificate: Certificate, _ check: @escaping Check) async throws -> SecureServer {
    let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
    let (chain, key) =
      switch certificate {
      case .server: (TestAuthority.server, TestAuthority.serverKey)
      case .stranger: (TestAuthority.stranger, TestAuthority.strangerKey)
      case .expired: (TestAuthority.expired, TestAuthority.expiredKey)
      }
    let backend = try EmbeddedBackend(location: .memory, clock: .system, logger: logger)
    let transport = HTTP2ServerTransport.Posix(
      address: .ipv4(host: "127.0.0.1", port: 0),
      transportSecurity: .tls(
        certificateChain: [.bytes(Array(chain.utf8), format: .pem)],
        privateKey: .bytes(Array(key.utf8), format: .pem)),
      config: .defaults { $0.connection.maxGraceTime = .milliseconds(100) })
    let service = FirestoreService(backend: backend, logger: logger, tokenRefreshInterval: .seconds(30))
    let server = GRPCServer(
      transport: transport, services: [service], interceptors: [CheckingInterceptor(check: check)])
    let serving = Task { try await server.serve() }
    let port = try await transport.listeningAddress.ipv4?.port ?? 0
    return SecureServer(port: port, backend: backend, server: server, serving: serving)
  }

  private func shutdown() async {
    backend.shutdownSignal.trigger()
    server.beginGracefulShutdown()
    _ = await serving.result
    await backend.close()
  }
}

private struct CheckingInterceptor: ServerInterceptor {
  let check: SecureServer.Check

  func intercept<Input: Sendable, Output: Sendable>(
    request: StreamingServerRequest<Input>, context: ServerContext,
    next:
      @Sendable (StreamingServerRequest<Input>, ServerContext) async throws -> StreamingServerResponse<Output>
  ) async throws -> StreamingServerResponse<Output> {
    func header(_ name: String) -> String? { Array(request.metadata[stringValues: name]).first }
    try await check(context.descriptor.method, header("authorization"), header("x-firebase-appcheck"))
    return try await next(request, context)
  }
}

/// Everything that the whole process logs, at every level, from the first use on.
enum CapturedLog {
  private static let lines = Mutex<[String]>([])

  private struct Handler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      lines.withLock { $0.append("\(event.message) \(event.metadata ?? [:]) \(metadata)") }
    }
  }

  private static let start: Void = LoggingSystem.bootstrap { _ in Handler() }

  static func begin() { start }

  static func contains(_ text: String) -> Bool {
    lines.withLock { $0.contains { $0.contains(text) } }
  }
}

/// A clock that stands still until a test moves it.
final class HandClock: Sendable {
  private let date = Mutex(Date(timeIntervalSince1970: 1_800_000_000))

  var now: @Sendable () -> Date { { self.date.withLock { $0 } } }

  func move(bySeconds seconds: Double) { date.withLock { $0 += seconds } }
}
