internal import Foundation
internal import HearthCache
internal import HearthTransport

/// The credentials of a client, fixed at its start.
struct ClientCredentials: Sendable {
  var access: any CredentialsProvider = NoCredentials()
  var appCheck: any CredentialsProvider = NoCredentials()
  /// The credentials whose changes of user the client follows.
  var users: IDTokenCredentials?
  /// The identity at the start, which only changes with ``users``. It says whose outbox takes the writes, whatever tokens are sent.
  var initialUser = RequestUser(name: nil)

  init() {}

  /// - Throws: An `NSError` when `GOOGLE_APPLICATION_CREDENTIALS` is used and its file is not a service account's.
  init(_ settings: SettingsValues, endpoint: Endpoint, environment: [String: String]) throws {
    if let appCheck = settings.appCheck {
      self.appCheck = AppCheckSource(appCheck)
      Self.warnOfPlaintext("App Check tokens", endpoint)
    }
    let credentials = try settings.credentials ?? Self.automatic(endpoint, environment)
    initialUser = credentials?.requestUser ?? RequestUser(name: nil)
    switch credentials {
    case nil, is AnonymousCredentials:
      break
    case is EmulatorOwnerCredentials:
      access = OwnerCredentials()
    case let credentials? where credentials.isServiceAccount && !endpoint.usesTLS:
      access = OwnerCredentials()
    case let users as IDTokenCredentials:
      self.users = users
      access = TokenSource(name: "ID token", epoch: { users.generation }) { forcingRefresh in
        try await users.fetch(forcingRefresh: forcingRefresh)
      }
      Self.warnOfPlaintext("ID tokens", endpoint)
    case let credentials?:
      access = TokenSource(name: "access token") { forcingRefresh in
        TokenSource.Fetched(
          token: try await credentials.accessToken(forcingRefresh: forcingRefresh).map { AccessToken($0) })
      }
      if !credentials.isServiceAccount { Self.warnOfPlaintext("Access tokens", endpoint) }
    }
  }

  /// Emulators take tokens without TLS, as they do from the official SDKs. Outside this machine the network can read them.
  private static func warnOfPlaintext(_ what: String, _ endpoint: Endpoint) {
    guard !endpoint.usesTLS, !SystemConnectivity.isLoopback(endpoint.host) else { return }
    HearthLog.warning(
      "\(what) are sent to \(endpoint.host):\(endpoint.port) without encryption, because TLS is off for this host.")
  }

  /// The environment's service account, for Google's own backends only: tokens for Firestore must not be sent elsewhere.
  private static func automatic(
    _ endpoint: Endpoint, _ environment: [String: String]
  ) throws -> (any FirestoreCredentials)? {
    guard endpoint.usesTLS, endpoint.isGoogle, let path = environment[serviceAccountVariable], !path.isEmpty else {
      return nil
    }
    do {
      return try serviceAccount(contentsOfFile: path)
    } catch let error as NSError {
      throw NSError.firestore(
        FirestoreErrorCode.Code(rawValue: error.code) ?? .failedPrecondition,
        "Environment variable \(serviceAccountVariable): \(error.localizedDescription)")
    }
  }

  /// The environment variable in which Google's libraries look for a service account's file.
  static let serviceAccountVariable = "GOOGLE_APPLICATION_CREDENTIALS"
}

extension ClientCredentials {
  /// - Throws: An `NSError` when the file is not a service account's, or Hearth was built without service accounts.
  private static func serviceAccount(contentsOfFile path: String) throws -> any FirestoreCredentials {
    #if ServiceAccounts
      return try ServiceAccountCredentials(contentsOfFile: path)
    #else
      throw NSError.firestore(
        .failedPrecondition,
        "\(path) cannot be used, because Hearth was built without its package trait ServiceAccounts. Enable the trait, or set the "
          + "credentials in the settings.")
    #endif
  }

  /// The project that a service account's file names; nil if it names none or cannot be read.
  static func projectID(ofServiceAccountFile path: String) -> String? {
    #if ServiceAccounts
      return try? ServiceAccount(contentsOfFile: path).projectID
    #else
      return nil
    #endif
  }
}

extension FirestoreCredentials {
  /// The identity whose outbox takes the writes.
  fileprivate var requestUser: RequestUser {
    #if ServiceAccounts
      if let account = self as? ServiceAccountCredentials {
        return RequestUser(name: OutboxOwner.serviceAccount(account.clientEmail).name)
      }
    #endif
    return switch self {
    case is AnonymousCredentials: RequestUser(name: nil)
    case is EmulatorOwnerCredentials: RequestUser(name: OutboxOwner.emulatorOwner.name)
    case let users as IDTokenCredentials: RequestUser(users.userID)
    default: RequestUser(name: OutboxOwner.application(outboxName).name)
    }
  }

  fileprivate var isServiceAccount: Bool {
    #if ServiceAccounts
      return self is ServiceAccountCredentials
    #else
      return false
    #endif
  }
}

extension Endpoint {
  /// True if this is Cloud Firestore, worldwide or at one of its locations.
  fileprivate var isGoogle: Bool {
    let host = host.lowercased()
    return host == FirestoreSettings.defaultHost || host.hasSuffix(".googleapis.com")
  }
}
