/// Proves that requests come from a genuine copy of the app: a source of App Check tokens for ``FirestoreSettings/appCheck``.
///
/// ```swift
/// settings.appCheck = FirestoreAppCheck { forcingRefresh in
///   try await fetchAppCheckToken(ignoringCache: forcingRefresh)
/// }
/// ```
///
/// When a token cannot be fetched, or has characters that a header cannot carry, requests are made without one after a warning in the log;
/// whether the backend accepts them depends on the project's enforcement. (firebase-ios-sdk
/// firebase_app_check_credentials_provider_apple.mm, GetToken, does not fail requests for it either.)
public final class FirestoreAppCheck: Sendable {
  /// Fetches the token, or returns nil or an empty one for none.
  ///
  /// It is called whenever a stream is opened or a call is made, so keep the token while it is valid; concurrent requests share one call.
  /// After a minute without an answer it counts as failed.
  ///
  /// - Parameter forcingRefresh: True if the backend refused a request made with the last token.
  public typealias Provider = @Sendable (_ forcingRefresh: Bool) async throws -> String?

  let provider: Provider

  /// Makes a source of tokens.
  ///
  /// - Parameter provider: Fetches the token.
  public init(provider: @escaping Provider) {
    self.provider = provider
  }
}
