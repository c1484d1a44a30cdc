internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// Refuses a certificate that is only for the address that a host name led to.
///
/// swift-nio-ssl accepts a certificate if one of its names is that of the host, and also if one of its addresses is the connected one
/// (`validIdentityForService` in its IdentityVerification.swift). A name server that lies could so lead to a host with a certificate for its own
/// address. A client that asks for a name compares names only (RFC 9525, section 6.1.1). A call is sent only after the server's first
/// frame, which this handler does not pass on.
final class HostNameCheck: ChannelInboundHandler {
  typealias InboundIn = NIOAny

  private let host: String
  private var isRefused = false

  private init(host: String) {
    self.host = host
  }

  /// Adds the check behind TLS.
  ///
  /// - Throws: An error if the connection has no TLS.
  static func add(to channel: any Channel, host: String) throws {
    let pipeline = channel.pipeline.syncOperations
    let tls = try pipeline.handler(type: NIOSSLClientHandler.self)
    try pipeline.addHandler(HostNameCheck(host: host), position: .after(tls))
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case .handshakeCompleted? = event as? TLSUserEvent else {
      context.fireUserInboundEventTriggered(event)
      return
    }
    guard
      let certificate = (try? context.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self))?.peerCertificate,
      Self.isMeant(certificate, host: host)
    else {
      isRefused = true
      context.fireErrorCaught(NIOSSLExtraError.failedToValidateHostname)
      context.close(mode: .all, promise: nil)
      return
    }
    context.fireUserInboundEventTriggered(event)
  }

  /// Drops what came together with the end of the handshake.
  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if !isRefused { context.fireChannelRead(data) }
  }

  /// True unless the certificate was accepted because of one of its addresses. A certificate without addresses was accepted because of a
  /// name.
  private static func isMeant(_ certificate: NIOSSLCertificate, host: String) -> Bool {
    let names = certificate._subjectAlternativeNames()
    guard names.contains(where: { $0.nameType == .ipAddress }) else { return true }
    return names.contains {
      $0.nameType == .dnsName && matches(String(decoding: $0.contents, as: UTF8.self), host: host)
    }
  }

  /// True if a name of a certificate is that of the host. Its first label may be an asterisk, which stands for one label.
  static func matches(_ name: String, host: String) -> Bool {
    let (name, host) = (labels(name), labels(host))
    guard name.count == host.count, let first = name.first else { return false }
    guard first == "*" else { return name == host }
    return name.count > 2 && name.dropFirst() == host.dropFirst()
  }

  /// The labels of a name, without differences of case and without the full stop at its end.
  private static func labels(_ name: String) -> [Substring] {
    var labels = name.lowercased().split(separator: ".", omittingEmptySubsequences: false)
    if labels.last == "" { labels.removeLast() }
    return labels
  }
}
