public import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthStore
internal import HearthSync

/// The domain of the errors that operations deliver: `"FIRFirestoreErrorDomain"`, as in the official SDK.
///
/// Other errors are `CancellationError` (a cancelled task), `DecodingError` and `EncodingError`, and the errors that an application's
/// Codable types throw.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let FirestoreErrorDomain = "FIRFirestoreErrorDomain"

/// An error of ``FirestoreErrorDomain`` with its code.
///
/// Errors arrive as `NSError`s of that domain on every platform and can also be caught as this type, so all of these work:
///
/// ```swift
/// do {
///   let snapshot = try await city.getDocument()
///   print(snapshot.exists)
/// } catch FirestoreErrorCode.unavailable {
///   // offline, and the document is not in the cache
/// } catch let error as FirestoreErrorCode where error.code == .permissionDenied {
///   print(error.localizedDescription)
/// } catch {
///   print((error as NSError).code == FirestoreErrorCode.notFound.rawValue)
/// }
/// ```
public struct FirestoreErrorCode: Error, CustomNSError, Hashable, Sendable {
  /// The kind of error, with the numbers of the official SDK (which are those of gRPC).
  public enum Code: Int, Sendable, Hashable {
    /// No error. The official name is in capitals; ``ok`` is the same value.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    case OK = 0
    /// The operation was cancelled, for example because the user changed or the client was terminated.
    case cancelled = 1
    /// An error of another domain, or one without a better code.
    case unknown = 2
    /// An argument is wrong whatever the state of the system.
    case invalidArgument = 3
    /// No answer came in time. The operation may have succeeded.
    case deadlineExceeded = 4
    /// A document that must exist does not, for example in `updateData`.
    case notFound = 5
    /// A document that must not exist does.
    case alreadyExists = 6
    /// The backend's rules refuse the operation.
    case permissionDenied = 7
    /// A quota is used up, or the device has no space left for the cache.
    case resourceExhausted = 8
    /// The system is not in the state the operation needs: an index is missing, or the cache cannot be used.
    case failedPrecondition = 9
    /// The operation conflicted with a concurrent one.
    case aborted = 10
    /// The operation was attempted past the valid range.
    case outOfRange = 11
    /// The backend does not support the operation.
    case unimplemented = 12
    /// A broken invariant in the backend or in this library.
    case `internal` = 13
    /// The backend cannot be reached at the moment, and the cache has no answer. Trying again later may help.
    case unavailable = 14
    /// Data was lost beyond recovery, for example in a damaged cache file.
    case dataLoss = 15
    /// The backend asks for valid credentials.
    case unauthenticated = 16

    /// The same value as ``OK``.
    public static var ok: Code { .OK }

    /// Lets `catch FirestoreErrorCode.unavailable` and `case FirestoreErrorCode.unavailable:` match errors of this domain.
    public static func ~= (code: Code, error: any Error) -> Bool {
      let error = error as NSError
      return error.domain == FirestoreErrorDomain && error.code == code.rawValue
    }
  }

  /// The error as an `NSError`, under the name that error types have on Apple platforms.
  public let _nsError: NSError

  /// Wraps an error of ``FirestoreErrorDomain``; an error of another domain is a programming error. If the domain is unknown, use `error
  /// as? FirestoreErrorCode`.
  public init(_nsError error: NSError) {
    requireValid { () throws(ProgrammingError) in try FirestoreErrorCode.validate(domain: error.domain) }
    _nsError = error
  }

  /// Makes an error with a code and, if wanted, entries for `NSError.userInfo`.
  public init(_ code: Code, userInfo: [String: Any] = [:]) {
    _nsError = NSError(domain: FirestoreErrorDomain, code: code.rawValue, userInfo: userInfo)
  }

