package import HearthModel

/// An event of a stream, in order: `opened`, any number of messages, `closed`. A stream that could not be opened has only the last.
package enum StreamEvent<Message: Sendable>: Sendable {
  /// The backend was reached and the stream stands; requests are on their way.
  case opened
  case message(Message)
  /// The stream is over: with an error, or in good order.
  case closed(StatusError?)
}

extension StreamEvent: Equatable where Message: Equatable {}

/// The sending side of an open stream.
package final class StreamHandle<Request: Sendable>: Sendable {
  private let sendRequest: @Sendable (Request) -> Void
  private let closeStream: @Sendable () -> Void

  init(send: @escaping @Sendable (Request) -> Void, close: @escaping @Sendable () -> Void) {
    sendRequest = send
    closeStream = close
  }

  /// Sends a request after those sent before it. It may be called before the stream is open: requests wait.
  /// On a stream that is over, nothing happens.
  package func send(_ request: Request) {
    sendRequest(request)
  }

  /// Ends the stream. Requests that still wait are not sent.
  ///
  /// When this returns, no further event comes except one `closed(nil)`, once the stream is gone; not even
  /// that if the stream was over already. On a write stream, the answers to what was sent may come before it.
  /// It may be called from inside the event callback.
  package func close() {
    closeStream()
  }
}
