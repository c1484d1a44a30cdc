internal import HearthModel
internal import HearthServer

/// An issuer whose tokens are accepted, with the claims that they must have.
package struct TokenIssuer: Sendable {
  /// The role of the bearer of a token.
  package enum Role: Sendable {
    case user
    /// A service account: no rules apply to it.
    case administrator
    /// An app that is attested. The token says nothing of the caller.
    case app
  }

  let name: String
  let audiences: Set<String>
  let keys: TokenKeys
  let role: Role
  /// The projects whose databases its users may use; nil for all of those that the server has for users.
  let projects: [String]?

  /// - Parameters:
  ///   - name: The value of `iss`.
  ///   - audiences: A token must have one of them in `aud`.
  ///   - projects: The projects whose databases alone its users may use.
  package init(
    name: String, audiences: Set<String>, keys: TokenKeys, role: Role = .user, projects: [String]? = nil
  ) {
    self.projects = projects
    self.name = name
    self.audiences = audiences
    self.keys = keys
    self.role = role
  }

  /// The issuer of Firebase Auth for a project (Firebase documentation, "Verify ID tokens using a third-party JWT library").
  package static func firebase(project: String, keys: TokenKeys) -> TokenIssuer {
    TokenIssuer(
      name: "https://securetoken.google.com/\(project)", audiences: [project], keys: keys, projects: [project])
  }

  /// The issuer of App Check for a project.
  ///
  /// - Parameter number: The project's number, not its id.
  package static func appCheck(projectNumber number: String, keys: TokenKeys) -> TokenIssuer {
    TokenIssuer(
      name: "https://firebaseappcheck.googleapis.com/\(number)", audiences: ["projects/\(number)"], keys: keys,
      role: .app)
  }

  /// Clocks may differ by so many seconds.
  private static let leeway = 60.0
  /// OpenID Connect Core, section 2. Firebase allows 128.
  private static let maximumSubject = 255

  /// Checks the contents of a token whose signature is good.
  ///
  /// - Returns: The subject, and the time at which the token expires, in seconds since 1970.
  func check(_ claims: MapValue, at now: Double) throws(TokenError) -> (subject: String, expiry: Double) {
    guard Self.audiences(in: claims).contains(where: isOwn) else {
      throw TokenError(
        "its audience (aud) is not \(audiences.sorted().map { "\"\($0)\"" }.joined(separator: " or "))")
    }
    guard let expiry = Self.time("exp", in: claims) else { throw TokenError("it has no time of expiry (exp)") }
    guard expiry + Self.leeway > now else { throw TokenError("it has expired") }
    for name in ["nbf", "iat", "auth_time"] {
      guard claims[name] != nil else { continue }
      guard let time = Self.time(name, in: claims) else { throw TokenError("its time \(name) is not a number") }
      guard time <= now + Self.leeway else { throw TokenError("its time \(name) lies in the future") }
    }
    guard case .string(let subject)? = claims["sub"], !subject.isEmpty, subject.utf8.count <= Self.maximumSubject
    else {
      throw TokenError("its subject (sub) is not a text of 1 to \(Self.maximumSubject) bytes")
    }
    return (subject, expiry + Self.leeway)
  }

  private func isOwn(_ audience: String) -> Bool { audiences.contains { ByteOrder.areEqual($0, audience) } }

  private static func audiences(in claims: MapValue) -> [String] {
    switch claims["aud"] {
    case .string(let audience)?: [audience]
    case .array(let audiences)?: audiences.compactMap { if case .string(let audience) = $0 { audience } else { nil } }
    default: []
    }
  }

  private static func time(_ name: String, in claims: MapValue) -> Double? {
    switch claims[name] {
    case .integer(let seconds)?: Double(seconds)
    case .double(let seconds)? where seconds.isFinite: seconds
    default: nil
    }
  }
}
