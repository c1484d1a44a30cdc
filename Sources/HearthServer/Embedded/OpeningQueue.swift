internal import Dispatch
internal import NIOCore
internal import Synchronization

/// Runs work that may block its thread, in the order of arrival, on a few threads of its own.
///
/// Each thread belongs to a serial queue, because a concurrent queue has only as many threads as there are processors, including blocked
/// ones.
final class OpeningQueue: Sendable {
  typealias Work = @Sendable () -> Void

  private struct State {
    var idle: [DispatchQueue]
    var waiting = CircularBuffer<Work>()
  }

  private let state: Mutex<State>

  /// - Parameter width: The work that runs at the same time.
  init(label: String, width: Int) {
    state = Mutex(State(idle: (1...width).map { DispatchQueue(label: "\(label).\($0)") }))
  }

  func run(_ work: @escaping Work) {
    let thread = state.withLock { state -> DispatchQueue? in
      guard let thread = state.idle.popLast() else {
        state.waiting.append(work)
        return nil
      }
      return thread
    }
    guard let thread else { return }
    thread.async { [self] in
      var next: Work? = work
      while let work = next {
        work()
        next = takeNext(for: thread)
      }
    }
  }

  /// - Returns: The work that has waited longest; nil if the thread has nothing to do.
  private func takeNext(for thread: DispatchQueue) -> Work? {
    state.withLock { state in
      if let work = state.waiting.popFirst() { return work }
      state.idle.append(thread)
      return nil
    }
  }
}
