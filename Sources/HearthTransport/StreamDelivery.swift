internal import Foundation
internal import HearthModel

/// Delivers the events of one stream to its owner: in order, never two at a time. After the owner has closed the stream it delivers only
/// the end and, if the owner wants them, late answers before it.
///
/// | state | opened | message | closed | owner closes |
/// |---|---|---|---|---|
/// | opening | delivered → open | delivered after opened → open | delivered → over | → closing |
/// | open | – | delivered | delivered → over | → closing |
/// | closing | dropped | delivered if wanted | delivered without its error → over | – |
/// | over | dropped | dropped | dropped | – |
final class StreamDelivery<Message: Sendable>: Sendable {
  private enum State {
    case opening, open, closing, over
  }

  /// Recursive, because the owner may close the stream from inside the callback. It is held during the callback: this keeps events in
  /// order and makes `close()` final. No cancellation handler may close a stream: the callback may resume a task, and the Swift runtime
  /// lets that wait while the task's cancellation handler runs.
  private let lock = NSRecursiveLock()
  // Safe: only read and written while `lock` is held.
  private nonisolated(unsafe) var state = State.opening
  private let onEvent: @Sendable (StreamEvent<Message>) -> Void
  /// Bounds the messages that the owner has not handled; nil for no bound.
  let credit: DeliveryCredit?
  private let takesLateMessages: Bool

  init(
    credit: DeliveryCredit? = nil, takesLateMessages: Bool,
    onEvent: @escaping @Sendable (StreamEvent<Message>) -> Void
  ) {
    self.credit = credit
    self.takesLateMessages = takesLateMessages
    self.onEvent = onEvent
  }

  /// True if requests may still be sent.
  var acceptsRequests: Bool {
    lock.withLock { state == .opening || state == .open }
  }

  func opened() {
    lock.withLock {
      guard state == .opening else { return }
      state = .open
      onEvent(.opened)
    }
  }

  func message(_ message: Message, byteCount: Int) {
    lock.withLock {
      opened()
      guard state == .open || (state == .closing && takesLateMessages) else { return }
      credit?.take(byteCount)
      onEvent(.message(message))
    }
  }

  /// Ends the stream.
  func closed(_ error: StatusError?) {
    lock.withLock {
      switch state {
      case .opening, .open:
        state = .over
        onEvent(.closed(error))
      case .closing:
        state = .over
        onEvent(.closed(nil))
      case .over:
        break
      }
    }
  }

  /// Ends a stream that did not reach the backend in time. Returns true if the backend had not been reached.
  func expired(_ error: StatusError) -> Bool {
    lock.withLock {
      guard state == .opening else { return false }
      closed(error)
      return true
    }
  }

  /// Closes the stream for its owner. Returns true if it was open.
  func ownerCloses() -> Bool {
    lock.withLock {
      guard state == .opening || state == .open else { return false }
      state = .closing
      return true
    }
  }

  /// True if the backend was reached, or the owner has closed the stream.
  var hasOpened: Bool {
    lock.withLock { state != .opening }
  }
}
