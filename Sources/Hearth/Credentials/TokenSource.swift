internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthTransport
internal import Synchronization

/// Adapts credentials to the transport: lets concurrent requests share one fetch, remembers that the last token was refused, and keeps
/// tokens out of errors.
///
/// Providers belong to the app: one that neither answers nor heeds its cancellation must not hold a stream or the end of the client. So
/// each fetch has a time limit, and a cancelled request stops waiting for it.
final class TokenSource: CredentialsProvider, CustomReflectable {
  /// The answer of a provider.
  struct Fetched: Sendable {
    var token: AccessToken?
    /// The user of the token, where that matters.
    var user: RequestUser?
  }

  typealias Fetch = @Sendable (_ forcingRefresh: Bool) async throws -> Fetched

  /// A call of the provider that has not ended.
  private struct Fetching {
    let isForced: Bool
    let epoch: Int
    var waiters: [Int: Outcome<Fetched>] = [:]
    var tasks: [Task<Void, Never>] = []
  }

  private struct State {
    /// The backend refused `lastToken`, and no fetch that takes this into account has begun.
    var isRefused = false
    var lastToken: AccessToken?
    /// By number. Only the newest one takes further waiters.
    var fetches: [Int: Fetching] = [:]
    var newestFetch = 0
    var lastWaiter = 0
  }

  private let name: String
  private let limit: Duration
  private let epoch: @Sendable () -> Int
  private let fetch: Fetch
  private let state = Mutex(State())

  /// - Parameters:
  ///   - name: The name of the token in messages.
  ///   - limit: The time limit of fetching.
  ///   - epoch: Requests of different epochs do not share a fetch.
  init(
    name: String, limit: Duration = .seconds(60), epoch: @escaping @Sendable () -> Int = { 0 }, fetch: @escaping Fetch
  ) {
    self.name = name
    self.limit = limit
    self.epoch = epoch
    self.fetch = fetch
  }

  /// - Throws: `aborted` when the token is not that of ``RequestUser/current``, the provider's error as a `StatusError`, or `unavailable`
  ///   when it does not answer in time.
  func token() async throws -> AccessToken? {
    let (number, waiter, outcome) = join()
    defer { leave(number, waiter) }
    let fetched = try await outcome.value()
    if let user = fetched.user, let expected = RequestUser.current, user != expected {
      throw StatusError(code: .aborted, message: RequestUser.changed)
    }
    return fetched.token
  }

  func invalidate(_ token: AccessToken?) {
    state.withLock { state in
      // A request that was refused with an older token only needs the newer one.
      guard state.lastToken == token, state.fetches[state.newestFetch]?.isForced != true else { return }
      state.isRefused = true
    }
  }

  /// The number of requests that wait for a token.
  var waiterCount: Int { state.withLock { $0.fetches.values.reduce(0) { $0 + $1.waiters.count } } }

  /// Shows the purpose, and no token.
  var customMirror: Mirror { Mirror(self, children: ["name": name, "waiterCount": waiterCount]) }

  // MARK: - Sharing

  private func join() -> (number: Int, waiter: Int, Outcome<Fetched>) {
    let epoch = epoch()
    let outcome = Outcome<Fetched>()
    let (number, waiter, begins) = state.withLock { state -> (Int, Int, isForced: Bool?) in
      var begins: Bool?
      if let newest = state.fetches[state.newestFetch], newest.epoch == epoch, newest.isForced || !state.isRefused {
        begins = nil
      } else {
        begins = state.isRefused
        state.newestFetch += 1
        state.fetches[state.newestFetch] = Fetching(isForced: state.isRefused, epoch: epoch)
        state.isRefused = false
      }
      state.lastWaiter += 1
      state.fetches[state.newestFetch]?.waiters[state.lastWaiter] = outcome
      return (state.newestFetch, state.lastWaiter, begins)
    }
    if let isForced = begins { begin(number, isForced: isForced) }
    return (number, waiter, outcome)
  }

  private func begin(_ number: Int, isForced: Bool) {
    let fetching = Task { [fetch] in
      do {
        end(number, .success(try await fetch(isForced)))
      } catch {
        end(number, .failure(error))
      }
    }
    let timer = Task { [name, limit] in
      guard (try? await Task.sleep(for: limit)) != nil else { return }
      let message = "The \(name) cannot be fetched: nothing came within \(limit)."
      end(number, .failure(StatusError(code: .unavailable, message: message)))
    }
    let isOver = state.withLock { state in
      state.fetches[number]?.tasks = [fetching, timer]
      return state.fetches[number] == nil
    }
    if isOver { for task in [fetching, timer] { task.cancel() } }
  }

