internal import Foundation
internal import HearthTransport
internal import Synchronization

/// A proof that a user is signed in, issued by Firebase Authentication or the Identity Platform. Its description never shows the token.
public struct IDToken: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The secret itself.
  public let value: String
  /// The user of the token: its `sub`, `uid` in Firebase Authentication.
  public let userID: String

  /// Wraps an issued token. It is not checked here; the backend does that.
  ///
  /// - Parameters:
  ///   - value: The token as it was issued, a JSON Web Token.
  ///   - userID: The user of the token.
  public init(_ value: String, userID: String) {
    self.value = value
    self.userID = userID
  }

  /// The user; the token is hidden.
  public var description: String { "IDToken(user: \(userID), hidden)" }
  /// The same as ``description``.
  public var debugDescription: String { description }
  /// Shows the user only.
  public var customMirror: Mirror { Mirror(self, children: ["userID": userID]) }
}

/// Identifies the user who is signed in.
///
/// ```swift
/// let credentials = IDTokenCredentials(userID: session.userID) { forcingRefresh in
///   guard let session = try await currentSession(refreshing: forcingRefresh) else { return nil }  // no user is signed in
///   return IDToken(session.idToken, userID: session.userID)
/// }
/// let settings = Firestore.firestore().settings
/// settings.credentials = credentials
/// Firestore.firestore().settings = settings
///
/// credentials.setUser("alice")  // after sign-in
/// credentials.setUser(nil)      // after sign-out
/// ```
///
/// Each user has an outbox of its own in the cache. When the user changes, the former user's writes disappear from queries and wait until
/// that user is back. The new user's writes appear, and ``Firestore/waitForPendingWrites()`` fails with `cancelled`. All users of the
/// device see the documents in the cache: signing out does not empty it, but ``Firestore/clearPersistence()`` does.
///
/// A request is only sent with a token of the user for whom it was made. If the user changes while a request is prepared, it is not sent:
/// streams are reopened for the new user, other calls fail with `aborted`.
public final class IDTokenCredentials: FirestoreCredentials, CustomReflectable {
  /// Fetches the present user's token, or returns nil when no user is signed in.
  ///
  /// It is called whenever a stream is opened or a call is made, so keep the token while it is valid, and replace it some minutes before it
  /// expires. Concurrent requests share one call. If the token belongs to another user than the known one, the user changes as with
  /// ``setUser(_:)``. An error counts as `unavailable` unless it is of ``FirestoreErrorDomain``; a missing answer counts as `unavailable`
  /// after a minute. In both cases streams are retried, after pauses that grow to a minute.
  ///
  /// - Parameter forcingRefresh: True if the backend refused the last token, so that a kept token must not be returned again. It is true
  ///   once for each refusal, and again after a call that failed.
  public typealias Provider = @Sendable (_ forcingRefresh: Bool) async throws -> IDToken?

  private struct State {
    var user: RequestUser
    /// Grows with each change, so that an outdated answer is recognised.
    var generation = 0
    var observers: [WeakObserver] = []
  }

  private struct WeakObserver {
    weak var observer: (any UserObserver)?
  }

  private let provider: Provider
  private let state: Mutex<State>
  /// Held while observers are notified, so that they learn of changes in their order.
  private let telling = Mutex(())

  /// Makes credentials for the users of a device.
  ///
  /// - Parameters:
  ///   - userID: The signed-in user, as known to the device; nil or empty if none is signed in. It opens the right outbox from the start,
  ///     even while the token cannot be fetched. Ids are compared by their bytes.
  ///   - provider: Fetches the token.
  public init(userID: String?, provider: @escaping Provider) {
    self.provider = provider
    state = Mutex(State(user: RequestUser(userID)))
  }

  /// The signed-in user as far as known, or nil.
  public var userID: String? { state.withLock { $0.user.id } }

  /// Changes the user after sign-in or sign-out. Operations that are called afterwards belong to this user.
  ///
  /// With the same user, the outbox stays and the streams are only reopened with a new token, for example when an expired sign-in was
  /// renewed. It returns at once and may be called from any thread, even by the provider.
  ///
  /// - Parameter userID: The user; nil or empty after sign-out.
  public func setUser(_ userID: String?) {
    let user = RequestUser(userID)
    telling.withLock { _ in
      let observers = state.withLock { state in
        state.user = user
        state.generation += 1
        return state.observers.compactMap(\.observer)
      }
      for observer in observers { observer.userChanged(to: user) }
    }
  }

  /// Returns the present user's token, or nil if no user is signed in.
  ///
  /// - Parameter forcingRefresh: Passed to the provider.
  /// - Throws: The provider's error, or an `NSError` of ``FirestoreErrorDomain`` (`aborted`) when the user has changed, so that a request
  ///   of one user is not sent as another.
  public func accessToken(forcingRefresh: Bool) async throws -> String? {
    try await fetch(forcingRefresh: forcingRefresh).token?.value
  }

  /// Shows the user only.
  public var customMirror: Mirror { Mirror(self, children: ["userID": userID as Any]) }

  /// Grows with each change of user.
  var generation: Int { state.withLock { $0.generation } }

  func fetch(forcingRefresh: Bool) async throws -> TokenSource.Fetched {
    let (asked, generation) = state.withLock { ($0.user, $0.generation) }
    let token = try await provider(forcingRefresh)
    let user = RequestUser(token?.userID)
    guard settle(user, askedIn: generation), user == asked else {
      throw NSError.firestore(.aborted, RequestUser.changed)
    }
    return TokenSource.Fetched(token: token.map { AccessToken($0.value) }, user: user)
  }

  /// Notes the user of the provider's answer. Returns whether that is the present user.
  private func settle(_ user: RequestUser, askedIn generation: Int) -> Bool {
    telling.withLock { _ in
      let (isPresent, observers) = state.withLock { state -> (Bool, [any UserObserver]) in
        if state.user == user { return (true, []) }
        // A user who was set while the answer was on its way takes precedence.
        guard state.generation == generation else { return (false, []) }
        state.user = user
        state.generation += 1
        return (false, state.observers.compactMap(\.observer))
      }
      for observer in observers { observer.userChanged(to: user) }
      return isPresent
    }
  }

  /// Notifies `observer` of all later changes, and at once if the user already differs from `known`.
  func observe(_ observer: any UserObserver, known: RequestUser) {
    telling.withLock { _ in
      let user = state.withLock { state in
        state.observers.removeAll { $0.observer == nil }
        state.observers.append(WeakObserver(observer: observer))
        return state.user
      }
      if user != known { observer.userChanged(to: user) }
    }
  }
}

/// An observer of changes of the user. Called from any thread; must not block.
protocol UserObserver: AnyObject, Sendable {
  func userChanged(to user: RequestUser)
}
