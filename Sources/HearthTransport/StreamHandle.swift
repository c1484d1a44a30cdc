package import HearthModel

/// An event of a stream, in order: `opened`, any number of messages, `closed`. A stream that could not be opened has only `closed`.
package enum StreamEvent<Message: Sendable>: Sendable {
  /// The backend was reached and the stream is open; requests are being sent.
  case opened
  case message(Message)
  /// The stream has ended: with an error, or properly.
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

  /// Sends a request after those sent before it. It may be called before the stream is open: requests wait. After the end it does nothing.
  package func send(_ request: Request) {
    sendRequest(request)
  }

  /// Ends the stream. Waiting requests are not sent.
  ///
  /// After this returns, there are no further events except one `closed(nil)`, once the stream has ended, and not even that if it had
  /// ended before. On a write stream, answers to requests may come before it. It may be called from inside the event callback.
  ///
  /// It waits for an event callback that runs on another thread, so it must not be called in a cancellation handler, nor with a lock held
  /// that the callback takes.
  package func close() {
    closeStream()
  }
}
