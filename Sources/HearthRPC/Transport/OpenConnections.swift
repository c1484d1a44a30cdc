internal import NIOCore
internal import Synchronization

/// The connections of one listener that are not closed yet.
///
/// A server ends in this order:
///
/// 1. ``refuseNew()``, then the listening channel is closed.
/// 2. ``beginEnding()``: connections close when their calls are over.
/// 3. ``closeAll()`` after a while, for clients that leave streams open.
package final class OpenConnections: Sendable {
  private struct State {
    var isRefusing = false
    var channels: [ObjectIdentifier: any Channel] = [:]
    var whenEmpty: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Mutex(State())

  package init() {}

  /// The number of connections that are not closed yet.
  package var count: Int { state.withLock { $0.channels.count } }

  /// Adds an accepted connection before it is active.
  ///
  /// - Throws: `ChannelError.ioOnClosedChannel` after ``refuseNew()``; the connection is closed then.
  func add(_ channel: any Channel) throws(ChannelError) {
    let id = ObjectIdentifier(channel)
    let isAdded = state.withLock { state in
      if !state.isRefusing { state.channels[id] = channel }
      return !state.isRefusing
    }
    guard isAdded else {
      channel.close(promise: nil)
      throw .ioOnClosedChannel
    }
    channel.closeFuture.whenComplete { _ in
      let waiting = self.state.withLock { state in
        state.channels[id] = nil
        guard state.channels.isEmpty else { return [CheckedContinuation<Void, Never>]() }
        defer { state.whenEmpty = [] }
        return state.whenEmpty
      }
      for continuation in waiting { continuation.resume() }
    }
  }

  /// Returns when no connection is open.
  package func untilEmpty() async {
    await withCheckedContinuation { continuation in
      let isEmpty = state.withLock { state in
        if !state.channels.isEmpty { state.whenEmpty.append(continuation) }
        return state.channels.isEmpty
      }
      if isEmpty { continuation.resume() }
    }
  }

  /// Fires ``ConnectionIsEnding`` in each connection, whose handlers close it after its last call.
  package func beginEnding() {
    for channel in state.withLock({ Array($0.channels.values) }) {
      channel.pipeline.fireUserInboundEventTriggered(ConnectionIsEnding())
    }
  }

  /// Closes each connection that is added from now on, and those that are not active yet.
  ///
  /// The listening channel must be open: when it is closed, it drops connections that are about to become active.
  package func refuseNew() {
    for channel in refuse() where !channel.isActive { channel.close(promise: nil) }
  }

  /// Closes all connections, and each that is added from now on. Unsent bytes are dropped.
  ///
  /// Returns when no bytes of a client can reach the codec of a connection any more.
  package func closeAll() async {
    for closing in beginClosing() { try? await closing.get() }
  }

  /// Begins what ``closeAll()`` does.
  ///
  /// - Returns: For each open connection a future that completes on its event loop after its handlers have seen the end.
  func beginClosing() -> [EventLoopFuture<Void>] {
    let channels = refuse()
    for channel in channels { channel.close(promise: nil) }
    return channels.map(\.closeFuture)
  }

  private func refuse() -> [any Channel] {
    state.withLock { state in
      state.isRefusing = true
      return Array(state.channels.values)
    }
  }
}

/// The event that asks a connection to accept no more calls, and to close after the last one.
struct ConnectionIsEnding: Sendable {}
