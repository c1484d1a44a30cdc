import Testing

@testable import HearthRPC

@Suite("The reasons for which handshakes of TLS fail")
struct HandshakeLogTests {
  @Test(
    "say what is wrong with the certificate of the server, by the client's alert",
    arguments: [
      ("SSLV3_ALERT_CERTIFICATE_EXPIRED", "has expired or is not valid yet"),
      ("TLSV1_ALERT_UNKNOWN_CA", "does not trust"), ("SSLV3_ALERT_CERTIFICATE_UNKNOWN", "does not trust"),
      ("SSLV3_ALERT_BAD_CERTIFICATE", "does not trust"),
    ])
  func alerts(name: String, words: String) {
    let text = HandshakeLog.inWords("sslError([Error: 268436498 error:10000412:SSL routines:OPENSSL_internal:\(name)])")
    #expect(text.contains(words) && text.contains("certificate of this server"), "\(text)")
  }
}