  /// The kind of error: ``Code/unknown`` for a number that is not in ``Code``.
  public var code: Code { Code(rawValue: _nsError.code) ?? .unknown }
  /// ``FirestoreErrorDomain``.
  public static var errorDomain: String { FirestoreErrorDomain }
  /// The error's number, that of ``code``.
  public var errorCode: Int { _nsError.code }
  /// The details of the error, such as the message under `NSLocalizedDescriptionKey`.
  public var errorUserInfo: [String: Any] { _nsError.userInfo }
  /// The same as ``errorUserInfo``.
  public var userInfo: [String: Any] { _nsError.userInfo }
  /// The message.
  public var localizedDescription: String { _nsError.localizedDescription }

  /// Two errors are equal when the `NSError`s are.
  public static func == (a: FirestoreErrorCode, b: FirestoreErrorCode) -> Bool { a._nsError.isEqual(b._nsError) }

  /// Hashes the number. (Outside Apple platforms, asking an `NSError` for its hash stops the process.)
  public func hash(into hasher: inout Hasher) { hasher.combine(errorCode) }

  static func validate(domain: String) throws(ProgrammingError) {
    guard domain == FirestoreErrorDomain else {
      throw ProgrammingError("FirestoreErrorCode stands for errors of \(FirestoreErrorDomain), not of \(domain).")
    }
  }

  /// No error.
  // swift-format-ignore: AlwaysUseLowerCamelCase
  public static var OK: Code { .OK }
  /// No error.
  public static var ok: Code { .OK }
  /// See ``Code/cancelled``.
  public static var cancelled: Code { .cancelled }
  /// See ``Code/unknown``.
  public static var unknown: Code { .unknown }
  /// See ``Code/invalidArgument``.
  public static var invalidArgument: Code { .invalidArgument }
  /// See ``Code/deadlineExceeded``.
  public static var deadlineExceeded: Code { .deadlineExceeded }
  /// See ``Code/notFound``.
  public static var notFound: Code { .notFound }
  /// See ``Code/alreadyExists``.
  public static var alreadyExists: Code { .alreadyExists }
  /// See ``Code/permissionDenied``.
  public static var permissionDenied: Code { .permissionDenied }
  /// See ``Code/resourceExhausted``.
  public static var resourceExhausted: Code { .resourceExhausted }
  /// See ``Code/failedPrecondition``.
  public static var failedPrecondition: Code { .failedPrecondition }
  /// See ``Code/aborted``.
  public static var aborted: Code { .aborted }
  /// See ``Code/outOfRange``.
  public static var outOfRange: Code { .outOfRange }
  /// See ``Code/unimplemented``.
  public static var unimplemented: Code { .unimplemented }
  /// See ``Code/internal``.
  public static var `internal`: Code { .internal }
  /// See ``Code/unavailable``.
  public static var unavailable: Code { .unavailable }
  /// See ``Code/dataLoss``.
  public static var dataLoss: Code { .dataLoss }
  /// See ``Code/unauthenticated``.
  public static var unauthenticated: Code { .unauthenticated }
}

// With these, `error as? FirestoreErrorCode` and `catch let error as FirestoreErrorCode` find the `NSError`s of the domain, as
// they do with the error types that the compiler imports on Apple platforms.
#if canImport(ObjectiveC)
  extension FirestoreErrorCode: _ObjectiveCBridgeableError {
    /// nil for an error of another domain.
    public init?(_bridgedNSError error: NSError) {
      guard error.domain == FirestoreErrorDomain else { return nil }
      _nsError = error
    }
  }
#else
  extension FirestoreErrorCode: _ObjectiveCBridgeable {
    /// The error as an `NSError`.
    public func _bridgeToObjectiveC() -> NSError { _nsError }

    /// Wraps an error of the domain; an error of another domain is a programming error.
    public static func _forceBridgeFromObjectiveC(_ source: NSError, result: inout FirestoreErrorCode?) {
      result = FirestoreErrorCode(_nsError: source)
    }

    /// Wraps an error of the domain; returns false for another error.
    public static func _conditionallyBridgeFromObjectiveC(
      _ source: NSError, result: inout FirestoreErrorCode?
    ) -> Bool {
      guard source.domain == FirestoreErrorDomain else { return false }
      result = FirestoreErrorCode(_nsError: source)
      return true
    }

    /// Wraps an error of the domain; an error of another domain is a programming error, and nil becomes ``Code/unknown``.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSError?) -> FirestoreErrorCode {
      source.map(FirestoreErrorCode.init(_nsError:)) ?? FirestoreErrorCode(.unknown)
    }
  }
