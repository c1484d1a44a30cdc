internal import Synchronization

/// The share of one connection's calls in the resources of all connections.
final class ConnectionShare: Sendable {
  /// The client at the other end; nil if its address is not known.
  let client: ClientNetwork?
  /// Bytes of the requests in progress, kept by ``RequestBudget``.
  let requestBytes = Atomic(0)
  /// Calls that hold bytes for the client, kept by ``UnreadBudget``.
  let holdingCalls = Atomic(0)
  /// The calls that may have something for the client.
  let calls = Mutex<[ObjectIdentifier: ServerCall]>([:])

  init(of client: ClientNetwork? = nil) {
    self.client = client
  }

  func add(_ call: ServerCall) {
    calls.withLock { $0[ObjectIdentifier(call)] = call }
  }

  func remove(_ call: ServerCall) {
    calls.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(call)) }
  }
}
