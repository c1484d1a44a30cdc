internal import GRPCCore
internal import HearthModel

/// The tokens of one call.
struct RequestTokens: Sendable, Hashable {
  var access: AccessToken?
  var appCheck: AccessToken?

  init(access: AccessToken? = nil, appCheck: AccessToken? = nil) {
    self.access = access
    self.appCheck = appCheck
  }

  /// Fetches both tokens concurrently.
  ///
  /// - Throws: The credentials' error.
  init(_ configuration: TransportConfiguration) async throws {
    async let access = configuration.credentials.token()
    async let appCheck = configuration.appCheck.token()
    self.access = try await access
    self.appCheck = try await appCheck
  }

  /// Texts that no message may repeat.
  var secrets: [String] { [access, appCheck].compactMap { $0?.value } }
}

/// The headers that every call carries.
struct RequestHeaders: Sendable {
  /// Longer tokens are refused here: servers and proxies end the whole connection when headers have more than some 16 KiB, which would
  /// look like an unstable network.
  static let maximumTokenBytes = 12 * 1024

  let metadata: Metadata

  /// - Throws: a `StatusError` (unauthenticated) when a token cannot be sent as a header; its text does not contain the token.
  init(_ configuration: TransportConfiguration, _ tokens: RequestTokens) throws(StatusError) {
    let databaseName = configuration.databaseID.resourceName
    var metadata: Metadata = [
      "google-cloud-resource-prefix": "\(databaseName)",
      "x-goog-request-params": "database=\(Self.percentEncoded(databaseName))",
      "x-goog-api-client": "\(configuration.apiClientHeader)",
    ]
    if let appID = configuration.googleAppID {
      metadata.addString(appID, forKey: "x-firebase-gmpid")
    }
    if let token = tokens.access {
      metadata.addString("Bearer \(try Self.sendable(token, "access token"))", forKey: "authorization")
    }
    if let token = tokens.appCheck {
      metadata.addString(try Self.sendable(token, "App Check token"), forKey: "x-firebase-appcheck")
    }
    self.metadata = metadata
  }

  private static func sendable(_ token: AccessToken, _ name: String) throws(StatusError) -> String {
    guard let fault = token.headerFault else { return token.value }
    throw StatusError(code: .unauthenticated, message: "The \(name) \(fault).")
  }

  /// Everything but RFC 3986's unreserved characters is escaped.
  private static func percentEncoded(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var result: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        result.append(byte)
      default:
        result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}

extension AccessToken {
  /// The reason why a header cannot carry the token, without any part of it; nil if one can. Line breaks would let a token add headers of
  /// its own behind a proxy that speaks HTTP/1.
  package var headerFault: String? {
    if value.isEmpty { return "is empty" }
    let count = value.utf8.count
    guard count <= RequestHeaders.maximumTokenBytes else {
      return "has \(count) bytes; a header carries at most \(RequestHeaders.maximumTokenBytes)"
    }
    guard let offset = value.utf8.enumerated().first(where: { !isVisible($0.element) })?.offset else { return nil }
    return "has a character that a header cannot carry at byte \(offset) (only visible ASCII characters can be sent)"
  }
}
