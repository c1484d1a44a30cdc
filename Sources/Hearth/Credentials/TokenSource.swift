internal import Foundation
internal import HearthModel
internal import HearthTransport
internal import Synchronization

/// Credentials as the transport asks for them: remembers that the last token was refused, and keeps tokens out of errors.
final class TokenSource: CredentialsProvider {
  private struct State {
    var isRefused = false
    var lastToken: AccessToken?
  }

  private let name: String
  private let limit: Duration
  private let fetch: @Sendable (_ forcingRefresh: Bool) async throws -> String?
  private let state = Mutex(State())

  /// - Parameters:
  ///   - name: What messages call the token.
  ///   - limit: How long fetching may take.
  init(
    name: String, limit: Duration = .seconds(60),
    fetch: @escaping @Sendable (_ forcingRefresh: Bool) async throws -> String?
  ) {
    self.name = name
    self.limit = limit
    self.fetch = fetch
  }

  func token() async throws -> AccessToken? {
    let isRefused = state.withLock { state in
      defer { state.isRefused = false }
      return state.isRefused
    }
    do {
      let token = try await fetchInTime(forcingRefresh: isRefused).map { AccessToken($0) }
      state.withLock { $0.lastToken = token }
      return token
    } catch {
      // The refused token may still be kept by whoever failed to fetch another.
      if isRefused { invalidate() }
      throw status(of: error)
    }
  }

  func invalidate() {
    state.withLock { $0.isRefused = true }
  }

  /// Providers are the app's: one that neither answers nor heeds its cancellation must not hold a stream or the end of the client.
  private func fetchInTime(forcingRefresh: Bool) async throws -> String? {
    let outcome = Outcome<String?>()
    let fetching = Task { [fetch] in
      do {
        outcome.resolve(.success(try await fetch(forcingRefresh)))
      } catch {
        outcome.resolve(.failure(error))
      }
    }
    let timer = Task { [name, limit] in
      try await Task.sleep(for: limit)
      let message = "The \(name) cannot be fetched: nothing came within \(limit)."
      outcome.resolve(.failure(StatusError(code: .unavailable, message: message)))
    }
    defer {
      fetching.cancel()
      timer.cancel()
    }
    return try await outcome.value()
  }

  private func status(of error: any Error) -> any Error {
    if error is CancellationError { return error }
    let secrets = state.withLock { $0.lastToken.map { [$0.value] } ?? [] }
    if let error = error as? StatusError {
      return StatusError(code: error.code, message: SecretText.hidden(in: error.message, secrets: secrets))
    }
    let cocoa = error as NSError
    guard cocoa.domain == FirestoreErrorDomain, let code = StatusCode(rawValue: cocoa.code), code != .ok else {
      return StatusError(
        code: .unavailable,
        message: "The \(name) cannot be fetched: \(SecretText.hidden(in: "\(error)", secrets: secrets))")
    }
    return StatusError(code: code, message: SecretText.hidden(in: cocoa.localizedDescription, secrets: secrets))
  }
}

/// App Check tokens as the transport asks for them: requests go without one that cannot be fetched.
struct AppCheckSource: CredentialsProvider {
  private let tokens: TokenSource

  init(_ appCheck: FirestoreAppCheck) {
    tokens = TokenSource(name: "App Check token", fetch: appCheck.provider)
  }

  func token() async throws -> AccessToken? {
    do {
      return try await tokens.token()
    } catch let error as StatusError {
      HearthLog.warning("Asking without App Check: \(error.message)")
      return nil
    }
  }

  func invalidate() { tokens.invalidate() }
}
