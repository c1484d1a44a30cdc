internal import Foundation
internal import HearthSync
internal import Synchronization

/// A listener's callback, which is guaranteed not to start after `remove()` has returned.
///
/// The lock is held while the callback runs: `remove()` on another thread waits for it, and inside the callback the same thread
/// takes it again without waiting.
// @unchecked: `callback` is only touched under the lock; all other properties are immutable and Sendable.
final class Listener<Event: Sendable>: @unchecked Sendable {
  let id: ListenerID
  /// Called on the client's loop with the number of documents that the backend has sent so far; nil if nobody wants to know.
  let received: (@Sendable (Int) -> Void)?
  private let queue: DispatchQueue?
  private let lock = NSRecursiveLock()
  private var callback: (@Sendable (Event) -> Void)?
  private let isSilenced = Atomic<Bool>(false)

  /// - Parameter queue: The queue of the callback; nil calls it directly on the client's loop.
  init(
    id: ListenerID, queue: DispatchQueue?, received: (@Sendable (Int) -> Void)? = nil,
    callback: @escaping @Sendable (Event) -> Void
  ) {
    self.id = id
    self.received = received
    self.queue = queue
    self.callback = callback
  }

  /// True if a task of this library waits for the events, rather than a callback of the application.
  var isDirect: Bool { queue == nil }

  func deliver(_ event: Event) {
    guard let queue else { return call(event) }
    queue.async { self.call(event) }
  }

  /// Ends the listener and releases the captures of its callback.
  func remove() {
    lock.lock()
    defer { lock.unlock() }
    callback = nil
  }

  /// Ends the listener without waiting for a running callback: the client's loop must not wait for the application.
  func silence() {
    isSilenced.store(true, ordering: .releasing)
    guard lock.try() else { return }
    defer { lock.unlock() }
    callback = nil
  }

  private func call(_ event: Event) {
    lock.lock()
    defer { lock.unlock() }
    guard !isSilenced.load(ordering: .acquiring) else {
      callback = nil
      return
    }
    callback?(event)
    // Silenced meanwhile, by a thread that could not take the lock: the application may keep the registration for long.
    if isSilenced.load(ordering: .acquiring) { callback = nil }
  }
}

typealias SnapshotEvent = Result<ViewSnapshot, NSError>

/// The registration that applications hold.
final class ListenerHandle: NSObject, ListenerRegistration, Sendable {
  private let onRemove: @Sendable () -> Void

  init(onRemove: @escaping @Sendable () -> Void) {
    self.onRemove = onRemove
  }

  func remove() {
    onRemove()
  }
}
