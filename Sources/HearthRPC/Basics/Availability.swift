internal import Synchronization

/// Tracks whether the server can do its work now, for callers that ask for its health.
package final class Availability: Sendable {
  private struct State {
    var isAvailable = true
    /// They wait for another state.
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    var waiterCount = 0
  }

  private let state = Mutex(State())

  package init() {}

  package var isAvailable: Bool { state.withLock { $0.isAvailable } }

  /// - Returns: True if the availability has changed.
  @discardableResult
  package func set(_ isAvailable: Bool) -> Bool {
    let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>]? in
      guard state.isAvailable != isAvailable else { return nil }
      state.isAvailable = isAvailable
      defer { state.waiters = [:] }
      return Array(state.waiters.values)
    }
    for waiter in waiters ?? [] { waiter.resume() }
    return waiters != nil
  }

  /// Waits until the availability differs from `known`, or the task is cancelled.
  package func change(from known: Bool) async {
    let number = state.withLock { state in
      state.waiterCount += 1
      return state.waiterCount
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if state.isAvailable != known || Task.isCancelled { return true }
          state.waiters[number] = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
    }
  }
}
