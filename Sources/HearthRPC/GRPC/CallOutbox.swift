internal import NIOCore
internal import Synchronization

/// A connection that carries calls.
protocol CallCarrier: AnyObject {
  /// Does what calls have asked for since the last time. Called on the event loop.
  func takeOutbox()
}

/// Takes the output of calls.
protocol CallOutlet: AnyObject, Sendable {
  /// The call has something to send, has ended, or can take more requests: see ``ServerCall/takeOutput()``. Called on any thread.
  func wake(_ call: ServerCall)
}

/// The calls of one connection that have output for it. The first of them wakes the event loop. Calls that come until the loop has run are
/// handled with it, in one write to the socket.
final class CallOutbox: CallOutlet {
  private struct State {
    var calls: [ServerCall] = []
    /// Nil when the connection is over.
    var connection: NIOLoopBound<any CallCarrier>?
  }

  private let eventLoop: any EventLoop
  private let state = Mutex(State())

  init(eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
  }

  /// Begins to wake a connection; nil ends that. Called on the event loop.
  func connect(to connection: (any CallCarrier)?) {
    state.withLock { $0.connection = connection.map { NIOLoopBound($0, eventLoop: eventLoop) } }
  }

  func wake(_ call: ServerCall) {
    let connection = state.withLock { state -> NIOLoopBound<any CallCarrier>? in
      guard let connection = state.connection else { return nil }
      state.calls.append(call)
      return state.calls.count == 1 ? connection : nil
    }
    guard let connection else { return }
    eventLoop.execute { connection.value.takeOutbox() }
  }

  func takeAll() -> [ServerCall] {
    state.withLock { state in
      defer { state.calls = [] }
      return state.calls
    }
  }
}
