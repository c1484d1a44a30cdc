internal import ArgumentParser
internal import Foundation
internal import HearthRPC
internal import NIOCore
internal import SwiftASN1
internal import X509

/// The certificate of `hearth serve`.
struct CertificateOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      The server's certificate in PEM form, followed by those of intermediate authorities. Clients must then use TLS. It is read \
      again when it changes.
      """, valueName: "file"), completion: .file())
  var tlsCertificate: String?

  @Option(
    help: ArgumentHelp("The private key of --tls-certificate in PEM form.", valueName: "file"), completion: .file())
  var tlsKey: String?

  @Option(
    help: ArgumentHelp(
      "Accept only clients with a certificate of one of these authorities, in PEM form.", valueName: "file"),
    completion: .file())
  var tlsClientAuthority: String?

  @Flag(
    help: "Serve without TLS on an address that other machines reach, because a proxy in front has the certificate.")
  var tlsAtProxy = false

  func validate() throws {
    guard (tlsCertificate == nil) == (tlsKey == nil) else {
      throw ValidationError("--tls-certificate and --tls-key belong together: give both.")
    }
    if tlsClientAuthority != nil, tlsCertificate == nil {
      throw ValidationError("--tls-client-authority needs --tls-certificate and --tls-key.")
    }
    if tlsAtProxy, tlsCertificate != nil {
      throw ValidationError(
        "--tls-at-proxy says that a proxy has the certificate, and --tls-certificate gives one: use one of them.")
    }
  }

  /// The names and addresses in the certificate, for which clients accept it; nil if there is none, or it cannot be read.
  var names: [String]? {
    guard let tlsCertificate, let data = try? BoundedFile(path: tlsCertificate).contents(),
      let document = try? PEMDocument.parseMultiple(pemString: String(decoding: data, as: UTF8.self)).first,
      let certificate = try? Certificate(pemDocument: document)
    else { return nil }
    guard let names = try? certificate.extensions.subjectAlternativeNames else { return [] }
    return names.compactMap { name in
      switch name {
      case .dnsName(let name): name
      case .ipAddress(let address): Self.text(ofAddress: address.bytes)
      default: nil
      }
    }
  }

  private static func text(ofAddress bytes: ArraySlice<UInt8>) -> String? {
    (try? SocketAddress(packedIPAddress: ByteBuffer(bytes: bytes), port: 0))?.ipAddress
  }

  var files: ServerCertificate.Files? {
    guard let tlsCertificate, let tlsKey else { return nil }
    return ServerCertificate.Files(
      certificate: tlsCertificate, key: tlsKey, clientAuthorities: tlsClientAuthority)
  }
}
