internal import Foundation
internal import HearthModel
internal import HearthServer

/// A token of a user that a program makes itself, where no login service does: for a shell, a test, or a first try.
package struct UserToken: Sendable {
  /// A reason for which there is no such token.
  package struct Mistake: Error, CustomStringConvertible {
    package let description: String
  }

  /// The claims as JSON values: numbers, texts, booleans, lists and objects.
  private var claims: [String: ClaimJSON]

  /// A value of JSON in the form in which it was given.
  private struct ClaimJSON: Sendable {
    let text: String

    init(_ text: String) { self.text = text }
    init(string: String) throws { text = String(decoding: try JSONEncoder.plain.encode(string), as: UTF8.self) }
  }

  /// The claims that the other parameters set.
  private static let ownClaims: Set = ["iss", "aud", "sub", "iat", "exp"]
  /// The longest subject that a server takes, in bytes (OpenID Connect Core, section 2).
  private static let maximumUserBytes = 255

  /// - Parameters:
  ///   - user: `sub`, which rules know as `request.auth.uid`.
  ///   - issuer: `iss`; nil for none, as a server in development needs none.
  ///   - audience: `aud`; nil for none.
  ///   - seconds: The time for which the token is valid, from `now` on.
  ///   - now: In seconds since 1970.
  ///   - claims: Further claims, each as `name=JSON`.
  /// - Throws: ``Mistake`` that names the claim and what is wrong with it.
  package init(
    user: String, issuer: String?, audience: String?, validFor seconds: Int, from now: Int, claims: [String] = []
  ) throws {
    guard !user.isEmpty, user.utf8.count <= Self.maximumUserBytes else {
      throw Mistake(description: "The user has \(user.utf8.count) bytes, but must have 1 to \(Self.maximumUserBytes).")
    }
    var all = [
      "sub": try ClaimJSON(string: user), "iat": ClaimJSON("\(now)"), "exp": ClaimJSON("\(now + seconds)"),
    ]
    if let issuer { all["iss"] = try ClaimJSON(string: issuer) }
    if let audience { all["aud"] = try ClaimJSON(string: audience) }
    var names = Set<String>()
    for claim in claims {
      let (name, value) = try Self.claim(claim)
      guard names.insert(name).inserted else { throw Mistake(description: "The claim \(name) is given twice.") }
      all[name] = value
    }
    self.claims = all
  }

  private static func claim(_ text: String) throws -> (name: String, value: ClaimJSON) {
    guard let separator = text.firstIndex(of: "="), separator != text.startIndex else {
      throw Mistake(description: "The claim \"\(text)\" does not have the form name=JSON, such as admin=true.")
    }
    let (name, value) = (String(text[..<separator]), String(text[text.index(after: separator)...]))
    guard !ownClaims.contains(name) else {
      throw Mistake(description: "The claim \(name) is set by the other options.")
    }
    // Foundation reads a few texts that are not JSON, such as NaN, which servers refuse.
    guard (try? JSONSerialization.jsonObject(with: Data(value.utf8), options: .fragmentsAllowed)) != nil,
      MapValue(claims: Array("{\"value\":\(value)}".utf8)) != nil
    else {
      throw Mistake(
        description:
          "The value of the claim \(name) is not JSON: \(value). A text needs quotation marks: '\(name)=\"\(value)\"'.")
    }
    return (name, ClaimJSON(value))
  }

  /// The token with the signature of a secret (HS256).
  ///
  /// - Throws: `TokenKeyError` for a file that cannot be read, or holds no secret of at least 32 bytes.
  package func signed(withSecretInFile path: String) async throws -> String {
    let key = try await TokenKeys.secretKey(inFile: path)
    let text = try text(algorithm: TokenAlgorithm.hs256.rawValue)
    return "\(text).\(Base64URL.encoded(try key.signature(of: Array(text.utf8))))"
  }

  /// The token without a signature, which only a server in development accepts.
  package func unsigned() throws -> String { "\(try text(algorithm: "none"))." }

  /// Header and payload.
  private func text(algorithm: String) throws -> String {
    let header = #"{"alg":"\#(algorithm)","typ":"JWT"}"#
    let members = try claims.sorted { $0.key < $1.key }.map { name, value in
      "\(try ClaimJSON(string: name).text):\(value.text)"
    }
    let payload = "{\(members.joined(separator: ","))}"
    let token = "\(Base64URL.encoded(Array(header.utf8))).\(Base64URL.encoded(Array(payload.utf8)))"
    guard token.utf8.count <= Token.maximumBytes / 2 else {
      throw Mistake(
        description:
          "The token has \(token.utf8.count) bytes, and \(Token.maximumBytes / 2) is the most: give fewer claims.")
    }
    return token
  }
}

extension JSONEncoder {
  fileprivate static var plain: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    return encoder
  }
}
