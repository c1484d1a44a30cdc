internal import Foundation
internal import HearthRPC
package import Logging
internal import Synchronization

/// The keys of an issuer, read again when they are old, when their file changes, and when a token names one that is not there.
///
/// Keys stay in use as long as newer ones cannot be read. Requests share one reading.
package final class TokenKeys: Sendable {
  /// One reading of the keys.
  struct Release: Sendable {
    var keys: TokenKeySet
    /// Grows with each change of the keys. A token that was verified with the keys of another release is verified again.
    var number: Int
    fileprivate var maximumAge: Duration
  }

  private struct State {
    var release: Release?
    var failure: String?
    var refresh: KeyRefresh
    var reading: Task<Void, Never>?
  }

  private let source: any TokenKeySource
  private let clock: TokenClock
  private let logger: Logger
  private let state: Mutex<State>

  package init(_ source: any TokenKeySource, clock: TokenClock = .system, logger: Logger) {
    self.source = source
    self.clock = clock
    self.logger = logger
    state = Mutex(State(refresh: KeyRefresh(isLocal: source.isLocal)))
  }

  /// Keys that do not change.
  convenience init(_ keys: TokenKeySet, logger: Logger) {
    self.init(UnchangingSource(), logger: logger)
    let now = clock.steady()
    state.withLock { state in
      state.release = Release(keys: keys, number: 1, maximumAge: UnchangingSource.maximumAge)
      state.refresh.succeeded(at: now, maximumAge: UnchangingSource.maximumAge)
    }
  }

  private static let maximumSecretBytes = 64 << 10

  /// A secret that an issuer shares with this server, which signs with HS256: the contents of a file without white space at its ends.
  ///
  /// - Throws: `TokenKeyError` for a file that cannot be read, or a secret of less than 32 bytes (RFC 7518, 3.2).
  package static func secret(inFile path: String, logger: Logger) async throws(TokenKeyError) -> TokenKeys {
    TokenKeys(TokenKeySet([try await secretKey(inFile: path)]), logger: logger)
  }

  static func secretKey(inFile path: String) async throws(TokenKeyError) -> TokenKey {
    let source = "The file \"\(path)\""
    let text: String
    do {
      text = try BoundedFile(path: path, maximumBytes: maximumSecretBytes).text()
    } catch {
      throw TokenKeyError("\(source) \(error)")
    }
    let secret = Array(text.trimmingCharacters(in: .whitespacesAndNewlines).utf8)
    guard secret.count >= 32 else {
      throw TokenKeyError("\(source): the secret has \(secret.count) bytes, but must have at least 32")
    }
    guard let key = try? await TokenKey.secret(secret) else { throw TokenKeyError("\(source) is not a secret") }
    return key
  }

  /// Reads the keys for the first time.
  ///
  /// - Throws: `TokenKeyError` if there are none.
  package func load() async throws(TokenKeyError) {
    await read(if: { $0.isDue(at: $1) })
    let (release, failure) = state.withLock { ($0.release, $0.failure) }
    if release == nil { throw TokenKeyError(failure ?? "\(source.name) was not read") }
  }

  /// The fate of the keys that a token was verified with.
  enum Standing: Equatable {
    case present
    case replaced
    /// The keys are in a file at which it is time to look: ``TokenKeys/lookIfLocal()``.
    case toBeConfirmed
  }

  /// Says without waiting whether a release is the present one. A reading from elsewhere that is due begins, and until it ends the keys that
  /// are there are used.
  func standing(ofRelease number: Int) -> Standing {
    let (isDue, isReading, present) = state.withLock { state in
      (state.refresh.isDue(at: clock.steady()), state.refresh.isReading, state.release?.number)
    }
    if source.isLocal {
      if isDue || isReading { return .toBeConfirmed }
    } else if isDue {
      lookInBackground()
    }
    return present == number ? .present : .replaced
  }

  /// Looks at the file of the keys if it is time for it.
  func lookIfLocal() async {
    if source.isLocal { await read(if: { $0.isDue(at: $1) }) }
  }

  private func lookInBackground() {
    Task { await read(if: { $0.isDue(at: $1) }) }
  }

  /// The keys that may have signed a token.
  ///
  /// - Throws: `TokenError` if there are none, or nobody knows.
  func candidates(for token: Token) async throws(TokenError) -> (keys: [TokenKey], release: Int) {
    let waits = state.withLock { $0.release == nil } || source.isLocal
    if waits {
      await read(if: { $0.isDue(at: $1) })
    } else if state.withLock({ $0.refresh.isDue(at: clock.steady()) }) {
      lookInBackground()
    }
    if let known = present(for: token), !known.keys.isEmpty { return known }
    await read(if: { $0.mayLookForKey(at: $1) })
    guard let known = present(for: token) else {
      throw TokenError("the keys of its issuer cannot be had at the moment", kind: .keysUnavailable)
    }
    guard !known.keys.isEmpty else {
      guard let id = token.keyID else {
        throw TokenError(
          "its header names no key (kid), and its issuer has no key without an id for \(token.algorithm.rawValue)")
      }
      throw TokenError("its key \(id.prefix(100)) is not among those of its issuer for \(token.algorithm.rawValue)")
    }
    return known
  }

  private func present(for token: Token) -> (keys: [TokenKey], release: Int)? {
    state.withLock { $0.release }.map { ($0.keys.candidates(for: token), $0.number) }
  }

  // MARK: - Reading

  /// Reads the keys if a condition holds, or waits for the reading that is in progress.
  private func read(if isWanted: (KeyRefresh, ContinuousClock.Instant) -> Bool) async {
    let reading = state.withLock { state -> Task<Void, Never>? in
      if state.refresh.isReading { return state.reading }
      guard isWanted(state.refresh, clock.steady()) else { return nil }
      state.refresh.begin(at: clock.steady())
      let task = Task { await self.readNow() }
      state.reading = task
      return task
    }
    await reading?.value
  }

  private func readNow() async {
    do {
      let text = try await source.read()
      var keys: TokenKeySet?
      if let text { keys = try await TokenKeySet(reading: text.text, from: source.name) }
      succeeded(with: keys, maximumAge: text?.maximumAge)
    } catch {
      failed(error)
    }
  }

  /// - Parameters:
  ///   - keys: Nil if they have not changed.
  ///   - maximumAge: Nil if it has not changed.
  private func succeeded(with keys: TokenKeySet?, maximumAge: Duration?) {
    let now = clock.steady()
    let number = state.withLock { state -> Int? in
      defer { state.reading = nil }
      if let maximumAge { state.release?.maximumAge = maximumAge }
      if let keys {
        state.release = Release(
          keys: keys, number: (state.release?.number ?? 0) + 1, maximumAge: maximumAge ?? .seconds(1))
        state.failure = nil
      }
      state.refresh.succeeded(at: now, maximumAge: state.release?.maximumAge ?? .seconds(1))
      return keys == nil ? nil : state.release?.number
    }
    if let number, number > 1 {
      logger.info("the keys of tokens were read again", metadata: ["source": .escaped(source.name)])
    }
  }

  private func failed(_ error: any Error) {
    let (isNew, hasKeys) = state.withLock { state in
      defer { state.reading = nil }
      state.refresh.failed(at: clock.steady())
      let isNew = state.failure != "\(error)"
      state.failure = "\(error)"
      return (isNew, state.release != nil)
    }
    guard isNew else { return }
    logger.error(
      hasKeys
        ? "the keys of tokens stay as they are"
        : "no tokens of an issuer can be verified, because its keys are missing",
      metadata: ["error": .escaped("\(error)")])
  }
}

/// The source of keys that were given as they are.
private struct UnchangingSource: TokenKeySource {
  static let maximumAge = Duration.seconds(24 * 3_600)

  let name = "The key"
  let isLocal = true

  func read() -> TokenKeyText? { nil }
}
