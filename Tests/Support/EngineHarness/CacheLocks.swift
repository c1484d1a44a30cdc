package import HearthCache

/// The operating system's locks of one cache: which clients live, and which one holds the lease.
package final class CacheLocks {
  private var living: Set<String> = []
  package private(set) var leaseHolder: String?

  package init() {}

  package func begin(_ name: String) -> any ClientLocks {
    living.insert(name)
    return Client(self, name)
  }

  /// The client is alive again after ``end(_:)``.
  package func resume(_ name: String) { living.insert(name) }

  /// The client's locks end with it, or while its process is suspended.
  package func end(_ name: String) {
    living.remove(name)
    if leaseHolder == name { leaseHolder = nil }
  }

  /// The lock of the lease is gone, and its holder hears nothing of it.
  package func loseLease() { leaseHolder = nil }

  private final class Client: ClientLocks {
    private let all: CacheLocks
    let name: String

    init(_ all: CacheLocks, _ name: String) {
      self.all = all
      self.name = name
    }

    func isAlive(_ name: String) -> Bool { all.living.contains(name) }

    func acquireLease() -> Bool {
      guard all.living.contains(name) else { return false }
      if let holder = all.leaseHolder, holder != name { return false }
      all.leaseHolder = name
      return true
    }

    var leaseIsFree: Bool { all.leaseHolder == nil }

    func releaseLease() {
      if all.leaseHolder == name { all.leaseHolder = nil }
    }
  }
}
