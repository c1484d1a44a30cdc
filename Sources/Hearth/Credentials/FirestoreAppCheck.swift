/// Proves that requests come from a genuine copy of the app: a source of App Check tokens for ``FirestoreSettings/appCheck``.
///
/// ```swift
/// settings.appCheck = FirestoreAppCheck { forcingRefresh in
///   try await fetchAppCheckToken(ignoringCache: forcingRefresh)
/// }
/// ```
///
/// If a token cannot be fetched, or has characters that are not allowed in a header, the log gets a warning and requests are made without a
/// token. The project's enforcement decides whether the backend accepts them. (firebase-ios-sdk
/// firebase_app_check_credentials_provider_apple.mm, GetToken, does not fail requests for it either.)
public final class FirestoreAppCheck: Sendable {
  /// Fetches the token; nil or an empty token means none.
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
