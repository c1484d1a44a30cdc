package import HearthModel
package import Logging

/// The address of the backend and the settings of its connections.
package struct TransportConfiguration: Sendable {
  /// A host name or an IP address literal, without a port.
  package var host: String
  package var port: Int
  /// False for emulators and local servers, which speak plaintext HTTP/2.
  package var usesTLS: Bool
  /// PEM files with the certificates to trust; empty for those that the system trusts.
  package var trustedCertificateFiles: [String] = []
  /// The certificate that the client shows to a backend which asks for one; nil for none.
  package var clientCertificate: ClientCertificateFiles?
  package var databaseID: DatabaseID
  package var credentials: any CredentialsProvider
  /// Proves that the program itself is genuine; its token goes into the header `x-firebase-appcheck`.
  package var appCheck: any CredentialsProvider = NoCredentials()
  /// The Firebase app's id for the header `x-firebase-gmpid`, by which the backend distinguishes apps; nil for none.
  package var googleAppID: String?
  /// The value of the `x-goog-api-client` header, which names the client library.
  package var apiClientHeader: String
  package var logger: Logger
  /// The largest message to take, in bytes. Documents can reach 16 MiB (Enterprise edition); the official
  /// SDKs set the same figure.
  var maxMessageBytes = 17 * 1024 * 1024
  /// The time in which a stream must reach the backend; then it fails.
  package var openTimeout: Duration = .seconds(10)
  /// The time in which a single call must be answered.
  package var callTimeout: Duration = .seconds(60)

  package init(
    host: String, port: Int, usesTLS: Bool, databaseID: DatabaseID,
    credentials: any CredentialsProvider = NoCredentials(), apiClientHeader: String = "gl-swift/ hearth/",
    logger: Logger = Logger(label: "hearth.transport")
  ) {
    self.host = host
    self.port = port
    self.usesTLS = usesTLS
    self.databaseID = databaseID
    self.credentials = credentials
    self.apiClientHeader = apiClientHeader
    self.logger = logger
  }

  /// The backend's address for messages.
  var endpoint: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// Detects errors that would otherwise be reported later and less clearly.
  func validate() throws(StatusError) {
    guard !host.isEmpty, host.utf8.allSatisfy(isVisible), !host.contains("/") else {
      throw StatusError(
        code: .invalidArgument, message: "Host \"\(host)\": a host name or an IP address without a scheme is expected.")
    }
    guard (1...65_535).contains(port) else {
      throw StatusError(code: .invalidArgument, message: "Port \(port) of host \"\(host)\" is not between 1 and 65535.")
    }
    guard databaseID.resourceName.utf8.allSatisfy(isVisible) else {
      throw StatusError(
        code: .invalidArgument,
        message:
          "Database \"\(databaseID.resourceName)\": project and database ids consist of visible ASCII characters.")
    }
    guard googleAppID?.utf8.allSatisfy(isVisible) ?? true else {
      throw StatusError(
        code: .invalidArgument, message: "App id \"\(googleAppID ?? "")\": only visible ASCII characters fit a header.")
    }
    guard apiClientHeader.utf8.allSatisfy({ isVisible($0) || $0 == UInt8(ascii: " ") }) else {
      throw StatusError(
        code: .invalidArgument,
        message: "Client name \"\(apiClientHeader)\": only visible ASCII characters fit a header.")
    }
  }
}

/// Returns whether a byte is a visible ASCII character, which every header value can carry.
func isVisible(_ byte: UInt8) -> Bool { (0x21...0x7e).contains(byte) }
