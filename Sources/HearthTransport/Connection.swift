internal import GRPCCore
internal import GRPCNIOTransportHTTP2
internal import HearthModel
internal import Logging
internal import NIOCore

/// One HTTP/2 connection, shared by the streams and calls that start while it is current.
///
/// After a failure gRPC would reconnect by itself, with its own pauses. HearthSync decides when to retry. So a failed connection is
/// retired, and the next stream opens a new one at once; without a stream nothing happens.
final class Connection: Sendable {
  let client: GRPCClient<HTTP2ClientTransport.Posix>
  private let running: Task<Void, Never>

  init(_ configuration: TransportConfiguration) throws {
    let client = GRPCClient(
      transport: try HTTP2ClientTransport.Posix(
        target: Self.target(configuration), transportSecurity: Self.security(configuration),
        config: Self.transportConfig(configuration)))
    self.client = client
    let logger = configuration.logger
    let endpoint = configuration.endpoint
    running = Task {
      do {
        try await client.runConnections()
      } catch {
        logger.debug("Connection ended", metadata: ["endpoint": "\(endpoint)", "reason": "\(error)"])
      }
    }
  }

  /// Address literals must not go through name resolution: under TLS they would be sent as a server name,
  /// which the standard forbids.
  private static func target(_ configuration: TransportConfiguration) -> any ResolvableTarget {
    let (host, port) = (configuration.host, configuration.port)
    guard isAddress(host) else { return .dns(host: host, port: port) }
    return host.contains(":") ? .ipv6(address: host, port: port) : .ipv4(address: host, port: port)
  }

  private static func isAddress(_ host: String) -> Bool {
    host.contains(":")
      || host.split(separator: ".", omittingEmptySubsequences: false).count == 4
        && host.split(separator: ".").allSatisfy { UInt8($0) != nil }
  }

  private static func security(
    _ configuration: TransportConfiguration
  ) -> HTTP2ClientTransport.Posix.TransportSecurity {
    guard configuration.usesTLS else { return .plaintext }
    return .tls { tls in
      if !configuration.trustedCertificateFiles.isEmpty {
        tls.trustRoots = .certificates(
          configuration.trustedCertificateFiles.map { .file(path: $0, format: .pem) })
      }
      if let own = configuration.clientCertificate {
        tls.certificateChain = [.file(path: own.certificate, format: .pem)]
        tls.privateKey = .file(path: own.key, format: .pem)
      }
    }
  }

  private static func transportConfig(_ configuration: TransportConfiguration) -> HTTP2ClientTransport.Posix.Config {
    .defaults { config in
      let host = configuration.host
      if configuration.usesTLS, !isAddress(host) {
        config.channelDebuggingCallbacks.onCreateTCPConnection = { channel in
          channel.eventLoop.makeCompletedFuture { try HostNameCheck.add(to: channel, host: host) }
        }
      }
      // Official clients ping every 30 s. Pings detect a network that disappeared without a sign.
      config.connection.keepalive = .init(time: .seconds(30), timeout: .seconds(10), allowWithoutCalls: false)
      // Coalescing collects output for 100 µs and delays replies: 780 unary calls a second with it, 1,360 without.
      config.connection.flushCoalescing = nil
      // With TLS, the default of 8 MiB made each message more expensive as a stream grew; 256 KiB did not.
      config.http2.targetWindowSize = 256 * 1024
      // Only within one connection's life: after a failure it is retired.
      config.backoff = .init(initial: .milliseconds(100), max: .seconds(1), multiplier: 1.6, jitter: 0.2)
    }
  }

  /// Lets the calls on this connection finish and then ends it. New calls fail.
  func retire() {
    client.beginGracefulShutdown()
  }

  /// Returns when the connection has ended.
  func waitUntilEnded() async {
    await running.value
  }

  /// Cancels every call and ends the connection.
  func end() {
    client.beginGracefulShutdown()
    running.cancel()
  }
}
