internal import Foundation
internal import Synchronization

/// The result of an operation that one task waits for: resolved once, later resolutions are ignored.
///
/// Continuations are resumed directly from the client's loop, so the `async` forms do not depend on the settings' dispatch queue being
/// drained.
final class Outcome<Success: Sendable>: Sendable {
  private enum State {
    case open
    case waiting(CheckedContinuation<Success, any Error>)
    case resolved(Result<Success, any Error>)
    case done
  }

  private let state = Mutex(State.open)

  /// - Returns: False if it was resolved before, for example because the task was cancelled: then nobody hears of this result.
  @discardableResult
  func resolve(_ result: Result<Success, any Error>) -> Bool {
    let (isTaken, continuation): (Bool, CheckedContinuation<Success, any Error>?) = state.withLock { state in
      switch state {
      case .open:
        state = .resolved(result)
        return (true, nil)
      case .waiting(let continuation):
        state = .done
        return (true, continuation)
      case .resolved, .done:
        return (false, nil)
      }
    }
    continuation?.resume(with: result)
    return isTaken
  }

  /// Waits for the result; called once. A cancelled task gets `CancellationError`, while the operation itself goes on.
  nonisolated(nonsending) func value() async throws -> Success {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let early: Result<Success, any Error>? = state.withLock { state in
          guard case .resolved(let result) = state else {
            state = .waiting(continuation)
            return nil
          }
          state = .done
          return result
        }
        if let early { continuation.resume(with: early) }
      }
    } onCancel: {
      resolve(.failure(CancellationError()))
    }
  }

  /// As ``value()``, and ends a listener for which nobody waits any more.
  nonisolated(nonsending) func value(ending listener: ListenerHandle?) async throws -> Success {
    do {
      return try await value()
    } catch {
      listener?.remove()
      throw error
    }
  }
}

extension Outcome where Success == Void {
  func resolve(_ error: NSError?) {
    resolve(error.map { .failure($0) } ?? .success(()))
  }
}
