import HearthCache

/// The operating system's locks of one cache: which clients live, and which one holds the lease.
final class SharedLocks {
  private var living: Set<String> = []
  private(set) var leaseHolder: String?

  func begin(_ name: String) -> any ClientLocks {
    living.insert(name)
    return Client(self, name)
  }

  /// The client is alive again after ``end(_:)``.
  func resume(_ name: String) { living.insert(name) }

  /// The client's locks end with it, or while its process is suspended.
  func end(_ name: String) {
    living.remove(name)
    if leaseHolder == name { leaseHolder = nil }
  }

  /// The lock of the lease is gone, and its holder hears nothing of it.
  func loseLease() { leaseHolder = nil }

  private final class Client: ClientLocks {
    private let all: SharedLocks
    let name: String

    init(_ all: SharedLocks, _ name: String) {
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
