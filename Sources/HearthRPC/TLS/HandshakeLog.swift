internal import Logging
internal import NIOSSL

/// Logs connections whose TLS handshake fails, at the pace of ``LogPace``.
final class HandshakeLog: Sendable {
  private let logger: Logger
  private let pace: LogPace

  init(_ logger: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.logger = logger
    pace = LogPace(now: now)
  }

  /// - Parameters:
  ///   - error: An error of a connection on which nothing was asked for yet. One that no handshake has is left out.
  ///   - client: Nil if its address is not known.
  func failed(_ error: any Error, by client: ClientNetwork?) {
    guard case .handshakeFailed(let reason)? = error as? NIOSSLError else { return }
    let text = String(describing: reason)
    // Checks of the port, and clients that do not wait, leave without a word.
    guard !text.contains("EOF during handshake"),
      let metadata = pace.metadata(of: client, reason: Self.inWords(text))
    else { return }
    logger.notice("the TLS handshake of a connection failed", metadata: metadata)
  }

  /// The reasons that have a cure, by words of BoringSSL's errors.
  private static let reasons: [(words: [String], text: String)] = [
    (
      ["HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "WRONG_VERSION_NUMBER"],
      "the client does not speak TLS, which this port demands: https in place of http, --tls for hearth data"
    ),
    (
      ["PEER_DID_NOT_RETURN_A_CERTIFICATE"],
      "the client has shown no certificate, which --tls-client-authority demands"
    ),
    (
      ["CERTIFICATE_VERIFY_FAILED"],
      "the client's certificate is not signed by an authority in --tls-client-authority, has expired, or is not valid yet"
    ),
    (
      ["ALERT_CERTIFICATE_EXPIRED"],
      "the client refuses the certificate of this server, because it has expired or is not valid yet by the client's clock"
    ),
    (
      ["ALERT_UNKNOWN_CA", "ALERT_BAD_CERTIFICATE", "ALERT_CERTIFICATE_UNKNOWN"],
      "the client does not trust the certificate of this server"
    ),
    (["UNSUPPORTED_PROTOCOL", "NO_SHARED_CIPHER"], "the client does not speak TLS 1.2 or a later version"),
  ]

  /// The reason in words, for a text of BoringSSL.
  static func inWords(_ text: String) -> String {
    if let known = reasons.first(where: { $0.words.contains(where: text.contains) }) { return known.text }
    // Without the places in the library's source.
    return text.replacing(#/ at /[^\s\])]+/#, with: "")
  }
}
