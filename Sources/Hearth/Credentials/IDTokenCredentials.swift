internal import Foundation
internal import Synchronization

/// Proof that a user is signed in, as Firebase Authentication and the Identity Platform issue it. Its text never shows the token.
public struct IDToken: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The secret itself.
  public let value: String
  /// Whose token it is: the `sub` of the token, `uid` in Firebase Authentication.
  public let userID: String

  /// Makes a token of what was issued. It is not checked here; the backend does that.
  ///
  /// - Parameters:
  ///   - value: The token as it was issued, a JSON Web Token.
  ///   - userID: Whose token it is.
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

/// Asks as the user who is signed in.
///
/// ```swift
/// let credentials = IDTokenCredentials(userID: session.userID) { forcingRefresh in
///   guard let session = try await currentSession(refreshing: forcingRefresh) else { return nil }  // nobody is signed in
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
/// Each user has an outbox of its own in the cache. When the user changes, the writes of the former one disappear from queries and
/// wait until that user is back, those of the new one appear, and ``Firestore/waitForPendingWrites()`` fails with `cancelled`.
/// Documents in the cache are seen by all users of the device: signing out does not empty the cache;
/// ``Firestore/clearPersistence()`` does.
public final class IDTokenCredentials: FirestoreCredentials {
  /// Fetches the present user's token, or returns nil when nobody is signed in.
  ///
  /// It is called whenever a stream is opened or a call is made, so it should keep the token while it lasts. When it answers for
  /// another user than the known one, the user changes as with ``setUser(_:)``. `forcingRefresh` says that the backend refused the
  /// last token.
  public typealias Provider = @Sendable (_ forcingRefresh: Bool) async throws -> IDToken?

  private struct State {
    var userID: String?
    /// Grows with each change, so that an answer which was on its way meanwhile is recognised.
    var generation = 0
    var observers: [WeakObserver] = []
  }

  private struct WeakObserver {
    weak var observer: (any UserObserver)?
  }

  private enum Answer {
    case token(String?)
    case userChanged
    case outdated
  }

  private let provider: Provider
  private let state: Mutex<State>
  /// Held while observers are told, so that they learn of changes in their order.
  private let telling = Mutex(())

  /// Makes credentials of the users of a device.
  ///
  /// - Parameters:
  ///   - userID: Who is signed in as far as the device knows, or nil for nobody. With it the right outbox is open from the start,
  ///     also while the token cannot be fetched.
  ///   - provider: Fetches the token.
  public init(userID: String?, provider: @escaping Provider) {
    self.provider = provider
    state = Mutex(State(userID: Self.normalized(userID)))
  }

  /// Who is signed in as far as is known, or nil for nobody.
  public var userID: String? { state.withLock { $0.userID } }

  /// Somebody signed in or out. Operations that are called afterwards belong to this user.
  ///
  /// With the same user, the streams are only opened anew with a new token, for example after a sign-in that had expired.
  ///
  /// - Parameter userID: The user, or nil for nobody.
  public func setUser(_ userID: String?) {
    telling.withLock { _ in
      let observers = state.withLock { state in
        state.userID = Self.normalized(userID)
        state.generation += 1
        return state.observers.compactMap(\.observer)
      }
      for observer in observers { observer.userChanged(to: Self.normalized(userID)) }
    }
  }

  /// The present user's token.
  ///
  /// - Throws: What the provider throws, or an `NSError` of ``FirestoreErrorDomain`` (`aborted`) when the user has changed, so that
  ///   what was asked for one user is not done as another.
  public func accessToken(forcingRefresh: Bool) async throws -> String? {
    // An answer may be outdated by a call of setUser while it was on its way; more than a few in a row is no coincidence.
    for _ in 0..<3 {
      let generation = state.withLock { $0.generation }
      switch settle(try await provider(forcingRefresh), asked: generation) {
      case .token(let value): return value
      case .userChanged: throw NSError.firestore(.aborted, "The user changed while the request was prepared.")
      case .outdated: continue
      }
    }
    throw NSError.firestore(.unavailable, "The user changes faster than ID tokens can be fetched.")
  }

  private func settle(_ token: IDToken?, asked generation: Int) -> Answer {
    let userID = Self.normalized(token?.userID)
    return telling.withLock { _ in
      let (answer, observers) = state.withLock { state -> (Answer, [any UserObserver]) in
        if state.userID == userID { return (.token(token?.value), []) }
        guard state.generation == generation else { return (.outdated, []) }
        state.userID = userID
        state.generation += 1
        return (.userChanged, state.observers.compactMap(\.observer))
      }
      for observer in observers { observer.userChanged(to: userID) }
      return answer
    }
  }

  /// Tells `observer` of all changes from now on, and at once if the user is another one than `known` already.
  func observe(_ observer: any UserObserver, known: String?) {
    telling.withLock { _ in
      let userID = state.withLock { state in
        state.observers.removeAll { $0.observer == nil }
        state.observers.append(WeakObserver(observer: observer))
        return state.userID
      }
      if userID != known { observer.userChanged(to: userID) }
    }
  }

  /// An empty id is nobody's, as in the cache.
  private static func normalized(_ userID: String?) -> String? {
    userID?.isEmpty == true ? nil : userID
  }
}

/// Who wants to know when another user is signed in. Called from any thread; must not block.
protocol UserObserver: AnyObject, Sendable {
  func userChanged(to userID: String?)
}
