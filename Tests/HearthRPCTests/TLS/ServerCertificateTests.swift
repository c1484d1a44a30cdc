import Foundation
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import TestSupport
import Testing

@testable import HearthRPC

@Suite("The certificate of a server", .timeLimit(.minutes(1)))
final class ServerCertificateTests {
  private let folder = NSTemporaryDirectory() + "hearth-certificate-" + UUID().uuidString
  private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

  init() throws {
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  private var files: ServerCertificate.Files {
    ServerCertificate.Files(certificate: "\(folder)/certificate.pem", key: "\(folder)/key.pem")
  }

  private func write(_ text: String, to name: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name).pem"))
  }

  private func write(_ certificate: String, _ key: String) throws {
    try write(certificate, to: "certificate")
    try write(key, to: "key")
  }

  /// The view of a client on a server that echoes.
  private struct Meeting {
    /// The server's first certificate, encoded; nil if there was no connection.
    var certificate: [UInt8]?
    var answer: String
  }

  private func withServer(_ certificate: ServerCertificate, _ body: (Int) async throws -> Void) async throws {
    let server = try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try certificate.prepare(channel)
          try channel.pipeline.syncOperations.addHandler(Echo())
        }
      }.bind(host: "127.0.0.1", port: 0).get()
    let result: Result<Void, any Error>
    do { result = .success(try await body(try #require(server.localAddress?.port))) } catch { result = .failure(error) }
    try await server.close()
    try result.get()
  }

  private func meet(
    _ port: Int, configure: (inout TLSConfiguration) -> Void = { _ in }
  ) async throws -> Meeting {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configure(&configuration)
    let context = try NIOSSLContext(configuration: configuration)
    let gathered = Gathered()
    let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let handler = try NIOSSLClientHandler(
            context: context, serverHostname: "localhost",
            customVerificationCallback: { chain, promise in
              gathered.see(try? chain.first?.toDERBytes())
              promise.succeed(.certificateVerified)
            })
          try channel.pipeline.syncOperations.addHandlers([handler, gathered.handler()])
        }
      }.connect(host: "127.0.0.1", port: port).get()
    try? await channel.writeAndFlush(ByteBuffer(string: "ping"))
    let answer = await gathered.answer()
    try? await channel.close()
    return Meeting(certificate: gathered.certificate, answer: answer)
  }

  private func encoded(_ pem: String) throws -> [UInt8] {
    try #require(try NIOSSLCertificate.fromPEMBytes(Array(pem.utf8)).first).toDERBytes()
  }

  @Test("connections are encrypted with it, also over TLS 1.2, and not over anything older")
  func versions() async throws {
    try write(TestAuthority.server, TestAuthority.serverKey)
    try await withServer(ServerCertificate(files, logger: logger)) { port in
      for version in [TLSVersion.tlsv12, .tlsv13] {
        let meeting = try await meet(port) { ($0.minimumTLSVersion, $0.maximumTLSVersion) = (version, version) }
        #expect(try meeting.answer == "ping" && meeting.certificate == encoded(TestAuthority.server))
      }
      let old = try await meet(port) { ($0.minimumTLSVersion, $0.maximumTLSVersion) = (.tlsv1, .tlsv11) }
      #expect(old.answer.isEmpty)
    }
  }

  @Test("the time until it expires is that of its files, and negative for one that has expired")
  func expiry() throws {
    try write(TestAuthority.server, TestAuthority.serverKey)
    let certificate = try ServerCertificate(files, logger: logger)
    // 2120-01-01, see TestAuthority.
    let now = Int(Date().timeIntervalSince1970)
    #expect((4_733_510_400 - now - certificate.secondsLeft).magnitude < 2 * 86_400)
    // A chain ends with its first certificate that does.
    try write(TestAuthority.server + "\n" + TestAuthority.expired, TestAuthority.serverKey)
    certificate.readAgainIfChanged()
    #expect(certificate.secondsLeft < 0)
  }

  @Test("the log says once that it expires within two weeks, once that it has expired, and the same of the next one")
  func reports() throws {
    try write(TestAuthority.server, TestAuthority.serverKey)
    let recorder = LogRecorder()
    let time = Mutex(Int(Date().timeIntervalSince1970))
    let certificate = try ServerCertificate(files, logger: recorder.logger) { time.withLock { $0 } }
    func lines(afterSecondsLeft seconds: Int) -> [String] {
      let before = recorder.lines.count
      let left = certificate.secondsLeft
      time.withLock { $0 += left - seconds }
      for _ in 0..<3 { certificate.reportTimes() }
      return Array(recorder.lines.dropFirst(before))
    }
    #expect(recorder.lines.isEmpty && lines(afterSecondsLeft: 15 * 86_400).isEmpty)
    let soon = lines(afterSecondsLeft: 13 * 86_400)
    #expect(soon.count == 1 && soon[0].hasPrefix("warning a certificate expires within two weeks "), "\(soon)")
    let expired = lines(afterSecondsLeft: -1)
    #expect(expired.count == 1 && expired[0].hasPrefix("error a certificate has expired"), "\(expired)")
    #expect(expired.allSatisfy { $0.contains("\(folder)/certificate.pem") && $0.contains("until=2") }, "\(expired)")

    try write(TestAuthority.stranger, TestAuthority.strangerKey)
    time.withLock { $0 = Int(Date().timeIntervalSince1970) }
    certificate.readAgainIfChanged()
    #expect(lines(afterSecondsLeft: -1).count == 1)
    // One that has expired before the start is reported at the start.
    try write(TestAuthority.expired, TestAuthority.expiredKey)
    let start = LogRecorder()
    _ = try ServerCertificate(files, logger: start.logger)
    #expect(start.lines.count == 1 && start.lines[0].hasPrefix("error a certificate has expired"), "\(start.lines)")
  }

  @Test("it is read again when its files change, and stays when they are wrong")
  func rotation() async throws {
    try write(TestAuthority.server, TestAuthority.serverKey)
    let certificate = try ServerCertificate(files, logger: logger)
    try await withServer(certificate) { port in
      try write(TestAuthority.stranger, TestAuthority.strangerKey)
      certificate.readAgainIfChanged()
      #expect(try await meet(port).certificate == encoded(TestAuthority.stranger))
      // A key that does not belong to it, no certificate, no file.
      for spoil in [
        { try self.write(TestAuthority.serverKey, to: "key") }, { try self.write("nonsense", to: "certificate") },
        { try FileManager.default.removeItem(atPath: self.files.certificate) },
      ] {
        try spoil()
        certificate.readAgainIfChanged()
        #expect(try await meet(port).certificate == encoded(TestAuthority.stranger))
      }
      try write(TestAuthority.server, TestAuthority.serverKey)
      certificate.readAgainIfChanged()
      #expect(try await meet(port).certificate == encoded(TestAuthority.server))
    }
  }

  @Test("where client certificates are demanded, only those of the authority are accepted")
  func clientCertificates() async throws {
    try write(TestAuthority.server, TestAuthority.serverKey)
    try write(TestAuthority.clientRoot, to: "authority")
    var files = files
    files.clientAuthorities = "\(folder)/authority.pem"
    try await withServer(ServerCertificate(files, logger: logger)) { port in
      #expect(try await meet(port).answer.isEmpty)
      let certificates = [
        (TestAuthority.client, TestAuthority.clientKey, true),
        (TestAuthority.stranger, TestAuthority.strangerKey, false),
        (TestAuthority.expired, TestAuthority.expiredKey, false),
      ]
      for (certificate, key, isAccepted) in certificates {
        let meeting = try await meet(port) {
          $0.certificateChain =
            ((try? NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8))) ?? []).map { .certificate($0) }
          $0.privateKey = (try? NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)).map { .privateKey($0) }
        }
        #expect(meeting.answer == (isAccepted ? "ping" : ""))
      }
    }
  }

  @Test("a file that cannot be used is named")
  func badFiles() throws {
    let good = (TestAuthority.server, TestAuthority.serverKey)
    for (certificate, key, name) in [
      ("nonsense", good.1, "certificate.pem"), ("", good.1, "certificate.pem"), (good.1, good.1, "certificate.pem"),
      (good.0, "nonsense", "key.pem"), (good.0, "", "key.pem"), (good.0, good.0, "key.pem"),
      (good.0, TestAuthority.expiredKey, "key.pem"),
    ] {
      try write(certificate, key)
      let error = #expect(throws: ServerCertificateError.self) { _ = try ServerCertificate(files, logger: logger) }
      #expect(error?.description.contains(name) == true, "\(error?.description ?? "")")
    }
    try FileManager.default.removeItem(atPath: files.key)
    let error = #expect(throws: ServerCertificateError.self) { _ = try ServerCertificate(files, logger: logger) }
    #expect(error?.description.contains("cannot be read") == true)
  }
}

