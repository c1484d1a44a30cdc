internal import GRPCCore
internal import HearthModel

/// The headers that every call carries.
enum RequestHeaders {
  /// - Throws: a `StatusError` (unauthenticated) when the token cannot be sent as a header; its text does not
  ///   contain the token.
  static func make(_ configuration: TransportConfiguration) async throws -> Metadata {
    let databaseName = configuration.databaseID.resourceName
    var metadata: Metadata = [
      "google-cloud-resource-prefix": "\(databaseName)",
      "x-goog-request-params": "database=\(percentEncoded(databaseName))",
      "x-goog-api-client": "\(configuration.apiClientHeader)",
    ]
    if let token = try await configuration.credentials.token() {
      guard !token.value.isEmpty, token.value.utf8.allSatisfy(isVisible) else {
        throw StatusError(
          code: .unauthenticated,
          message: "The access token is empty or has characters that a header cannot carry.")
      }
      metadata.addString("Bearer \(token.value)", forKey: "authorization")
    }
    return metadata
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
