package import HearthModel
internal import HearthRPC
internal import HearthRules

/// The identity that makes a call.
package enum Caller: Sendable {
  /// An administrator, for whom no rules apply: a service account, or everybody in development mode.
  case owner
  /// A call without a token.
  case nobody
  case user(User)

  /// A user with a token that was verified.
  package struct User: Sendable {
    /// The issuer of the token, `iss`.
    package let issuer: String
    /// The id of the user at its issuer, `sub`.
    package let id: String
    /// The contents of the token.
    package let claims: MapValue
    /// The projects whose databases the user may use; nil for all of those that the server has for users.
    package let projects: [String]?
    /// The variable `request.auth` of rules, made once for all calls with the token.
    let ruleValue: RuleValue
    /// ``Caller/boundTo``, made once as well.
    fileprivate let boundTo: String

    package init(issuer: String, id: String, claims: MapValue, projects: [String]? = nil) {
      self.projects = projects
      self.issuer = issuer
      self.id = id
      self.claims = claims
      ruleValue = .map(RuleMap(pairs: [("uid", .string(id)), ("token", .map(RuleMap(claims)))]))
      boundTo = "user \(issuer.utf8.count) \(issuer) \(id)"
    }
  }

  /// True if nothing tells its callers apart.
  var standsForMany: Bool { if case .nobody = self { true } else { false } }

  /// The sender whose reads and commits take turns with those of others: the caller, or the origin of callers that nothing else tells apart.
  func sender(from origin: CallOrigin?) -> String {
    guard standsForMany, let origin else { return boundTo }
    return "\(boundTo) \(UInt(bitPattern: ObjectIdentifier(origin).hashValue))"
  }

  /// The text by which what belongs to a caller is bound to it: the same for all tokens of a user, and for nobody else. Empty for the owner.
  var boundTo: String {
    switch self {
    case .owner: ""
    case .nobody: "nobody"
    case .user(let user): user.boundTo
    }
  }
}

extension Caller: CustomStringConvertible {
  /// For the log.
  package var description: String {
    switch self {
    case .owner: "administrator"
    case .nobody: "nobody"
    case .user(let user): "user \(user.id)"
    }
  }
}
