import Foundation
import GRPCCore
import HearthModel
import TestSupport
import Testing

@testable import HearthTransport

@Suite("TLS", .timeLimit(.minutes(2)))
final class TLSTests {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-tls-\(UUID().uuidString)")

  init() throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  private func file(_ content: String) throws -> String {
    let file = folder.appendingPathComponent("\(UUID().uuidString).pem")
    try Data(content.utf8).write(to: file)
    return file.path
  }

  /// With what a stream to this port fails, twice in a row: nothing may be left over from the first time.
  private func failure(
    port: Int, _ change: (inout TransportConfiguration) -> Void
  ) async throws -> StatusError {
    var secure = configuration(port: port, host: "localhost", credentials: OwnerCredentials())
    secure.usesTLS = true
    change(&secure)
    let transport = try FirestoreTransport(secure)
    var errors: [StatusError] = []
    for _ in 0..<2 {
      let events = EventRecorder<WatchResponse>()
      let stream = transport.openWatchStream(onEvent: events.record)
      errors.append(try await events.nextError())
      withExtendedLifetime(stream) {}
    }
    await transport.shutdown()
    #expect(errors[0].code == errors[1].code)
    #expect(errors.allSatisfy { $0.message.contains("\(secure.host):\(port)") }, "\(errors)")
    return errors[0]
  }

  /// The same with a server that takes calls. None may arrive.
  private func failure(
    serving certificate: String = TestCertificate.certificate, _ key: String = TestCertificate.privateKey,
    tls: Bool = true, _ change: (inout TransportConfiguration) -> Void
  ) async throws -> StatusError {
    let listen: Script = { call in
      Issue.record("a call came through")
      for try await _ in call.requests {}
    }
    let backend = try await ScriptedBackend.start(
      tls: tls, certificate: certificate, privateKey: key, ["Listen": listen])
    let error = try await failure(port: backend.port, change)
    await backend.kill()
    return error
  }

  @Test("a certificate that is trusted lets streams through", arguments: ["localhost", "127.0.0.1"])
  func trusted(host: String) async throws {
    try await expectStream(to: host, serving: TestCertificate.certificate, TestCertificate.privateKey)
  }

  @Test("a certificate for an address alone lets streams to the address through, and none to a name that leads to it")
  func addressAlone() async throws {
    try await expectStream(to: "127.0.0.1", serving: TestAuthority.addressOnly, TestAuthority.addressOnlyKey)
    let root = try file(TestAuthority.addressOnly)
    let error = try await failure(serving: TestAuthority.addressOnly, TestAuthority.addressOnlyKey) {
      $0.trustedCertificateFiles = [root]
    }
    #expect(error.code == .unavailable)
    #expect(error.message.contains(StatusError.untrustedName), "\(error)")
  }

  @Test(
    "a name of a certificate is that of one host, or has an asterisk for its first label",
    arguments: [
      ("db.example.com", "DB.example.com.", true), ("*.example.com", "db.example.com", true),
      ("*.example.com", "a.db.example.com", false), ("*.example.com", "example.com", false), ("*.com", "a.com", false),
      ("db.example.com", "db.example.org", false), ("", "a", false), ("*", "a", false),
    ])
  func names(name: String, host: String, isMatch: Bool) {
    #expect(HostNameCheck.matches(name, host: host) == isMatch)
  }

  private func expectStream(to host: String, serving certificate: String, _ key: String) async throws {
    let backend = try await ScriptedBackend.start(
      tls: true, certificate: certificate, privateKey: key, ["Listen": { for try await _ in $0.requests {} }])
    var secure = configuration(port: backend.port, host: host)
    secure.usesTLS = true
    secure.trustedCertificateFiles = [try file(certificate)]
    let transport = try FirestoreTransport(secure)
    let events = EventRecorder<WatchResponse>()
    let stream = transport.openWatchStream(onEvent: events.record)
    #expect(await events.next() == .opened)
    withExtendedLifetime(stream) {}
    await transport.shutdown()
    await backend.kill()
  }

  @Test("a certificate that nobody vouches for is a failure to connect that names the reason")
  func untrusted() async throws {
    let error = try await failure { _ in }
    #expect(error.code == .unavailable)
    #expect(error.message.contains(StatusError.untrustedCertificate), "\(error)")
  }

  @Test("a certificate that has expired is a failure to connect that names the reason")
  func expired() async throws {
    let root = try file(TestAuthority.pastRoot)
    let error = try await failure(serving: TestAuthority.expired, TestAuthority.expiredKey) {
      $0.trustedCertificateFiles = [root]
    }
    #expect(error.code == .unavailable)
    #expect(error.message.contains(StatusError.untrustedCertificate), "\(error)")
  }

  @Test(
    "a certificate for another host is a failure to connect that names the reason",
    arguments: ["localhost", "127.0.0.1"])
  func otherHost(host: String) async throws {
    let root = try file(TestAuthority.root)
    let error = try await failure(serving: TestAuthority.stranger, TestAuthority.strangerKey) {
      $0.host = host
      $0.trustedCertificateFiles = [root]
    }
    #expect(error.code == .unavailable)
    #expect(error.message.contains(StatusError.untrustedName), "\(error)")
  }

  @Test("a backend without TLS is a failure to connect")
  func plaintextBackend() async throws {
    let error = try await failure(tls: false) { $0.openTimeout = .seconds(3) }
    #expect(error.code == .unavailable, "\(error)")
  }

  @Test("a backend that wants TLS is a failure to connect without it")
  func plaintextClient() async throws {
    let error = try await failure {
      $0.usesTLS = false
      $0.openTimeout = .seconds(3)
    }
    #expect(error.code == .unavailable, "\(error)")
  }

  @Test("a peer that speaks TLS 1.1 only is refused")
  func oldVersion() async throws {
    // A ServerHello of version 3.2 (RFC 4346) that takes TLS_RSA_WITH_AES_128_CBC_SHA.
    let hello = [0x02, 0, 0, 38, 3, 2] + [UInt8](repeating: 7, count: 32) + [0, 0, 0x2f, 0]
    let socket = try AnsweringSocket([0x16, 3, 2, 0, UInt8(hello.count)] + hello)
    let error = try await failure(port: socket.port) { $0.openTimeout = .seconds(5) }
    #expect(error.code == .unavailable)
    #expect(!error.message.contains("did not answer"), "\(error)")
  }

  @Test(
    "a peer that answers a handshake with something else is a failure to connect",
    arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9.2\r\n", "\u{0}"])
  func otherProtocol(answer: String) async throws {
    let socket = try AnsweringSocket(Array(answer.utf8))
    let error = try await failure(port: socket.port) { $0.openTimeout = .seconds(1) }
    #expect(error.code == .unavailable, "\(error)")
  }

  @Test(
    "a certificate file that is missing, empty or damaged is a failure to connect",
    arguments: [nil, "", "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"])
  func unusableFile(content: String?) async throws {
    let path = try content.map(file) ?? "/nowhere/root.pem"
    let error = try await failure { $0.trustedCertificateFiles = [path] }
    #expect(error.code == .unavailable, "\(error)")
  }
}
