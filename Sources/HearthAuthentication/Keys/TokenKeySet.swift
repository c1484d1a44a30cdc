package import Foundation

/// The keys of an issuer.
package struct TokenKeySet: Sendable {
  private let keys: [TokenKey]

  /// Larger texts are not read.
  static let maximumBytes = 1 << 20
  /// Issuers have a handful.
  static let maximumCount = 1_000

  init(_ keys: [TokenKey]) {
    self.keys = keys
  }

  /// Reads a JSON Web Key set, a JSON object of certificates by key id (as Google publishes them), or one public key or certificate in PEM form.
  ///
  /// - Parameter source: The place of the text, for the error.
  /// - Throws: `TokenKeyError` if there is no usable key.
  package init(reading text: Data, from source: String) async throws(TokenKeyError) {
    guard text.count <= Self.maximumBytes else {
      throw TokenKeyError("\(source) has more than \(Self.maximumBytes) bytes")
    }
    let found: [TokenKey?]
    if let object = (try? JSONSerialization.jsonObject(with: text)) as? [String: Any] {
      if let webKeys = object["keys"] as? [Any] {
        found = try await Self.webKeys(webKeys, source)
      } else if let certificates = object as? [String: String] {
        found = try await Self.certificates(certificates, source)
      } else {
        throw TokenKeyError(
          "\(source) is neither a JSON Web Key set (\"keys\") nor an object of certificates by key id")
      }
    } else if let pem = String(bytes: text, encoding: .utf8), pem.contains("-----BEGIN") {
      found = [await TokenKey.pem(pem, id: nil)]
    } else {
      throw TokenKeyError("\(source) is neither JSON nor a key in PEM form")
    }
    keys = found.compactMap { $0 }
    guard !keys.isEmpty else {
      throw TokenKeyError(
        "\(source) has no key that can be used: an RSA key of at least 2048 bits, or one on P-256 or Ed25519")
    }
  }

  private static func webKeys(_ keys: [Any], _ source: String) async throws(TokenKeyError) -> [TokenKey?] {
    try check(keys.count, source)
    var found: [TokenKey?] = []
    for key in keys {
      guard key is [String: Any], let json = try? JSONSerialization.data(withJSONObject: key) else { continue }
      found.append(await TokenKey.webKey(json))
    }
    return found
  }

  private static func certificates(
    _ certificates: [String: String], _ source: String
  ) async throws(TokenKeyError) -> [TokenKey?] {
    try check(certificates.count, source)
    var found: [TokenKey?] = []
    for (id, pem) in certificates { found.append(await TokenKey.pem(pem, id: id)) }
    return found
  }

  private static func check(_ count: Int, _ source: String) throws(TokenKeyError) {
    guard count <= maximumCount else { throw TokenKeyError("\(source) has \(count) keys; \(maximumCount) are allowed") }
  }

  /// The keys that may have signed a token: those with its id, or those without an id.
  func candidates(for token: Token) -> [TokenKey] {
    keys.filter { $0.algorithm == token.algorithm && ($0.id == nil || $0.id == token.keyID) }
  }
}

/// The reason for which no keys could be read.
package struct TokenKeyError: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) {
    self.description = description
  }
}
