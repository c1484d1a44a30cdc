/// The identity of a program towards the backend; assigned to ``FirestoreSettings/credentials``.
///
/// | credentials | for |
/// |---|---|
/// | ``AnonymousCredentials`` | requests without identity: the security rules decide what they may do |
/// | ``EmulatorOwnerCredentials`` | emulators and `hearth serve`: full access |
/// | ``ServiceAccountCredentials`` | servers with the key file of a Google service account: full access |
/// | ``IDTokenCredentials`` | apps with signed-in users |
///
/// Programs can implement others, for example for access tokens of a metadata server:
///
/// ```swift
/// final class MetadataServerCredentials: FirestoreCredentials {
///   func accessToken(forcingRefresh: Bool) async throws -> String? {
///     try await fetchAccessToken(ignoringCache: forcingRefresh)
///   }
/// }
/// ```
///
/// Each identity has its own outbox in the cache. A write is only sent with credentials of the identity that made it, even if identities
/// are used one after the other, or by several processes that share the cache. It waits until a client with its identity runs. Users are
/// distinguished by their ids, service accounts by their e-mail addresses, and custom credentials by their ``outboxName``.
///
/// Several Firestore objects may share one credentials object. Firestore objects do not keep tokens, and tokens never appear in logs and
/// errors.
public protocol FirestoreCredentials: AnyObject, Sendable {
  /// Returns the token to send, as it follows `Bearer ` in the `authorization` header, or nil to send none.
  ///
  /// It is called from any thread whenever a stream is opened or a call is made. So keep tokens while they are valid, and replace them some
  /// minutes before they expire. Concurrent requests share one call. While it runs, reads and writes of the cache continue. After a minute
  /// it counts as failed (`unavailable`), and its task is cancelled.
  ///
  /// A token is not sent if it is empty, has more than 12 KiB, or has characters that are not visible ASCII: that counts as
  /// `unauthenticated`.
  ///
  /// - Parameter forcingRefresh: True if the backend refused the last token, which must not be returned again. It is true once for each
  ///   refusal, and again after a call that failed.
  /// - Throws: Any error. It counts as `unavailable` unless it is one of ``FirestoreErrorDomain``. Streams are retried after pauses that
  ///   grow to a minute. Everything that looks like a token is removed from the error's text before it is shown.
  func accessToken(forcingRefresh: Bool) async throws -> String?

  /// The name of the tokens' identity. The cache keeps the writes of identities apart by it. Default: the name of the type, without its
  /// module.
  ///
  /// Two objects with one name send each other's writes, so credentials of one type that may have different identities need different
  /// names, such as the account's address. Keep the name when the type is renamed: writes that wait under another name are not sent. It is
  /// read once, when the client starts, and not used for the credentials of this library.
  var outboxName: String { get }
}

extension FirestoreCredentials {
  /// The name of the type.
  public var outboxName: String { String(describing: type(of: self)) }
}

/// Sends no token.
public final class AnonymousCredentials: FirestoreCredentials {
  fileprivate static let shared = AnonymousCredentials()

  private init() {}

  /// Nil.
  public func accessToken(forcingRefresh: Bool) async -> String? { nil }
}

/// Sends the token of an emulator's owner, who is not subject to security rules. Emulators and `hearth serve` accept it; Cloud Firestore
/// refuses it.
public final class EmulatorOwnerCredentials: FirestoreCredentials {
  fileprivate static let shared = EmulatorOwnerCredentials()

  private init() {}

  /// The token by which emulators recognise their owner.
  public func accessToken(forcingRefresh: Bool) async -> String? { "owner" }
}

extension FirestoreCredentials where Self == AnonymousCredentials {
  /// Sends no token: the security rules decide what such requests may do.
  public static var anonymous: AnonymousCredentials { .shared }
}

extension FirestoreCredentials where Self == EmulatorOwnerCredentials {
  /// The owner of an emulator's data.
  public static var emulatorOwner: EmulatorOwnerCredentials { .shared }
}
