internal import Synchronization

/// A number that one connection or stream keeps up to date during its lifetime.
package final class Usage: Sendable {
  private let number = Atomic(0)
  private let ended: @Sendable (ObjectIdentifier) -> Void

  fileprivate init(ended: @escaping @Sendable (ObjectIdentifier) -> Void) {
    self.ended = ended
  }

  var value: Int { number.load(ordering: .relaxed) }

  package func set(_ value: Int) {
    number.store(value, ordering: .relaxed)
  }

  deinit { ended(ObjectIdentifier(self)) }
}

/// The numbers of all connections, or of all streams of a kind. Changing a number costs one store; the sum and the maximum are computed on
/// request.
package final class UsageRegistry: Sendable {
  private struct Entry {
    weak let usage: Usage?
  }

  private let entries = Mutex<[ObjectIdentifier: Entry]>([:])

  package init() {}

  package func register() -> Usage {
    let usage = Usage { [weak self] id in self?.entries.withLock { _ = $0.removeValue(forKey: id) } }
    entries.withLock { $0[ObjectIdentifier(usage)] = Entry(usage: usage) }
    return usage
  }

  package func sumAndGreatest() -> (sum: Int, greatest: Int) {
    // Kept until the lock is free: the last reference to one takes the lock.
    let usages = entries.withLock { entries in entries.values.compactMap(\.usage) }
    return usages.reduce((0, 0)) { ($0.0 + $1.value, max($0.1, $1.value)) }
  }
}
