internal import HearthModel
internal import Synchronization

/// Fetches the tokens of calls. Providers belong to the app and may be silent: a fetch ends with the time of its call, and all end with the
/// transport.
final class TokenFetches: Sendable {
  private struct State {
    var running: [UInt64: Task<RequestTokens, any Error>] = [:]
    var lastNumber: UInt64 = 0
    var isClosed = false
  }

  private let state = Mutex(State())

  /// - Throws: The error of the credentials; `deadlineExceeded` if there is no answer in time; `CancellationError` if the task is cancelled, or
  ///   after ``close()``.
  func tokens(
    _ configuration: TransportConfiguration, until end: ContinuousClock.Instant
  ) async throws -> RequestTokens {
    let fetch = Task { try await RequestTokens(configuration) }
    let number = state.withLock { state in
      if state.isClosed { fetch.cancel() }
      state.lastNumber += 1
      state.running[state.lastNumber] = fetch
      return state.lastNumber
    }
    let timer = Task {
      try await Task.sleep(until: end, clock: .continuous)
      fetch.cancel()
    }
    defer {
      timer.cancel()
      state.withLock { _ = $0.running.removeValue(forKey: number) }
    }
    do {
      return try await withTaskCancellationHandler {
        try await fetch.value
      } onCancel: {
        fetch.cancel()
      }
    } catch {
      // A provider's own error may come at the same moment.
      if state.withLock({ $0.isClosed }) { throw CancellationError() }
      guard ContinuousClock.now < end else {
        throw StatusError(code: .deadlineExceeded, message: "The provider of a token has not answered in time.")
      }
      throw error
    }
  }

  /// Cancels all fetches, also those that begin later.
  func close() {
    state.withLock { state in
      state.isClosed = true
      for fetch in state.running.values { fetch.cancel() }
    }
  }
}
