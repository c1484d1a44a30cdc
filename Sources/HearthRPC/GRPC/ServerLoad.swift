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
  package let received: ReceivedBudget
  package let requests: RequestBudget
  package let unread: UnreadBudget
  private let origins: CallOrigins
  private let calls: Mutex<Calls>
  private let connections: Mutex<Connections>
  private let refused = Atomic(0)
  private let ended = Atomic(0)

  init(limits: ServerLimits, metrics: (any CallMetrics)? = nil) {
    self.limits = limits
    self.metrics = metrics
    calls = Mutex(Calls(inProgress: SharedLimit(limits.calls)))
    connections = Mutex(Connections(ofClients: SharedLimit(limits.connections)))
    received = ReceivedBudget(limits: limits)
    requests = RequestBudget(limits: limits)
    unread = UnreadBudget(limits: limits)
    origins = CallOrigins(hasAddressesOfClients: limits.hasAddressesOfClients)
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

  /// The share of a connection that is served from now on.
  func share(of client: ClientNetwork?) -> ConnectionShare {
    ConnectionShare(of: client, origin: origins.origin(of: client))
  }

  func refusalEnded() { connections.withLock { $0.refusals -= 1 } }

  // MARK: - Calls

  package var callCount: Int { calls.withLock { $0.inProgress.count } }

  /// Calls that have ended since the server's start.
  package var endedCalls: Int { ended.load(ordering: .relaxed) }

  /// - Returns: Nil if the client of the connection may have one more call now, which then counts; otherwise the reason against it.
  func callBegan(in share: ConnectionShare) -> CallStatus? {
    let (isAllowed, count) = calls.withLock { calls in
      (calls.inProgress.take(for: share.origin), calls.inProgress.count)
    }
    guard !isAllowed else { return nil }
    metrics?.exceeded(.calls)
    return .tooManyCalls(count, limits.calls)
  }

  /// - Parameter share: That with which the call began.
  func callEnded(in share: ConnectionShare) {
    ended.add(1, ordering: .relaxed)
    let waiting = calls.withLock { calls in
      calls.inProgress.giveBack(of: share.origin)
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
}