#endif

extension NSError {
  /// The error as it crosses the public API: a real `NSError` of the official domain, so that `catch let error as NSError`
  /// matches on every platform.
  ///
  /// - Parameter reason: A detail that the official message lacks, such as the document's path.
  static func firestore(
    _ code: FirestoreErrorCode.Code, _ message: String, reason: String? = nil, underlying: (any Error)? = nil
  ) -> NSError {
    var userInfo: [String: Any] = [NSLocalizedDescriptionKey: message]
    if let reason { userInfo[NSLocalizedFailureReasonErrorKey] = reason }
    if let underlying { userInfo[NSUnderlyingErrorKey] = underlying as NSError }
    return NSError(domain: FirestoreErrorDomain, code: code.rawValue, userInfo: userInfo)
  }

  /// A read that only the server can answer was made while the network is disabled.
  static var notAnsweredByServer: NSError { firestore(.unavailable, "Failed to get result from server.") }

  static func firestore(_ status: StatusError) -> NSError {
    firestore(FirestoreErrorCode.Code(status.code), status.message, underlying: status)
  }

  /// Translates any error of the modules below, with the code that tells the caller how to react.
  static func firestore(_ error: any Error) -> NSError {
    switch error {
    case let status as StatusError: return firestore(status)
    case let store as StoreError:
      return firestore(FirestoreErrorCode.Code(store.statusCode), store.message, underlying: store)
    case let cache as CacheError:
      return firestore(FirestoreErrorCode.Code(cache.statusCode), cache.description, underlying: cache)
    default:
      let error = error as NSError
      return error.domain == FirestoreErrorDomain ? error : firestore(.internal, "\(error)", underlying: error)
    }
  }
}

extension NSError {
  /// A read that the server did not answer. The failure reason says why, and the underlying error is that of the last attempt to reach the
  /// server, if there was one.
  ///
  /// - Parameter reason: Details besides the cause.
  static func unanswered(_ message: String, _ obstacle: OutboxObstacle?, reason: String? = nil) -> NSError {
    let (cause, error): (String, StatusError?) =
      switch obstacle {
      case .networkDisabled: ("The network is disabled (disableNetwork()).", nil)
      case .cacheFailure: ("The cache cannot be read or written at present; the log says why.", nil)
      case .offline(let error?): ("The last attempt to reach the backend failed: \(error.message)", error)
      case .offline(nil): ("The backend has not answered in time.", nil)
      case nil: ("The backend has not confirmed everything in the result.", nil)
      }
    let reasons = [reason, cause].compactMap(\.self)
    return firestore(.unavailable, message, reason: reasons.joined(separator: " "), underlying: error)
  }
}

extension NSError {
  /// Translates an error of opening or clearing a cache: a folder in use elsewhere needs another set-up, waiting does not help.
  static func firestore(opening error: any Error) -> NSError {
    guard let store = error as? StoreError, store.kind == .unavailable else { return firestore(error) }
    return firestore(.failedPrecondition, store.message, underlying: store)
  }
}

extension NSError {
  /// Translates an error for ``Firestore/enablePersistence(directory:synchronizeProcesses:forceOwnership:completion:)``:
  /// `failedPrecondition` for a cache in use elsewhere, `unimplemented` for a place where no cache can be stored.
  static func firestore(persistence error: any Error) -> NSError {
    guard let store = error as? StoreError else { return firestore(error) }
    switch store.kind {
    case .cannotOpen, .readOnly, .full, .io: return firestore(.unimplemented, store.message, underlying: store)
    default: return firestore(opening: store)
    }
  }
}

extension FirestoreErrorCode.Code {
  /// The public name of a status code; their numbers are the same.
  init(_ code: StatusCode) { self = Self(rawValue: code.rawValue) ?? .unknown }
}