private final class Echo: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    context.writeAndFlush(data, promise: nil)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}

/// The certificate that a client has seen, and the first bytes that it got.
private final class Gathered: Sendable {
  private struct State {
    var certificate: [UInt8]?
    var answer: String?
    var waiting: CheckedContinuation<String, Never>?
  }

  private let state = Mutex(State())

  var certificate: [UInt8]? { state.withLock { $0.certificate } }

  func see(_ certificate: [UInt8]?) { state.withLock { $0.certificate = certificate } }

  func answer() async -> String {
    await withCheckedContinuation { continuation in
      let answer = state.withLock { state in
        if state.answer == nil { state.waiting = continuation }
        return state.answer
      }
      if let answer { continuation.resume(returning: answer) }
    }
  }

  fileprivate func end(with answer: String) {
    let waiting = state.withLock { state -> CheckedContinuation<String, Never>? in
      guard state.answer == nil else { return nil }
      state.answer = answer
      defer { state.waiting = nil }
      return state.waiting
    }
    waiting?.resume(returning: answer)
  }

  func handler() -> Handler { Handler(self) }

  final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let gathered: Gathered

    init(_ gathered: Gathered) { self.gathered = gathered }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      gathered.end(with: String(buffer: unwrapInboundIn(data)))
    }

    func channelInactive(context: ChannelHandlerContext) { gathered.end(with: "") }
    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }
}
