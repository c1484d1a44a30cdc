internal import Foundation

/// A one-time read that may ask both the cache and the backend, in the order of a ``ReadPolicy``.
///
/// It knows neither documents nor queries; those give it the two sources.
struct PolicyRead<Answer: Sendable>: Sendable {
  struct CachedAnswer: Sendable {
    var answer: Answer
    /// True if there is something in it.
    var hasContent: Bool
    /// True if nothing is missing, as of the last time that the cache heard of it.
    var isComplete: Bool
  }

  enum BackendAnswer: Sendable {
    case answer(Answer)
    /// The client is offline.
    case unreachable
  }

  typealias Completion<Value> = @Sendable (Result<Value, NSError>) -> Void

  /// The name of what is read, for errors.
  let subject: String
  /// Reads the cache; nil if it knows nothing of a document.
  let readCache: @Sendable (@escaping Completion<CachedAnswer?>) -> Void
  /// Asks the backend. The result ends the read early when it is removed, and hears of a caller that does not wait any more.
  let askBackend: @Sendable (@escaping Completion<BackendAnswer>) -> ListenerHandle

  /// - Parameter clock: Measures the deadline.
  nonisolated(nonsending) func answer(
    _ policy: ReadPolicy, clock: some Clock<Duration> = ContinuousClock()
  ) async throws -> Answer {
    switch policy {
    case .server(within: let limit):
      switch try await backendAnswer(within: limit, clock) {
      case .answer(let answer)?: return answer
      case .unreachable?: return try await fallback(orElse: unavailable)
      case nil: return try await fallback(orElse: deadlineExceeded(limit))
      }
    case .cacheFirst:
      let cached = try await cachedAnswer()
      if let cached, cached.hasContent || cached.isComplete { return cached.answer }
      if case .answer(let answer)? = try await backendAnswer(within: nil, clock) { return answer }
      return try await fallback(orElse: unavailable)
    case .cacheElseServer:
      if let cached = try await cachedAnswer(), cached.isComplete { return cached.answer }
      guard case .answer(let answer)? = try await backendAnswer(within: nil, clock) else { throw unavailable }
      return answer
    }
  }

  /// The cache is read only now: while the backend was asked, something may have come into it.
  private nonisolated(nonsending) func fallback(orElse error: NSError) async throws -> Answer {
    guard let cached = try await cachedAnswer() else { throw error }
    return cached.answer
  }

  private nonisolated(nonsending) func cachedAnswer() async throws -> CachedAnswer? {
    let outcome = Outcome<CachedAnswer?>()
    readCache { outcome.resolve($0.mapError { $0 }) }
    return try await outcome.value()
  }

  /// - Returns: Nil when the time is over; the read then goes on without a caller, unless a listener brings what it would bring.
  private nonisolated(nonsending) func backendAnswer(
    within limit: Duration?, _ clock: some Clock<Duration>
  ) async throws -> BackendAnswer? {
    let outcome = Outcome<BackendAnswer?>()
    let registration = askBackend { outcome.resolve($0.map { $0 }.mapError { $0 }) }
    let deadline = limit.map { limit in
      Task {
        if limit > .zero { try await clock.sleep(for: limit) }
        outcome.resolve(.success(nil))
      }
    }
    defer { deadline?.cancel() }
    do {
      let answer = try await outcome.value()
      if answer == nil { registration.abandon() }
      return answer
    } catch {
      registration.remove()
      throw error
    }
  }

  private var unavailable: NSError {
    .firestore(
      .unavailable, "Failed to read \(subject) because the client is offline.",
      reason: "The cache cannot answer for \(subject) either.")
  }

  private func deadlineExceeded(_ limit: Duration) -> NSError {
    .firestore(
      .deadlineExceeded, "The backend did not answer within \(limit) for \(subject).",
      reason: "The cache knows nothing of \(subject) either.")
  }
}
