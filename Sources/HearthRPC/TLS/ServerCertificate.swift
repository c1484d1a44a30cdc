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
    /// The time from which on all certificates of the chain are valid, in seconds since 1970.
    var start: Int
    /// The latest line that the log has about this time.
    var reported = Remaining.long
  }

  /// The time until a certificate expires, in the steps that are logged.
  private enum Remaining: Int {
    case long
    /// Less than ``noticeSeconds``.
    case short
    case none

    init(seconds: Int) { self = seconds < 0 ? .none : seconds < noticeSeconds ? .short : .long }
  }

  /// Authorities such as Let's Encrypt renew certificates that are valid for less than a month: then the renewal has failed.
  private static let noticeSeconds = 14 * 86_400

  private let files: Files
  private let context: Mutex<Context>
  private let stamps: Mutex<[BoundedFile.Stamp]>
  private let logger: Logger
  /// The present time in seconds since 1970.
  private let now: @Sendable () -> Int

  /// - Throws: `ServerCertificateError` that names the file and what is wrong with it.
  package convenience init(_ files: Files, logger: Logger) throws(ServerCertificateError) {
    try self.init(files, logger: logger) { Int(Date().timeIntervalSince1970) }
  }

  init(_ files: Files, logger: Logger, now: @escaping @Sendable () -> Int) throws(ServerCertificateError) {
    self.files = files
    self.logger = logger
    self.now = now
    stamps = Mutex(files.stamps)
    let context = try Self.context(files)
    self.context = Mutex(context)
    warnOfStart(context.start)
    reportTimes()
  }

  /// Adds TLS in front of the other handlers of a connection.
  package func prepare(_ channel: any Channel) throws {
    let context = context.withLock { $0.tls }
    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
  }

  /// The seconds until the first certificate of the chain expires; negative if one has.
  package var secondsLeft: Int { context.withLock { $0.expiry } - now() }

  /// Reads the files again whenever one of them has changed, and reports when the certificate is about to expire and when it does, until the
  /// task is cancelled. If the files are wrong, the certificate stays.
  package func watch(every interval: Duration) async {
    while (try? await Task.sleep(for: interval)) != nil {
      readAgainIfChanged()
      reportTimes()
    }
  }

  /// Logs once that the certificate expires soon, and once that it has expired.
  func reportTimes() {
    let seconds = secondsLeft
    let report = context.withLock { context -> (Remaining, Int)? in
      let remaining = Remaining(seconds: seconds)
      guard remaining.rawValue > context.reported.rawValue else { return nil }
      context.reported = remaining
      return (remaining, context.expiry)
    }
    guard let (remaining, expiry) = report else { return }
    let metadata: Logger.Metadata = [
      "file": .escaped(files.certificate), "until": "\(Self.text(ofTime: expiry))",
    ]
    if remaining == .none {
      logger.error("a certificate has expired: clients refuse it", metadata: metadata)
    } else {
      logger.warning("a certificate expires within two weeks", metadata: metadata)
    }
  }

  private static func text(ofTime seconds: Int) -> String {
    ProtoTime.text(seconds: Int64(seconds), nanoseconds: 0) ?? "\(seconds) s from 1970"
  }

  func readAgainIfChanged() {
    let present = files.stamps
    let isNew = stamps.withLock { stamps in
      defer { stamps = present }
      return stamps != present
    }
    guard isNew else { return }
    do throws(ServerCertificateError) {
      let context = try Self.context(files)
      warnOfStart(context.start)
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

  private static func context(_ files: Files) throws(ServerCertificateError) -> Context {
    let chain: [NIOSSLCertificate] = try certificates(files.certificate)
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
        expiry: chain.map { Int($0.notValidAfter) }.min() ?? 0,
        start: chain.map { Int($0.notValidBefore) }.max() ?? 0)
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

  private func warnOfStart(_ start: Int) {
    guard start > now() else { return }
    logger.warning(
      "a certificate is not valid yet: clients refuse it",
      metadata: ["file": .escaped(files.certificate), "from": "\(Self.text(ofTime: start))"])
  }
}

/// The reason for which a certificate cannot be used.
package struct ServerCertificateError: Error, CustomStringConvertible {
  package let description: String

  init(_ description: String) {
    self.description = description
  }
}
