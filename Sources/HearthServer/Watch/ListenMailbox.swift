internal import HearthModel
internal import HearthWire
internal import Synchronization

/// The events of a listen stream in order of arrival, bounded in size.
final class ListenMailbox: Sendable {
  enum Event: Sendable {
    case request(Google_Firestore_V1_ListenRequest)
    /// There was a commit that touches an interest of the stream.
    case wake
    /// It is time for a fresh resume token.
    case refresh
  }

  /// The maximum number of events that wait while the client does not read its messages.
  private static let capacity = 1024

  let events: AsyncThrowingStream<Event, any Error>
  private let continuation: AsyncThrowingStream<Event, any Error>.Continuation
  /// True while a wake is in the mailbox. One stands for all commits up to the time when it is taken.
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
    // A full mailbox needs no wake: the stream catches up after each of its events.
    if isFirst, case .dropped = continuation.yield(.wake) { wakeIsTaken() }
  }

  /// Called before the stream catches up. A commit that comes later must post a new wake.
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
