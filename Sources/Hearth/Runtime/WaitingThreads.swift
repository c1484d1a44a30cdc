internal import Foundation
internal import Synchronization

/// Threads for blocking work: waiting for the network, for an application, for a slow stream.
///
/// Blocking work uses up the threads of Dispatch, and then neither a client nor the application's tasks, which outside Apple platforms run
/// on the same threads, make the progress that it waits for: 300 concurrent transactions blocked each other permanently. Threads are made
/// as they are needed and end when no work is left.
final class WaitingThreads: Sendable {
  private struct State {
    /// In the order of the calls.
    var waiting: [@Sendable () -> Void] = []
    var threadCount = 0
  }

  private let name: String
  private let limit: Int
  private let state = Mutex(State())

  /// - Parameter limit: The number of pieces of work that run at once: as many as Dispatch starts for one queue on Apple platforms.
  init(name: String, limit: Int = 64) {
    self.name = name
    self.limit = limit
  }

  func run(_ work: @escaping @Sendable () -> Void) {
    let needsThread = state.withLock { state in
      state.waiting.append(work)
      guard state.threadCount < limit else { return false }
      state.threadCount += 1
      return true
    }
    guard needsThread else { return }
    let thread = Thread { [self] in
      while let work = next() { work() }
    }
    thread.name = name
    thread.start()
  }

  private func next() -> (@Sendable () -> Void)? {
    state.withLock { state in
      guard !state.waiting.isEmpty else {
        state.threadCount -= 1
        return nil
      }
      return state.waiting.removeFirst()
    }
  }
}
