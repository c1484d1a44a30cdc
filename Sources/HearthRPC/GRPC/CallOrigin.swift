internal import Synchronization

/// Where calls come from: a client, or a connection whose client is not known. Calls of one origin share what a limit leaves to it.
package final class CallOrigin: Sendable {
  /// Bytes of the requests in progress, kept by ``RequestBudget``.
  let requestBytes = Atomic(0)
  /// Bytes of commits of transactions that have no other room.
  let reservedBytes = Atomic(0)
  /// Calls that hold bytes for the client, kept by ``UnreadBudget``.
  let holdingCalls = Atomic(0)
}

extension CallOrigin: Hashable {
  package static func == (left: CallOrigin, right: CallOrigin) -> Bool { left === right }
  package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension ServerCall {
  package var origin: CallOrigin { share.origin }
}

/// The clients that have connections, or of whose calls something is left.
final class CallOrigins: Sendable {
  private struct Clients {
    var origins: [ClientNetwork: WeakOrigin] = [:]
    /// Beyond this number, clients that are gone are searched for and removed.
    var purgeCount = 64
  }

  private struct WeakOrigin {
    weak var origin: CallOrigin?
  }

  private let hasAddressesOfClients: Bool
  private let clients = Mutex(Clients())

  /// - Parameter hasAddressesOfClients: See ``ServerLimits/hasAddressesOfClients``.
  init(hasAddressesOfClients: Bool) {
    self.hasAddressesOfClients = hasAddressesOfClients
  }

  /// The number of clients that are remembered, for tests.
  var count: Int { clients.withLock { $0.origins.count } }

  /// - Returns: The same for all connections of a client that is known.
  func origin(of client: ClientNetwork?) -> CallOrigin {
    guard hasAddressesOfClients, let client else { return CallOrigin() }
    return clients.withLock { clients in
      if let origin = clients.origins[client]?.origin { return origin }
      if clients.origins.count >= clients.purgeCount {
        clients.origins = clients.origins.filter { $0.value.origin != nil }
        clients.purgeCount = max(64, 2 * clients.origins.count)
      }
      let origin = CallOrigin()
      clients.origins[client] = WeakOrigin(origin: origin)
      return origin
    }
  }
}
