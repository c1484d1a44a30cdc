internal import HearthModel
internal import HearthWire
internal import Synchronization

/// What a listen stream has to deal with, in order of arrival, bounded in size.
final class ListenMailbox: Sendable {
  enum Event: Sendable {
    case request(Google_Firestore_V1_ListenRequest)
    /// Something was committed that the stream may be interested in.
    case wake
    /// It is time for a fresh resume token.
    case refresh
  }

  /// So many requests may wait while the client does not take its messages.
  private static let capacity = 1024

  let events: AsyncThrowingStream<Event, any Error>
  private let continuation: AsyncThrowingStream<Event, any Error>.Continuation
  /// One wake in the mailbox stands for all commits up to the time when it is taken.
  private let isWakePosted = Mutex(false)

  init() {
    (events, continuation) = AsyncThrowingStream.makeStream(
      of: Event.self, bufferingPolicy: .bufferingOldest(Self.capacity))
  }

  func post(_ request: Google_Firestore_V1_ListenRequest) throws {
    if case .dropped = continuation.yield(.request(request)) {
      throw StatusError(
        code: .resourceExhausted,
        message: "\(Self.capacity) requests of the stream wait to be handled: the client does not take its messages")
    }
  }

  func postWake() {
    let isFirst = isWakePosted.withLock { isPosted in
      defer { isPosted = true }
      return !isPosted
    }
    // In a full mailbox there are events enough after which the stream catches up.
    if isFirst, case .dropped = continuation.yield(.wake) { wakeIsTaken() }
  }

  /// To be called before the stream catches up.
  func wakeIsTaken() {
    isWakePosted.withLock { $0 = false }
  }

  func postRefresh() {
    continuation.yield(.refresh)
  }

  func finish(throwing error: (any Error)? = nil) {
    continuation.finish(throwing: error)
  }
}
