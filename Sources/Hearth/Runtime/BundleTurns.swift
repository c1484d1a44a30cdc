internal import Synchronization

/// Makes a client load bundles one after the other, in the order of the calls.
///
/// The official SDK reads each bundle to its end on its one worker queue (firebase-ios-sdk sync_engine.cc, LoadBundle), so a
/// bundle that is loaded twice in a row is known the second time. A stream without an end holds up the bundles behind it, but
/// nothing else.
final class BundleTurns: Sendable {
  private struct State {
    var isTaken = false
    var waiting: [@Sendable () -> Void] = []
  }

  private let state = Mutex(State())

  /// Calls the body when it is its turn: at once, or from the `end()` of the one before it. Each body leads to one `end()`.
  func wait(_ body: @escaping @Sendable () -> Void) {
    let isFree = state.withLock { state in
      guard state.isTaken else {
        state.isTaken = true
        return true
      }
      state.waiting.append(body)
      return false
    }
    if isFree { body() }
  }

  func end() {
    let next: (@Sendable () -> Void)? = state.withLock { state in
      guard !state.waiting.isEmpty else {
        state.isTaken = false
        return nil
      }
      return state.waiting.removeFirst()
    }
    next?()
  }
}