  private func end(_ number: Int, _ result: Result<Fetched, any Error>) {
    let fetching = state.withLock { state -> Fetching? in
      guard let fetching = state.fetches.removeValue(forKey: number) else { return nil }
      if number == state.newestFetch {
        switch result {
        case .success(let fetched): state.lastToken = fetched.token
        // A provider that failed to fetch another token may still keep the refused one.
        case .failure: if fetching.isForced { state.isRefused = true }
        }
      }
      return fetching
    }
    guard let fetching else { return }
    let outcome = result.mapError { status(of: $0) }
    for task in fetching.tasks { task.cancel() }
    for waiter in fetching.waiters.values { waiter.resolve(outcome) }
  }

  /// Cancels a fetch when the last request stops waiting for it.
  private func leave(_ number: Int, _ waiter: Int) {
    let abandoned = state.withLock { state -> Fetching? in
      state.fetches[number]?.waiters[waiter] = nil
      guard let fetching = state.fetches[number], fetching.waiters.isEmpty else { return nil }
      state.fetches[number] = nil
      if fetching.isForced, number == state.newestFetch { state.isRefused = true }
      return fetching
    }
    for task in abandoned?.tasks ?? [] { task.cancel() }
  }

  // MARK: - Errors

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
        message: "The \(name) cannot be fetched: \(SecretText.hidden(in: Self.text(of: error), secrets: secrets))")
    }
    return StatusError(code: code, message: SecretText.hidden(in: cocoa.localizedDescription, secrets: secrets))
  }

  /// Returns the text of an error. The user info of system errors is left out: it holds whole requests, whose addresses may carry keys and
  /// refresh tokens.
  private static func text(of error: any Error) -> String {
    if error is any LocalizedError || error is any CustomNSError || type(of: error) is NSError.Type {
      let cocoa = error as NSError
      return "\(cocoa.localizedDescription) (\(cocoa.domain) \(cocoa.code))"
    }
    return "\(error)"
  }
}

/// The identity for which a request is made.
///
/// The client's loop passes requests to the transport and knows the user at that point of the order of calls. The token is fetched later,
/// when another user may have signed in. A request of one user must not be made as another.
struct RequestUser: Sendable, Hashable {
  /// The requests that are begun inside have this user; nil where users play no part.
  @TaskLocal static var current: RequestUser?

  static let changed = "The user changed while the request was prepared."

  /// The name of the identity in the cache, `OutboxOwner.name`; nil if no user is signed in.
  let name: String?

  init(name: String?) {
    self.name = name
  }

  /// - Parameter id: The id of a user; nil or empty if none is signed in.
  init(_ id: String?) {
    name = id.flatMap { $0.isEmpty ? nil : OutboxOwner.user($0).name }
  }

  /// The id of the user; nil if none is signed in, and for an identity that is no user.
  var id: String? { OutboxOwner(name: name).userID }

  /// By bytes, as the cache does: Swift's `==` of strings also unites composed and decomposed characters.
  static func == (a: RequestUser, b: RequestUser) -> Bool {
    switch (a.name, b.name) {
    case (nil, nil): true
    case (let a?, let b?): a.utf8.elementsEqual(b.utf8)
    default: false
    }
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(name.map { Array($0.utf8) })
  }
}

/// Adapts App Check tokens to the transport: requests are sent without a token that cannot be fetched or sent.
struct AppCheckSource: CredentialsProvider {
  private let tokens: TokenSource

  init(_ appCheck: FirestoreAppCheck) {
    tokens = TokenSource(name: "App Check token") { forcingRefresh in
      TokenSource.Fetched(token: try await appCheck.provider(forcingRefresh).map { AccessToken($0) })
    }
  }

  func token() async throws -> AccessToken? {
    do {
      guard let token = try await tokens.token(), !token.value.isEmpty else { return nil }
      guard let fault = token.headerFault else { return token }
      HearthLog.warning("Sending the request without App Check: the App Check token \(fault).")
      return nil
    } catch {
      // A provider may throw that, too, although the request was not cancelled.
      if Task.isCancelled { throw error }
      HearthLog.warning("Sending the request without App Check: \((error as? StatusError)?.message ?? "\(error)")")
      return nil
    }
  }

  func invalidate(_ token: AccessToken?) { tokens.invalidate(token) }
}
