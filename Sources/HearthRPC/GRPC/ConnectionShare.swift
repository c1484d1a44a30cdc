internal import Synchronization

/// The share of one connection's calls in the resources of all connections.
final class ConnectionShare: Sendable {
  /// The client at the other end; nil if its address is not known.
  let client: ClientNetwork?
  let origin: CallOrigin
  /// The calls that may have something for the client.
  let calls = Mutex<[ObjectIdentifier: ServerCall]>([:])

  init(of client: ClientNetwork? = nil, origin: CallOrigin = CallOrigin()) {
    self.client = client
    self.origin = origin
  }

  func add(_ call: ServerCall) {
    calls.withLock { $0[ObjectIdentifier(call)] = call }
  }

  func remove(_ call: ServerCall) {
    calls.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(call)) }
  }
}
