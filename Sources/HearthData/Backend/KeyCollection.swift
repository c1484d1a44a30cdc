internal import HearthModel
internal import Synchronization

/// The keys that a query sends, in order.
final class KeyCollection: Sendable {
  private let state = Mutex<[DocumentKey]>([])

  var keys: [DocumentKey] { state.withLock { $0 } }

  func add(_ key: DocumentKey) {
    state.withLock { $0.append(key) }
  }

  func removeAll() {
    state.withLock { $0 = [] }
  }
}
