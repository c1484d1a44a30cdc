#if ServiceAccounts
  package import Foundation
  internal import HearthModel
  internal import JWTKit
  internal import Synchronization

  /// Signs the tokens of a service account, so that no other service is needed.
  ///
  /// Google's APIs take a JSON Web Token (RS256) that the account signed for the API's own address instead of an access token (Google
  /// identity documentation, "Self-signed JWTs"). One is kept until five minutes before it expires.
  package final class ServiceAccountTokens: Sendable, CustomReflectable {
    /// The audience of the tokens: only Firestore accepts them.
    static let audience = "https://firestore.googleapis.com/"
    /// The longest that Google accepts.
    static let lifetimeSeconds = 3600
    /// If fewer seconds are left, a new token is signed: a stream must be able to open with it.
    static let refreshMarginSeconds = 300

    private struct Signed {
      var token: String
      /// Seconds since 1970.
      var issuedAt: Int
    }

    private let account: ServiceAccount
    private let now: @Sendable () -> Date
    private let signed = Mutex<Signed?>(nil)

    /// - Parameter now: The time, by which tokens are dated and replaced.
    package init(_ account: ServiceAccount, now: @escaping @Sendable () -> Date) {
      self.account = account
      self.now = now
    }

    /// The kept token, or a newly signed one.
    ///
    /// - Parameter forcingRefresh: True if the kept one must not be returned.
    /// - Throws: a `StatusError` (`internal`) when the key cannot sign; it does not contain the key.
    package func token(forcingRefresh: Bool) async throws -> String {
      let seconds = secondsSince1970(now())
      if !forcingRefresh, let kept = signed.withLock({ $0 }), isUsable(kept, at: seconds) { return kept.token }
      let claims = Claims(
        iss: account.email, sub: account.email, aud: Self.audience, iat: seconds, exp: seconds + Self.lifetimeSeconds)
      do {
        var header = JWTHeader()
        // Not even nil may be assigned without one: the header would then say "kid": null.
        if let keyID = account.keyID { header.kid = keyID }
        let keys = JWTKeyCollection()
        await keys.add(rsa: account.key, digestAlgorithm: .sha256)
        let token = try await keys.sign(claims, header: header)
        signed.withLock { $0 = Signed(token: token, issuedAt: seconds) }
        return token
      } catch {
        throw StatusError(code: .internal, message: "The key of service account \(account.email) cannot sign a token.")
      }
    }

    /// Shows the account, and no token.
    package var customMirror: Mirror { Mirror(self, children: ["account": account.email]) }

    /// After a clock was set back, a kept token is one of the future, which backends refuse.
    private func isUsable(_ signed: Signed, at seconds: Int) -> Bool {
      let age = seconds - signed.issuedAt
      return age >= 0 && age < Self.lifetimeSeconds - Self.refreshMarginSeconds
    }

    /// Whole seconds; a clock outside the valid range gives 1970 or the year 9999.
    private func secondsSince1970(_ date: Date) -> Int {
      Int(min(max(date.timeIntervalSince1970, 0), 253_402_300_799))
    }
  }

  private struct Claims: JWTPayload {
    var iss: String
    var sub: String
    var aud: String
    var iat: Int
    var exp: Int

    /// These are only signed here; their receiver verifies them.
    func verify(using algorithm: some JWTAlgorithm) {}
  }
#endif
