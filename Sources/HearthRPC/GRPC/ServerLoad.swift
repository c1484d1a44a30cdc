internal import HearthModel
internal import Synchronization

/// The load that all connections of a server share: the connections, the calls in progress and the bytes that they hold.
package final class ServerLoad: Sendable {
  private struct Calls {
    var inProgress: SharedLimit<CallOrigin>
    var whenIdle: [CheckedContinuation<Void, Never>] = []
  }

  private struct Connections {
    /// The number of connections that are served.
    var count = 0
    var refusals = 0
    /// The same connections, by clients that are known.
    var ofClients: SharedLimit<ClientNetwork>
  }

  let limits: ServerLimits
  /// Nil if the program has no metrics backend.
  let metrics: (any CallMetrics)?
  package let requests: RequestBudget
  package let unread: UnreadBudget
  private let calls: Mutex<Calls>
  private let connections: Mutex<Connections>
  private let received = Atomic(0)
  private let holders = Mutex<[ObjectIdentifier: (call: ServerCall, bytes: Int)]>([:])
  private let refused = Atomic(0)
  private let ended = Atomic(0)

  init(limits: ServerLimits, metrics: (any CallMetrics)? = nil) {
    self.limits = limits
    self.metrics = metrics
    calls = Mutex(Calls(inProgress: SharedLimit(limits.calls)))
    connections = Mutex(Connections(ofClients: SharedLimit(limits.connections)))
    requests = RequestBudget(limits: limits)
    unread = UnreadBudget(limits: limits)
  }

  // MARK: - Connections

  /// Connections that were refused because there were too many.
  package var refusedConnections: Int { refused.load(ordering: .relaxed) }

  /// Counts a connection before it is served.
  ///
  /// - Parameter client: Nil if it is not known.
  /// - Returns: False if there are as many as may be, or as many as the client may have now.
  func connectionOpened(by client: ClientNetwork?) -> Bool {
    let isAllowed = connections.withLock { connections in
      guard connections.count < limits.connections else { return false }
      if limits.hasAddressesOfClients, let client {
        guard connections.ofClients.take(for: client) else { return false }
      }
      connections.count += 1
      return true
    }
    guard !isAllowed else { return true }
    refused.add(1, ordering: .relaxed)
    metrics?.exceeded(.connections)
    return false
  }

  /// - Parameter client: That of a connection which was counted.
  func connectionClosed(by client: ClientNetwork?) {
    connections.withLock { connections in
      connections.count -= 1
      if limits.hasAddressesOfClients, let client { connections.ofClients.giveBack(of: client) }
    }
  }

  /// Counts a connection whose client is about to read that it is refused.
  ///
  /// - Returns: False if there are as many as may be.
  func refusalBegan(atMost most: Int) -> Bool {
    connections.withLock { connections in
      guard connections.refusals < most else { return false }
      connections.refusals += 1
      return true
    }
  }

  func refusalEnded() { connections.withLock { $0.refusals -= 1 } }

  // MARK: - Calls

  package var callCount: Int { calls.withLock { $0.inProgress.count } }

  /// Calls that have ended since the server's start.
  package var endedCalls: Int { ended.load(ordering: .relaxed) }

  /// - Returns: Nil if the client of the connection may have one more call now, which then counts; otherwise the reason against it.
  func callBegan(in share: ConnectionShare) -> CallStatus? {
    let (isAllowed, count) = calls.withLock { calls in
      (calls.inProgress.take(for: origin(of: share)), calls.inProgress.count)
    }
    guard !isAllowed else { return nil }
    metrics?.exceeded(.calls)
    return .tooManyCalls(count, limits.calls)
  }

  func origin(of share: ConnectionShare) -> CallOrigin {
    CallOrigin(share, hasAddressesOfClients: limits.hasAddressesOfClients)
  }

  /// - Parameter share: That with which the call began.
  func callEnded(in share: ConnectionShare) {
    ended.add(1, ordering: .relaxed)
    let waiting = calls.withLock { calls in
      calls.inProgress.giveBack(of: origin(of: share))
      guard calls.inProgress.count == 0 else { return [CheckedContinuation<Void, Never>]() }
      defer { calls.whenIdle = [] }
      return calls.whenIdle
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Returns when no call is in progress.
  package func untilIdle() async {
    await withCheckedContinuation { continuation in
      let isIdle = calls.withLock { calls in
        if calls.inProgress.count > 0 { calls.whenIdle.append(continuation) }
        return calls.inProgress.count == 0
      }
      if isIdle { continuation.resume() }
    }
  }

  // MARK: - Bytes to clients

  /// Responses of all calls that wait for flow control.
  var queuedBytes: Int { unread.calls.reduce(0) { $0 + $1.queuedBytes } }

  /// Something that produces bytes of a stream has to wait.
  func writerWaits() {
    metrics?.exceeded(unread.isShared ? .queuedBytes : .queuedBytesPerStream)
  }

  // MARK: - Bytes from clients

  package var receivedBytes: Int { received.load(ordering: .relaxed) }

  /// Notes the bytes of a call that were received and not handled.
  ///
  /// - Returns: The calls to end, those with the most bytes first, because all together exceed the limit. They do not count any more.
  func note(received count: Int, of call: ServerCall) -> [ServerCall] {
    holders.withLock { holders in
      let id = ObjectIdentifier(call)
      let change = count - (holders[id]?.bytes ?? 0)
      guard change != 0 else { return [] }
      holders[id] = count == 0 ? nil : (call, count)
      var total = received.add(change, ordering: .relaxed).newValue
      guard change > 0, total > limits.receivedBytes else { return [] }
      // An eighth more than need be: otherwise the search would be repeated with each frame.
      let wanted = limits.receivedBytes - limits.receivedBytes / 8
      var ended: [ServerCall] = []
      for (id, holder) in holders.sorted(by: { $0.value.bytes > $1.value.bytes }) {
        guard total > wanted else { break }
        holders[id] = nil
        total -= holder.bytes
        received.subtract(holder.bytes, ordering: .relaxed)
        ended.append(holder.call)
      }
      return ended
    }
  }
}
