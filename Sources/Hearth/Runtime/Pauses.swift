internal import Foundation
internal import Synchronization

/// Pauses of a client's operations. They end early when the client is stopped.
final class Pauses: Sendable {
  private struct State {
    var isOver = false
    var bodies: [Int: @Sendable () -> Void] = [:]
    var lastNumber = 0
  }

  private let state = Mutex(State())

  /// Calls `body` once after a time, or at once when the client is stopped; from any thread.
  func run(after time: Duration, _ body: @escaping @Sendable () -> Void) {
    let number = state.withLock { state -> Int? in
      guard !state.isOver else { return nil }
      state.lastNumber += 1
      state.bodies[state.lastNumber] = body
      return state.lastNumber
    }
    guard let number else { return body() }
    DispatchQueue.global().asyncAfter(deadline: .now() + time.dispatchInterval) { [self] in
      state.withLock { $0.bodies.removeValue(forKey: number) }?()
    }
  }

  /// Ends all pauses, and later ones at once.
  func end() {
    let bodies = state.withLock { state in
      defer { state.bodies = [:] }
      state.isOver = true
      return Array(state.bodies.values)
    }
    for body in bodies { body() }
  }
}
