internal import Dispatch
internal import NIOCore
internal import Synchronization

/// Runs work that may hold up its thread, in the order in which it came, on a few threads of its own.
///
/// Each thread is that of a serial queue: those of a concurrent queue are as many as there are processors, and blocked ones count.
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
