internal import GRPCCore
internal import HearthModel

/// The headers that every call carries.
struct RequestHeaders: Sendable {
  let metadata: Metadata
  /// The tokens among them, which no message may repeat.
  let secrets: [String]

  /// Asks for the tokens and puts the headers together.
  ///
  /// - Throws: what the credentials throw, or a `StatusError` (unauthenticated) when a token cannot be sent as a header;
  ///   its text does not contain the token.
  init(_ configuration: TransportConfiguration) async throws {
    let databaseName = configuration.databaseID.resourceName
    var metadata: Metadata = [
      "google-cloud-resource-prefix": "\(databaseName)",
      "x-goog-request-params": "database=\(Self.percentEncoded(databaseName))",
      "x-goog-api-client": "\(configuration.apiClientHeader)",
    ]
    async let accessToken = configuration.credentials.token()
    async let appCheckToken = configuration.appCheck.token()
    var secrets: [String] = []
    if let token = try await accessToken {
      metadata.addString("Bearer \(try Self.sendable(token, "access token"))", forKey: "authorization")
      secrets.append(token.value)
    }
    if let token = try await appCheckToken {
      metadata.addString(try Self.sendable(token, "App Check token"), forKey: "x-firebase-appcheck")
      secrets.append(token.value)
    }
    self.metadata = metadata
    self.secrets = secrets
  }

  private static func sendable(_ token: AccessToken, _ name: String) throws -> String {
    guard !token.value.isEmpty, token.value.utf8.allSatisfy(isVisible) else {
      throw StatusError(
        code: .unauthenticated, message: "The \(name) is empty or has characters that a header cannot carry.")
    }
    return token.value
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
