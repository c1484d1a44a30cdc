import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2
import HearthWire
import SwiftProtobuf

/// One call as the backend sees it: raw bytes both ways, so that a script can also answer nonsense.
struct BackendCall: Sendable {
  let metadata: Metadata
  let requests: RPCAsyncSequence<[UInt8], any Error>
  let responses: RPCWriter<[UInt8]>

  func send(_ message: some Message) async throws {
    try await responses.write(message.serializedBytes())
  }

  /// The only value of a header, as text.
  func header(_ name: String) -> String? {
    let values = Array(metadata[stringValues: name])
    return values.count == 1 ? values[0] : nil
  }
}

typealias Script = @Sendable (BackendCall) async throws -> Void

/// A gRPC server in this process whose methods do what a test says.
final class ScriptedBackend: Sendable {
  let port: Int
  private let server: GRPCServer<HTTP2ServerTransport.Posix>
  private let serving: Task<Void, any Error>

  private init(port: Int, server: GRPCServer<HTTP2ServerTransport.Posix>, serving: Task<Void, any Error>) {
    self.port = port
    self.server = server
    self.serving = serving
  }

  /// Listens on 127.0.0.1, on a free port unless one is given. Scripts are named by method.
  static func start(
    port: Int = 0, tls: Bool = false, certificate: String = TestCertificate.certificate,
    privateKey: String = TestCertificate.privateKey, _ scripts: [String: Script]
  ) async throws -> ScriptedBackend {
    let security: HTTP2ServerTransport.Posix.TransportSecurity =
      tls
      ? .tls(
        certificateChain: [.bytes(Array(certificate.utf8), format: .pem)],
        privateKey: .bytes(Array(privateKey.utf8), format: .pem)) : .plaintext
    let server = GRPCServer(
      transport: .http2NIOPosix(
        address: .ipv4(host: "127.0.0.1", port: port), transportSecurity: security,
        config: .defaults {
          $0.rpc.maxRequestPayloadSize = 32 * 1024 * 1024
          $0.connection.maxGraceTime = .milliseconds(100)
        }),
      services: [ScriptedService(scripts: scripts)])
    let serving = Task { try await server.serve() }
    let address = try await server.listeningAddress
    return ScriptedBackend(port: address?.ipv4?.port ?? 0, server: server, serving: serving)
  }

  /// Frees the port and drops the connections, whatever still runs on them.
  func kill() async {
    server.beginGracefulShutdown()
    _ = await serving.result
  }
}

private struct ScriptedService: RegistrableRPCService {
  let scripts: [String: Script]

  func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
    let service = ServiceDescriptor(fullyQualifiedService: "google.firestore.v1.Firestore")
    for (method, script) in scripts {
      router.registerHandler(
        forMethod: MethodDescriptor(service: service, method: method), deserializer: RawBytes(),
        serializer: RawBytes()
      ) { request, _ in
        StreamingServerResponse { writer in
          try await script(
            BackendCall(metadata: request.metadata, requests: request.messages, responses: writer))
          return [:]
        }
      }
    }
  }
}

private struct RawBytes: MessageSerializer, MessageDeserializer {
  func serialize<Bytes: GRPCContiguousBytes>(_ message: [UInt8]) throws -> Bytes { Bytes(message) }

  func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> [UInt8] {
    bytes.withUnsafeBytes { [UInt8]($0) }
  }
}

/// A certificate for localhost and 127.0.0.1 that signs itself, valid until 2120. It protects nothing.
enum TestCertificate {
  static let certificate = """
    -----BEGIN CERTIFICATE-----
    MIIBaDCCAQ6gAwIBAgICEAAwCgYIKoZIzj0EAwIwFDESMBAGA1UEAwwJbG9jYWxo
    b3N0MCAXDTIwMDEwMTAwMDAwMFoYDzIxMjAwMTAxMDAwMDAwWjAUMRIwEAYDVQQD
    DAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARF8eNYlSEY/6Zx
    h3PdxoLa2P83q2xKFuC3CokqqLFonX/yYQ5JcuZ2tK0s+n5g4ZaAot5l8HEIiJq1
    FuJTcquio04wTDAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwDwYDVR0TAQH/
    BAUwAwEB/zAdBgNVHQ4EFgQUqw1OerJq1IS3kW9h6whUs9ztG1MwCgYIKoZIzj0E
    AwIDSAAwRQIgfAvL7VtZJeYWXSP6kvX2tdMDwkOxmZc9k0iEAawtr94CIQCF2PUd
    FzkmsYjBHsOt/deNLxozHfPTl1bCW3uTgzT0UQ==
    -----END CERTIFICATE-----
    """
  static let privateKey = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgqNcsz1Cnz/mE/1YG
    JxNtGO4s1WBw9fI9CiY/TrAT0m2hRANCAARF8eNYlSEY/6Zxh3PdxoLa2P83q2xK
    FuC3CokqqLFonX/yYQ5JcuZ2tK0s+n5g4ZaAot5l8HEIiJq1FuJTcqui
    -----END PRIVATE KEY-----
    """
}
