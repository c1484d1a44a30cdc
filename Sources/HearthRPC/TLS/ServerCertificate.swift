internal import Foundation
package import Logging
package import NIOCore
internal import NIOSSL
internal import Synchronization

/// The certificate with which a server proves who it is, in files that are read again when they change.
///
/// Connections that are open keep the certificate that they began with.
package final class ServerCertificate: Sendable {
  /// The files, all in PEM form.
  package struct Files: Sendable {
    /// The certificate of the server, followed by those of intermediate authorities.
    package var certificate: String
    /// The private key of the certificate.
    package var key: String
    /// The authorities of client certificates; nil if clients need none.
    package var clientAuthorities: String?

    package init(certificate: String, key: String, clientAuthorities: String? = nil) {
      self.certificate = certificate
      self.key = key
      self.clientAuthorities = clientAuthorities
    }

    fileprivate var stamps: [BoundedFile.Stamp] {
      [certificate, key, clientAuthorities].compactMap { $0 }.map { BoundedFile(path: $0).stamp }
    }
  }

  /// The contents of the files.
  private struct Context {
    var tls: NIOSSLContext
    /// The time at which the first certificate of the chain expires, in seconds since 1970.
    var expiry: Int
  }

  private let files: Files
  private let context: Mutex<Context>
  private let stamps: Mutex<[BoundedFile.Stamp]>
  private let logger: Logger

  /// - Throws: `ServerCertificateError` that names the file and what is wrong with it.
  package init(_ files: Files, logger: Logger) throws(ServerCertificateError) {
    self.files = files
    self.logger = logger
    stamps = Mutex(files.stamps)
    context = Mutex(try Self.context(files, logger))
  }

  /// Adds TLS in front of the other handlers of a connection.
  package func prepare(_ channel: any Channel) throws {
    let context = context.withLock { $0.tls }
    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
  }

  /// The seconds until the first certificate of the chain expires; negative if one has.
  package var secondsLeft: Int { context.withLock { $0.expiry } - Int(Date().timeIntervalSince1970) }

  /// Reads the files again whenever one of them has changed, until the task is cancelled. If they are wrong, the certificate stays.
  package func watch(every interval: Duration) async {
    while (try? await Task.sleep(for: interval)) != nil { readAgainIfChanged() }
  }

  func readAgainIfChanged() {
    let present = files.stamps
    let isNew = stamps.withLock { stamps in
      defer { stamps = present }
      return stamps != present
    }
    guard isNew else { return }
    do throws(ServerCertificateError) {
      let context = try Self.context(files, logger)
      self.context.withLock { $0 = context }
      logger.info(
        "the certificate was replaced by the one in the changed files", metadata: ["file": .escaped(files.certificate)])
    } catch {
      logger.error(
        "the changed files of the certificate cannot be used; the server keeps the certificate that it has",
        metadata: ["error": .escaped("\(error)")])
    }
  }

  // MARK: - Reading

  private static func context(_ files: Files, _ logger: Logger) throws(ServerCertificateError) -> Context {
    let chain: [NIOSSLCertificate] = try certificates(files.certificate)
    warnOfTimes(chain, files.certificate, logger)
    let key: NIOSSLPrivateKey
    let keyBytes = try bytes(of: files.key)
    do {
      key = try NIOSSLPrivateKey(bytes: keyBytes, format: .pem)
    } catch {
      throw ServerCertificateError(
        "\"\(files.key)\" has no private key in PEM form, or one with a passphrase, which must be removed.")
    }
    var configuration = TLSConfiguration.makeServerConfiguration(
      certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["h2", "http/1.1"]
    if let authorities = files.clientAuthorities {
      configuration.trustRoots = .certificates(try certificates(authorities))
      configuration.certificateVerification = .noHostnameVerification
    }
    do {
      return Context(
        tls: try NIOSSLContext(configuration: configuration),
        expiry: chain.map { Int($0.notValidAfter) }.min() ?? 0)
    } catch {
      throw ServerCertificateError(
        "The key in \"\(files.key)\" does not belong to the first certificate in \"\(files.certificate)\", or TLS does not accept one of them."
      )
    }
  }

  private static func certificates(_ path: String) throws(ServerCertificateError) -> [NIOSSLCertificate] {
    let content = try bytes(of: path)
    guard let certificates = try? NIOSSLCertificate.fromPEMBytes(content), !certificates.isEmpty else {
      throw ServerCertificateError("\"\(path)\" has no certificate in PEM form.")
    }
    return certificates
  }

  private static func bytes(of path: String) throws(ServerCertificateError) -> [UInt8] {
    do {
      return [UInt8](try BoundedFile(path: path).contents())
    } catch {
      throw ServerCertificateError("\"\(path)\" \(error).")
    }
  }

  private static func warnOfTimes(_ chain: [NIOSSLCertificate], _ path: String, _ logger: Logger) {
    let now = time_t(Date().timeIntervalSince1970)
    for certificate in chain where certificate.notValidAfter < now || certificate.notValidBefore > now {
      let times = [certificate.notValidBefore, certificate.notValidAfter].map {
        ProtoTime.text(seconds: Int64($0), nanoseconds: 0) ?? "\($0) s from 1970"
      }
      logger.warning(
        "a certificate is not valid now: clients will refuse it",
        metadata: ["file": .escaped(path), "from": "\(times[0])", "until": "\(times[1])"])
    }
  }
}

/// The reason for which a certificate cannot be used.
package struct ServerCertificateError: Error, CustomStringConvertible {
  package let description: String

  init(_ description: String) {
    self.description = description
  }
}
