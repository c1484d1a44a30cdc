#if ServiceAccounts
  public import Foundation
  internal import HearthModel
  internal import HearthTransport

  /// Identifies a Google service account, which is not subject to security rules.
  ///
  /// ```swift
  /// let settings = Firestore.firestore().settings
  /// settings.credentials = try ServiceAccountCredentials(contentsOfFile: "/etc/my-server/firestore.json")
  /// Firestore.firestore().settings = settings
  /// ```
  ///
  /// The key of such an account belongs on servers, never in an app. To use it without code, name the file in the environment variable
  /// `GOOGLE_APPLICATION_CREDENTIALS`; see ``FirestoreSettings/credentials``.
  ///
  /// The account signs its tokens itself (RS256, for the audience `https://firestore.googleapis.com/` only, valid for an hour by this
  /// machine's clock) and replaces them five minutes before they expire; it needs no other service. To a backend without TLS, an emulator,
  /// the account sends the emulator owner's token instead, as the official server SDKs do: no signed token is ever sent unencrypted.
  ///
  /// A package that needs no service accounts can leave this class out by disabling the package trait `ServiceAccounts`, which is on by
  /// default.
  public final class ServiceAccountCredentials: FirestoreCredentials, CustomReflectable {
    private let tokens: ServiceAccountTokens
    /// The account's address, for example `"server@my-project.iam.gserviceaccount.com"`.
    public let clientEmail: String
    /// The project that the account belongs to, if its file says so.
    public let projectID: String?

    /// Reads the JSON file that the Google Cloud console provides for a service account.
    ///
    /// - Parameter path: The file, of 64 KiB at most. Its key is an RSA key of at least 2048 bits in PEM form.
    /// - Throws: An `NSError` of ``FirestoreErrorDomain``: `failedPrecondition` when the file cannot be read, `invalidArgument` when
    ///   it is not the file of a service account. The message names the file and the member and never contains the key.
    public convenience init(contentsOfFile path: String) throws {
      try self.init(contentsOfFile: path, now: { Date() })
    }

    /// Reads the contents of such a file, for example from a secret store.
    ///
    /// - Parameter json: The whole JSON object, UTF-8.
    /// - Throws: An `NSError` of ``FirestoreErrorDomain`` (`invalidArgument`) that names the member and never contains the key.
    public convenience init(json: Data) throws {
      do {
        self.init(try ServiceAccount(json: json, source: "Service account"), now: { Date() })
      } catch {
        throw NSError.firestore(error)
      }
    }

    convenience init(contentsOfFile path: String, now: @escaping @Sendable () -> Date) throws {
      do {
        self.init(try ServiceAccount(contentsOfFile: path), now: now)
      } catch {
        throw NSError.firestore(error)
      }
    }

    private init(_ account: ServiceAccount, now: @escaping @Sendable () -> Date) {
      clientEmail = account.email
      projectID = account.projectID
      tokens = ServiceAccountTokens(account, now: now)
    }

    /// Shows the account's address and project, and no key.
    public var customMirror: Mirror {
      Mirror(self, children: ["clientEmail": clientEmail, "projectID": projectID as Any])
    }

    /// Returns the present token, or a new one if it is about to expire.
    ///
    /// - Parameter forcingRefresh: True to sign a new token even if the kept one is still valid.
    /// - Throws: An `NSError` of ``FirestoreErrorDomain`` (`internal`) when the key cannot sign.
    public func accessToken(forcingRefresh: Bool) async throws -> String? {
      do {
        return try await tokens.token(forcingRefresh: forcingRefresh)
      } catch {
        throw NSError.firestore(error)
      }
    }
  }
#endif
