internal import Foundation
internal import NIOSSL

/// The files with which a client proves who it is (mutual TLS), in PEM form, see ``TransportConfiguration/clientCertificate``.
package struct ClientCertificateFiles: Hashable, Sendable {
  /// The certificate, followed by those of intermediate authorities.
  package var certificate: String
  /// The private key of the certificate, without a passphrase.
  package var key: String

  package init(certificate: String, key: String) {
    self.certificate = certificate
    self.key = key
  }

  /// Checks that a file has a key that can be used.
  package static func checkKey(_ path: String) throws(TrustedCertificateFile.Fault) {
    let content = try TrustedCertificateFile.content(of: path)
    func holds(_ text: String) -> Bool { content.range(of: Data(text.utf8)) != nil }
    guard !holds("-----BEGIN ENCRYPTED PRIVATE KEY-----"), !holds("Proc-Type: 4,ENCRYPTED") else {
      throw .content("has a key with a passphrase, which cannot be entered here: write it without one")
    }
    // There are kinds of keys with a word before this one, such as EC.
    guard holds("-----BEGIN "), holds("PRIVATE KEY-----") else {
      throw .content("has no private key in PEM form (\"-----BEGIN PRIVATE KEY-----\" is missing)")
    }
    guard (try? NIOSSLPrivateKey(bytes: [UInt8](content), format: .pem)) != nil else {
      throw .content("has a private key that is damaged, or of a kind that TLS does not use")
    }
  }

  /// True if the key is that of the first certificate. Both files have passed the checks of their own.
  package var belongTogether: Bool {
    var configuration = TLSConfiguration.makeClientConfiguration()
    // Without the certificates of the system, which take time to read.
    configuration.trustRoots = .certificates([])
    do {
      configuration.certificateChain = try NIOSSLCertificate.fromPEMFile(certificate).map { .certificate($0) }
      configuration.privateKey = .privateKey(try NIOSSLPrivateKey(file: key, format: .pem))
      _ = try NIOSSLContext(configuration: configuration)
      return true
    } catch {
      return false
    }
  }
}
