internal import Foundation
internal import HearthSync
internal import Synchronization

/// A listener's callback, which does not start after `remove()` has returned, except on a thread that was about to start it.
///
/// Each call takes the callback under the lock and runs it without the lock, and `remove()` releases its captures without the lock:
///
/// - The callback of a direct listener resumes a task (``SnapshotBuffer``). The Swift runtime takes the task's status lock for that, and
///   holds the same lock while it runs the task's cancellation handler, which calls `remove()` (``SnapshotSubscription``).
/// - An application may call `remove()` while it holds a lock that its callback takes as well.
/// - The deinitialiser of a captured object may call `remove()`.
///
/// So `remove()` does not wait for a callback that has started on another thread, as in the official SDK (firebase-ios-sdk
/// event_listener.h, AsyncEventListener::Mute).
final class Listener<Event: Sendable>: Sendable {
  let id: ListenerID
  /// Called on the client's loop with the number of documents that the backend has sent so far; nil if nobody wants to know.
  let received: (@Sendable (Int) -> Void)?
  private let queue: DispatchQueue?
  /// True if something of this library hears the events directly, rather than a callback of the application on its queue.
  var isAwaited: Bool { queue == nil }
  /// Nil after the removal.
  private let callback: Mutex<(@Sendable (Event) -> Void)?>

  /// - Parameter queue: The queue of the callback, a serial one; nil calls it directly on the client's loop. So calls come one after the
  ///   other.
  init(
    id: ListenerID, queue: DispatchQueue?, received: (@Sendable (Int) -> Void)? = nil,
    callback: @escaping @Sendable (Event) -> Void
  ) {
    self.id = id
    self.received = received
    self.queue = queue
    self.callback = Mutex(callback)
  }

  func deliver(_ event: Event) {
    guard let queue else { return call(event) }
    queue.async { self.call(event) }
  }

  /// Ends the listener and releases the captures of its callback, at the latest when a running call returns. Never waits.
  func remove() {
    let removed = callback.withLock { $0.take() }
    withExtendedLifetime(removed) {}
  }

  private func call(_ event: Event) {
    let callback = callback.withLock { $0 }
    callback?(event)
  }
}

typealias SnapshotEvent = Result<ViewSnapshot, NSError>

/// The registration that applications hold.
final class ListenerHandle: NSObject, ListenerRegistration, Sendable {
  private let onRemove: @Sendable () -> Void
  private let onAbandon: @Sendable () -> Void

  init(onRemove: @escaping @Sendable () -> Void, onAbandon: @escaping @Sendable () -> Void = {}) {
    self.onRemove = onRemove
    self.onAbandon = onAbandon
  }

  func remove() {
    onRemove()
  }

  /// Says that nobody waits for the answer to a one-time read any more. It may come into the cache all the same.
  func abandon() {
    onAbandon()
  }
}
