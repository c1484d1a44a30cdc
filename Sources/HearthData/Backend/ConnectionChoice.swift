package import HearthModel
package import HearthTransport

/// The backend, the database and the credentials that the options and the environment name together.
package struct ConnectionChoice: Sendable {
  package var host: String
  package var port: Int
  package var usesTLS: Bool
  package var databaseID: DatabaseID
  package var credentials: any CredentialsProvider
  /// Files with the certificates to trust; empty for those that the system trusts.
  package var trustedCertificateFiles: [String] = []
  /// The certificate for a backend that asks for one; nil for none.
  package var clientCertificate: ClientCertificateFiles?

  package static let googleHost = "firestore.googleapis.com"

  /// The options as they were given; nil for what was not.
  package struct Options: Sendable {
    package var host: String?
    package var usesTLS = false
    package var authorityFile: String?
    package var certificateFile: String?
    package var keyFile: String?
    package var project: String?
    package var database: String?
    package var credentialsFile: String?
    package var token: String?

    package init() {}
  }

  /// - Throws: A ``DataError`` for an address, a key file or a file of certificates that cannot be used, and for options that exclude each other.
  package init(_ options: Options, environment: [String: String]) throws(DataError) {
    func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    let emulator = variable("FIRESTORE_EMULATOR_HOST")
    guard options.token == nil || options.credentialsFile == nil else {
      throw .argument("--token and --credentials exclude each other.")
    }
    // The environment's file is for Google's own backend; a caller who names another one does not mean it.
    let hasOtherBackend = options.host != nil || emulator != nil || options.token != nil
    let file =
      options.credentialsFile ?? (hasOtherBackend ? nil : variable("GOOGLE_APPLICATION_CREDENTIALS"))
    let account = try file.map { (path) throws(DataError) in try Account(contentsOfFile: path) }

    if let address = options.host ?? (options.credentialsFile == nil ? emulator : nil) {
      (host, port) = try Self.address(
        address, from: options.host == nil ? "FIRESTORE_EMULATOR_HOST is" : "--host",
        defaultPort: options.usesTLS ? 443 : 8080)
      usesTLS = options.usesTLS
    } else if account != nil {
      (host, port, usesTLS) = (Self.googleHost, 443, true)
    } else {
      (host, port, usesTLS) = ("127.0.0.1", options.usesTLS ? 443 : 8080, options.usesTLS)
    }
    if let file = options.authorityFile {
      trustedCertificateFiles = [try Self.file(file, of: "--ca-file", usesTLS: usesTLS, TrustedCertificateFile.check)]
    }
    clientCertificate = try Self.clientCertificate(options, usesTLS: usesTLS)
    databaseID = DatabaseID(
      projectID: options.project ?? variable("GOOGLE_CLOUD_PROJECT") ?? account?.projectID ?? "demo",
      database: options.database ?? "(default)")
    if let token = options.token ?? (account == nil ? variable("HEARTH_TOKEN") : nil) {
      guard !token.lowercased().hasPrefix("bearer ") else {
        throw .argument(
          "\(options.token == nil ? "HEARTH_TOKEN" : "--token") begins with the word Bearer, which is sent by itself: leave it out."
        )
      }
      guard usesTLS || SystemConnectivity.isLoopback(host) || Self.isUnsigned(token) else {
        throw .argument(
          "--token (or HEARTH_TOKEN): without TLS everybody between this machine and \(host) could read the token. Add --tls."
        )
      }
      credentials = FixedCredentials(token: AccessToken(token))
    } else if let account, usesTLS {
      credentials = account
    } else {
      // No signed token is ever sent unencrypted. An emulator takes its owner's.
      credentials = usesTLS ? NoCredentials() as any CredentialsProvider : OwnerCredentials()
    }
  }

  /// True for what only servers for development accept: the owner's token, and JSON Web Tokens without a signature (RFC 7519, section 6).
  private static func isUnsigned(_ token: String) -> Bool { token == "owner" || token.hasSuffix(".") }

  private static func clientCertificate(
    _ options: Options, usesTLS: Bool
  ) throws(DataError) -> ClientCertificateFiles? {
    guard options.certificateFile != nil || options.keyFile != nil else { return nil }
    guard let certificate = options.certificateFile, let key = options.keyFile else {
      throw .argument("--cert-file and --key-file belong together: give both.")
    }
    let files = ClientCertificateFiles(
      certificate: try file(certificate, of: "--cert-file", usesTLS: usesTLS, TrustedCertificateFile.check),
      key: try file(key, of: "--key-file", usesTLS: usesTLS, ClientCertificateFiles.checkKey))
    guard files.belongTogether else {
      throw DataError(
        "--key-file \"\(key)\" is not the key of the first certificate in --cert-file \"\(certificate)\". Give the key with which that "
          + "certificate was made, and put the certificate itself before those of authorities.")
    }
    return files
  }

  /// The path of a file with certificates or a key, if it can be used.
  private static func file(
    _ path: String, of option: String, usesTLS: Bool, _ check: (String) throws(TrustedCertificateFile.Fault) -> Void
  ) throws(DataError) -> String {
    guard usesTLS else {
      throw .argument(
        "\(option) \"\(path)\": without TLS there are no certificates. Add --tls, or leave out \(option).")
    }
    do {
      try check(path)
    } catch {
      switch error {
      case .unreadable(let reason): throw DataError("\(option) \"\(path)\" cannot be read: \(reason).")
      case .content(let fault): throw DataError("\(option) \"\(path)\" \(fault).")
      }
    }
    return path
  }

  /// True if calls have a token that identifies their caller.
  var hasCaller: Bool { !(credentials is NoCredentials || credentials is OwnerCredentials) }

  /// The address for people.
  package var place: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// Cuts `HOST`, `HOST:PORT`, `[IPv6]:PORT` or an IPv6 address alone.
  ///
  /// - Parameter source: Names the place of the text in an error.
  static func address(
    _ text: String, from source: String = "--host", defaultPort: Int
  ) throws(DataError) -> (host: String, port: Int) {
    let fault = DataError.argument(
      "\(source) \"\(text)\": expected HOST:PORT without a scheme, such as 127.0.0.1:8080 or [::1]:8080, with a port from 1 to 65535."
    )
    guard !text.contains("/"), !text.isEmpty else { throw fault }
    // The system would take a number alone for an address of four bytes, of some other machine.
    let digits = text.hasPrefix(":") ? text.dropFirst() : text[...]
    if !digits.isEmpty, digits.allSatisfy({ ("0"..."9").contains($0) }) {
      guard let port = Int(digits), (1...65_535).contains(port) else { throw fault }
      throw .argument("\(source) \"\(text)\": a port alone; write 127.0.0.1:\(port).")
    }
    if text.hasPrefix("[") {
      guard let end = text.lastIndex(of: "]") else { throw fault }
      let host = String(text[text.index(after: text.startIndex)..<end])
      let rest = text[text.index(after: end)...]
      guard !host.isEmpty else { throw fault }
      if rest.isEmpty { return (host, defaultPort) }
      guard rest.first == ":", let port = Int(rest.dropFirst()), (1...65_535).contains(port) else { throw fault }
      return (host, port)
    }
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    switch parts.count {
    case 1: return (text, defaultPort)
    case 2:
      guard !parts[0].isEmpty, let port = Int(parts[1]), (1...65_535).contains(port) else { throw fault }
      return (String(parts[0]), port)
    default: return (text, defaultPort)
    }
  }
}

/// Sends one token, whatever a backend says of it.
private struct FixedCredentials: CredentialsProvider {
  let token: AccessToken

  func token() async -> AccessToken? { token }
  func invalidate(_ token: AccessToken?) {}
}
