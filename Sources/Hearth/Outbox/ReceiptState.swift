internal import Synchronization

/// A result that any number of tasks wait for: resolved once, later resolutions are ignored.
final class SharedOutcome<Success: Sendable>: Sendable {
  private struct State {
    var result: Result<Success, any Error>?
    var waiting: [Int: CheckedContinuation<Success, any Error>] = [:]
    var lastID = 0
    /// Tasks that were cancelled before they came to wait.
    var cancelled: Set<Int> = []
  }

  private let state = Mutex(State())

  /// The result, if there is one.
  var result: Result<Success, any Error>? { state.withLock(\.result) }

  func resolve(_ result: Result<Success, any Error>) {
    let waiting = state.withLock { state -> [CheckedContinuation<Success, any Error>] in
      guard state.result == nil else { return [] }
      state.result = result
      defer { state.waiting = [:] }
      return state.waiting.sorted { $0.key < $1.key }.map(\.value)
    }
    for continuation in waiting { continuation.resume(with: result) }
  }

  /// Waits for the result. A cancelled task gets `CancellationError`; the others go on waiting.
  nonisolated(nonsending) func value() async throws -> Success {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let early = state.withLock { state -> Result<Success, any Error>? in
          if let result = state.result { return result }
          if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
          state.waiting[id] = continuation
          return nil
        }
        if let early { continuation.resume(with: early) }
      }
    } onCancel: {
      let continuation = state.withLock { state -> CheckedContinuation<Success, any Error>? in
        if let continuation = state.waiting.removeValue(forKey: id) { return continuation }
        if state.result == nil { state.cancelled.insert(id) }
        return nil
      }
      continuation?.resume(throwing: CancellationError())
    }
  }
}
