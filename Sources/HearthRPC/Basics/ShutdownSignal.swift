internal import Synchronization

/// Notifies the observers of a server that it stops.
package final class ShutdownSignal: Sendable {
  private struct State {
    var isTriggered = false
    var nextID = 0
    var observers: [Int: @Sendable () -> Void] = [:]
  }

  private let state = Mutex(State())

  package init() {}

  package var isTriggered: Bool { state.withLock { $0.isTriggered } }

  /// Calls `observer` once when the server stops, at once when it is stopping already.
  ///
  /// - Returns: The id for ``remove(_:)``.
  package func observe(_ observer: @escaping @Sendable () -> Void) -> Int {
    let (id, callNow) = state.withLock { state -> (Int, Bool) in
      state.nextID += 1
      if !state.isTriggered { state.observers[state.nextID] = observer }
      return (state.nextID, state.isTriggered)
    }
    if callNow { observer() }
    return id
  }

  package func remove(_ id: Int) {
    state.withLock { _ = $0.observers.removeValue(forKey: id) }
  }

  /// - Returns: false if it was triggered before.
  @discardableResult
  package func trigger() -> Bool {
    let (isFirst, observers) = state.withLock { state in
      let isFirst = !state.isTriggered
      state.isTriggered = true
      defer { state.observers.removeAll() }
      return (isFirst, state.observers)
    }
    for observer in observers.values { observer() }
    return isFirst
  }
}

extension ShutdownSignal {
  /// Returns when the server stops, or when the task is cancelled.
  package func wait() async {
    let (stream, continuation) = AsyncStream<Never>.makeStream()
    let id = observe { continuation.finish() }
    defer { remove(id) }
    for await _ in stream {}
  }
}
