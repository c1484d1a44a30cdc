#if PostgreSQL
  /// Keeps a pool from asking a server that is gone for a session on behalf of each caller.
  ///
  /// | state | an attempt |
  /// |---|---|
  /// | working | is made |
  /// | failed | waits for the end of the pause. Then one is made, and the others fail until it has ended |
  struct OpeningPause {
    private enum State {
      case working
      case failed(any Error, failures: Int, until: ContinuousClock.Instant, isTrying: Bool)
    }

    private var state = State.working

    /// - Returns: The error of the last attempt if none must be made now.
    mutating func begin(at now: ContinuousClock.Instant) -> (any Error)? {
      switch state {
      case .working: return nil
      case .failed(let error, let failures, let end, let isTrying):
        guard !isTrying, now >= end else { return error }
        state = .failed(error, failures: failures, until: end, isTrying: true)
        return nil
      }
    }

    /// The error of the last attempt; nil if it has succeeded.
    var error: (any Error)? {
      if case .failed(let error, _, _, _) = state { error } else { nil }
    }

    /// An attempt has succeeded.
    mutating func succeed() { state = .working }

    /// An attempt has failed, or was given up by its caller.
    ///
    /// - Parameters:
    ///   - error: Nil if the attempt says nothing about the server.
    ///   - jitter: From 0 to 1: pools that have failed together do not try again together.
    mutating func fail(_ error: (any Error)?, at now: ContinuousClock.Instant, jitter: Double) {
      switch (state, error) {
      case (.working, nil): break
      case (.working, let error?):
        state = .failed(error, failures: 1, until: now + Self.pause(after: 1, jitter), isTrying: false)
      case (.failed(let last, let failures, _, _), let error):
        state = .failed(
          error ?? last, failures: failures + 1, until: now + Self.pause(after: failures + 1, jitter), isTrying: false)
      }
    }

    /// Doubled with each failure, and of that at least a half.
    static func pause(after failures: Int, _ jitter: Double) -> Duration {
      let factor = 1 << min(max(failures - 1, 0), 20)
      let full = min(PostgresPool.shortestPause * factor, PostgresPool.longestPause)
      return full * (0.5 + jitter / 2)
    }
  }
#endif
