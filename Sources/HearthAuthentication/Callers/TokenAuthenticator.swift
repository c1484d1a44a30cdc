internal import Foundation
internal import HearthModel
package import HearthRPC
internal import HearthServer
internal import Logging
internal import Synchronization

/// Identifies callers by the token in the header `authorization`: users of some issuers, service accounts, and administrators with a secret.
///
/// | header | caller |
/// |---|---|
/// | none | nobody |
/// | `Bearer` and an administrator's secret | the owner |
/// | `Bearer` and a JSON Web Token of an issuer of users | the user |
/// | `Bearer` and a JSON Web Token of a service account | the owner |
/// | anything else | refused with UNAUTHENTICATED |
package final class TokenAuthenticator: CallAuthenticator {
  private let issuers: [TokenIssuer]
  /// Verifies the header `x-firebase-appcheck` of everyone but administrators; nil if none is demanded.
  private let appCheck: TokenIssuer?
  private let administrators: AdministratorTokens?
  private let clock: TokenClock
  private let known: KnownTokens
  /// The digests of administrators' secrets that were used. Others are not known: ``identify(_:)`` compares them, and a server that limits
  /// failures does not ask it. So guesses are limited, too.
  private let usedSecrets = Mutex<Set<[UInt8]>>([])

  /// - Parameter issuers: Of one name there may be several, such as two files of keys.
  package convenience init(
    issuers: [TokenIssuer], appCheck: TokenIssuer? = nil, administrators: AdministratorTokens? = nil
  ) {
    self.init(
      issuers: issuers, appCheck: appCheck, administrators: administrators, clock: .system, known: KnownTokens())
  }

  init(
    issuers: [TokenIssuer], appCheck: TokenIssuer?, administrators: AdministratorTokens?, clock: TokenClock,
    known: KnownTokens
  ) {
    self.issuers = issuers
    self.appCheck = appCheck
    self.administrators = administrators
    self.clock = clock
    self.known = known
  }

  // MARK: - Calls

  package func known(_ metadata: CallMetadata) throws(CallStatus) -> KnownCaller {
    guard let token = try Self.token(in: metadata) else {
      return appCheck == nil ? .identity(CallIdentity(Caller.nobody)) : .unknown
    }
    let digest = KnownTokens.digest(token, .caller)
    if let administrators, administrators.contains(digest) {
      return usedSecrets.withLock { $0.contains(digest) } ? .identity(CallIdentity(Caller.owner)) : .unknown
    }
    let known = try knownToken(digest, among: issuers)
    guard case .accepted(let user) = known else { return known.caller }
    guard let appCheck, user.needsApp else { return .identity(identity(user)) }
    let appToken = try Self.appToken(in: metadata)
    let knownApp = try knownToken(KnownTokens.digest(appToken[...], .app), among: [appCheck])
    guard case .accepted(let app) = knownApp else { return knownApp.caller }
    return .identity(identity(user, app))
  }

  package func identify(_ metadata: CallMetadata) async throws(CallStatus) -> CallIdentity {
    guard let token = try Self.token(in: metadata) else {
      guard let appCheck else { return CallIdentity(Caller.nobody) }
      let app = try await verifiedApp(metadata, appCheck)
      return CallIdentity(Caller.nobody, expiry: instant(app.expiry))
    }
    let digest = KnownTokens.digest(token, .caller)
    if let administrators, administrators.contains(digest) {
      _ = usedSecrets.withLock { $0.insert(digest) }
      return CallIdentity(Caller.owner)
    }
    let user = try await verified(String(token), digest, among: issuers, Self.bearerName)
    guard let appCheck, user.needsApp else { return identity(user) }
    return identity(user, try await verifiedApp(metadata, appCheck))
  }

  private func verifiedApp(
    _ metadata: CallMetadata, _ appCheck: TokenIssuer
  ) async throws(CallStatus) -> KnownTokens.Entry {
    let token = try Self.appToken(in: metadata)
    return try await verified(token, KnownTokens.digest(token[...], .app), among: [appCheck], "App Check token")
  }

  private func identity(_ user: KnownTokens.Entry, _ app: KnownTokens.Entry? = nil) -> CallIdentity {
    CallIdentity(user.caller, expiry: instant(min(user.expiry, app?.expiry ?? .infinity)))
  }

  /// The instant of a time of day, as the clocks stand now.
  private func instant(_ time: Double) -> ContinuousClock.Instant {
    // A token may say that it is valid for longer than an instant can be away.
    clock.steady() + .seconds(min(max(0, time - clock.wall()), Self.longestWait))
  }

  private static let longestWait = 366.0 * 24 * 3_600

  // MARK: - Headers

  /// - Returns: Nil if there is no header.
  private static func token(in metadata: CallMetadata) throws(CallStatus) -> Substring? {
    let headers = metadata["authorization"]
    guard let header = headers.first else { return nil }
    guard headers.count == 1 else { throw refusal("The call has several authorization headers.") }
    guard let token = bearer(in: header) else {
      throw refusal("The authorization header does not have the form \"Bearer TOKEN\".")
    }
    return token
  }

  /// The token of a header with two words, the first of them `Bearer`.
  ///
  /// It looks at bytes, as fast as memory can be read, and copies nothing: every call has such a header, of a kilobyte as a rule.
  private static func bearer(in header: String) -> Substring? {
    var header = header
    let place = header.withUTF8 { bytes -> Range<Int>? in
      let space = UInt8(ascii: " ")
      guard let address = bytes.baseAddress, let start = bytes.firstIndex(where: { $0 != space }),
        let last = bytes.lastIndex(where: { $0 != space })
      else { return nil }
      let word = bytes[start...].prefix { $0 != space }
      guard word.count == scheme.count, zip(word, scheme).allSatisfy({ $0 | 0x20 == $1 }),
        let first = bytes[word.endIndex...].firstIndex(where: { $0 != space }),
        memchr(address + first, Int32(space), last + 1 - first) == nil
      else { return nil }
      return first..<(last + 1)
    }
    return place.map { place in
      let (start, end) = (
        header.utf8.index(header.startIndex, offsetBy: place.lowerBound),
        header.utf8.index(header.startIndex, offsetBy: place.upperBound)
      )
      return header[start..<end]
    }
  }

  private static let scheme = Array("bearer".utf8)

  private static func appToken(in metadata: CallMetadata) throws(CallStatus) -> String {
    guard let token = metadata["x-firebase-appcheck"].first else {
      throw refusal("The call has no App Check token, which this server demands.")
    }
    return token
  }

  private static func refusal(_ message: String) -> CallStatus { CallStatus(.unauthenticated, message) }

  // MARK: - Tokens

  private enum KnownToken {
    case accepted(KnownTokens.Entry)
    /// Verified with keys that a look at their file may replace.
    case toBeConfirmed
    /// To be verified.
    case unknown

    /// The caller of a token that is not accepted yet.
    var caller: KnownCaller { if case .toBeConfirmed = self { .toBeConfirmed } else { .unknown } }
  }

  /// - Throws: UNAUTHENTICATED for a token that has expired since it was verified.
  private func knownToken(_ digest: [UInt8], among issuers: [TokenIssuer]) throws(CallStatus) -> KnownToken {
    guard let entry = known[digest], issuers.indices.contains(entry.issuer) else { return .unknown }
    switch issuers[entry.issuer].keys.standing(ofRelease: entry.release) {
    case .replaced: return .unknown
    case .toBeConfirmed: return .toBeConfirmed
    case .present: break
    }
    guard entry.expiry > clock.wall() else { throw Self.refusal("The token is not accepted: it has expired.") }
    return .accepted(entry)
  }

  private static let bearerName = "token"

  /// - Parameter name: The kind of the token in errors.
  private func verified(
    _ text: String, _ digest: [UInt8], among issuers: [TokenIssuer], _ name: String
  ) async throws(CallStatus) -> KnownTokens.Entry {
    if let entry = known[digest], issuers.indices.contains(entry.issuer) {
      await issuers[entry.issuer].keys.lookIfLocal()
    }
    if case .accepted(let entry) = try knownToken(digest, among: issuers) { return entry }
    do throws(TokenError) {
      let token = try Token(text)
      let (index, release) = try await signer(of: token, among: issuers)
      let (subject, expiry) = try issuers[index].check(token.claims, at: clock.wall())
      let entry = KnownTokens.Entry(
        caller: Self.caller(subject, token, issuers[index]), expiry: expiry, issuer: index, release: release,
        byteCount: 4 * text.utf8.count)
      known.remember(entry, for: digest)
      return entry
    } catch {
      switch error.kind {
      case .refused where name == Self.bearerName && text == "owner":
        throw Self.refusal(
          "The \(name) is not accepted: it is \"owner\", which clients send if FIRESTORE_EMULATOR_HOST is set, and this server is locked. "
            + "Unset that variable, and give a token.")
      case .refused where administrators != nil && name == Self.bearerName && !text.contains("."):
        throw Self.refusal(
          "The \(name) is not accepted: it is none of the administrators' secrets, and not a JSON Web Token.")
      case .refused: throw Self.refusal("The \(name) is not accepted: \(error.description).")
      case .keysUnavailable: throw CallStatus(.unavailable, "The \(name) cannot be verified: \(error.description).")
      }
    }
  }

  /// The issuer whose key has made the signature of a token.
  private func signer(
    of token: Token, among issuers: [TokenIssuer]
  ) async throws(TokenError) -> (index: Int, release: Int) {
    guard case .string(let name)? = token.claims["iss"] else { throw TokenError("it names no issuer (iss)") }
    let ofName = issuers.indices.filter { ByteOrder.areEqual(issuers[$0].name, name) }
    guard !ofName.isEmpty else {
      throw TokenError("its issuer \"\(name.prefix(200))\" is not one that this server knows")
    }
    var failure = TokenError("its signature is not one of its issuer")
    for index in ofName {
      do {
        let (keys, release) = try await issuers[index].keys.candidates(for: token)
        if keys.contains(where: { $0.verifies(token) }) { return (index, release) }
      } catch {
        failure = error
      }
    }
    throw failure
  }

  private static func caller(_ subject: String, _ token: Token, _ issuer: TokenIssuer) -> Caller {
    switch issuer.role {
    case .user:
      .user(
        Caller.User(issuer: issuer.name, id: subject, claims: token.claims, projects: issuer.projects))
    case .administrator: .owner
    case .app: .nobody
    }
  }
}

extension KnownTokens.Entry {
  fileprivate var needsApp: Bool {
    if case .owner = caller { false } else { true }
  }
}
