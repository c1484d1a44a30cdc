internal import NIOCore
internal import Synchronization

/// The connections of one listener that are not closed yet.
///
/// A connection must not outlive the task that takes its streams. When that task was cancelled, the codec drops each stream that it
/// opens, and NIO stops the process because the stream's writer was not finished. The same happens to a connection that becomes active
/// after the listening channel was closed (apple/swift-nio issue 2813). A server therefore ends in this order:
///
/// 1. ``refuseNew()``, then the listening channel is closed.
/// 2. ``closeAll()``, then the task that serves the connections is cancelled.
final class OpenConnections: Sendable {
  private struct State {
    var isRefusing = false
    var channels: [ObjectIdentifier: any Channel] = [:]
  }

  private let state = Mutex(State())

  init() {}

  /// The number of connections that are not closed yet.
  var count: Int { state.withLock { $0.channels.count } }

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
      self.state.withLock { _ = $0.channels.removeValue(forKey: id) }
    }
  }

  /// Closes each connection that is added from now on, and those that are not active yet.
  ///
  /// The listening channel must be open: when it is closed, it drops connections that are about to become active.
  func refuseNew() {
    for channel in refuse() where !channel.isActive { channel.close(promise: nil) }
  }

  /// Closes all connections, and each that is added from now on. Unsent bytes are dropped.
  ///
  /// Returns when no bytes of a client can reach the codec of a connection any more.
  func closeAll() async {
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
