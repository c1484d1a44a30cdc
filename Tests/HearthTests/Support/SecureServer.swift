import Foundation
import GRPCCore
import HearthModel
import Logging
import NIOCore
import NIOSSL
import Synchronization
import TestSupport

@testable import HearthRPC
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
  private let server: EmbeddedServer

  private init(server: EmbeddedServer) {
    self.server = server
    port = server.port
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
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(chain.utf8)).map { .certificate($0) },
      privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)))
    configuration.applicationProtocols = ["h2"]
    let security = try NIOSSLContext(configuration: configuration)
    let server = try await EmbeddedServer.start(storage: .memory, logger: logger) {
      $0.callers = .locked(AnyToken())
      $0.interceptor = HeaderCheck(check: check)
      $0.prepare = { channel in
        try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: security))
      }
    }
    return SecureServer(server: server)
  }

  private func shutdown() async {
    await server.shutdown()
  }
}

/// Takes every caller for the owner, whatever its token: the tests look at it themselves.
private struct AnyToken: CallAuthenticator {
  func known(_ metadata: CallMetadata) -> KnownCaller { .identity(CallIdentity(Caller.owner)) }
  func identify(_ metadata: CallMetadata) -> CallIdentity { CallIdentity(Caller.owner) }
}

private struct HeaderCheck: CallInterceptor {
  let check: SecureServer.Check

  func began(_ call: InterceptedCall) async throws -> (any CallTap)? {
    func header(_ name: String) -> String? { call.metadata[name].first }
    do {
      try await check(call.method, header("authorization"), header("x-firebase-appcheck"))
    } catch let error as RPCError {
      var details: [UInt8] = []
      var metadata: [(name: String, value: String)] = []
      for (name, value) in error.metadata {
        switch value {
        case .string(let text): metadata.append((name, text))
        case .binary(let bytes): details = bytes
        }
      }
      throw CallStatus(
        StatusCode(rawValue: error.code.rawValue) ?? .unknown, error.message, details: details, metadata: metadata)
    }
    return nil
  }
}

/// Everything that the whole process logs, at every level, from the first use on.
enum CapturedLog {
  private static let lines = Mutex<[String]>([])
  private static let reactions = Mutex<[(text: String, call: @Sendable () -> Void)]>([])

  private struct Handler: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let line = "\(event.message) \(event.metadata ?? [:]) \(metadata)"
      lines.withLock { $0.append(line) }
      let reaction = reactions.withLock { reactions in
        reactions.firstIndex { line.contains($0.text) }.map { reactions.remove(at: $0).call }
      }
      reaction?()
    }
  }

  private static let start: Void = LoggingSystem.bootstrap { _ in Handler() }

  static func begin() { start }

  /// Calls the closure inside the log handler, when the first line with this text is logged.
  static func react(to text: String, _ call: @escaping @Sendable () -> Void) {
    reactions.withLock { $0.append((text, call)) }
  }

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
