import Synchronization

/// Texts that were reported.
final class FailureList: Sendable {
  private let state = Mutex<[String]>([])

  var all: [String] { state.withLock { $0 } }

  func add(_ text: String) {
    state.withLock { $0.append(text) }
  }
}
