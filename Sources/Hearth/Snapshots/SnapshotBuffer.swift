internal import Synchronization

/// Holds the snapshots of a listener until the task that awaits them takes them.
///
/// At most ``limit`` wait, unless another limit is set. A further one is merged with the last of them. So a task that is slow, or that has stopped asking, costs a
/// bounded number of snapshots and still sees every change and, in the end, the newest state.
///
/// | state | snapshot comes | task asks | end comes |
/// |---|---|---|---|
/// | open, no task waits | kept | gets the oldest, or waits | ended |
/// | open, a task waits | resumes it | (one task at a time) | resumes it: ended |
/// | ended | ignored | the kept snapshots, then the error once, then nil | ignored |
///
/// Continuations are resumed, and snapshots released, without the lock. Callers of ``add(_:)`` and ``finish(throwing:)`` must not hold a
/// lock either that a cancellation handler may take: resuming a task waits while its cancellation handler runs.
final class SnapshotBuffer<Element: Sendable>: Sendable {
  private enum Phase {
    case open(CheckedContinuation<Element?, any Error>?)
    case ended((any Error)?)
  }

  private struct State {
    var kept: [Element] = []
    var phase = Phase.open(nil)
  }

  /// The number of snapshots that are kept one by one, unless another one is set.
  static var limit: Int { 64 }

  private let limit: Int
  private let merge: @Sendable (_ last: Element, _ new: Element) -> Element
  private let state = Mutex(State())

  /// - Parameter limit: The number of snapshots that are kept one by one.
  init(
    limit: Int = SnapshotBuffer.limit, merging merge: @escaping @Sendable (_ last: Element, _ new: Element) -> Element
  ) {
    self.limit = limit
    self.merge = merge
  }

  /// The number of waiting snapshots.
  var count: Int { state.withLock { $0.kept.count } }

  /// True if a task waits for the next snapshot.
  var isAwaited: Bool {
    state.withLock { state in
      if case .open(_?) = state.phase { return true }
      return false
    }
  }

  /// Adds a snapshot of the listener; calls come one after the other.
  func add(_ element: Element) {
    // The last snapshot is removed while it is merged, so that the lock is free during the merge; only this method adds snapshots.
    let (waiting, last) = state.withLock { state -> (CheckedContinuation<Element?, any Error>?, Element?) in
      guard case .open(let waiting) = state.phase else { return (nil, nil) }
      guard waiting == nil else {
        state.phase = .open(nil)
        return (waiting, nil)
      }
      if state.kept.count >= limit { return (nil, state.kept.removeLast()) }
      state.kept.append(element)
      return (nil, nil)
    }
    if let waiting { return waiting.resume(returning: element) }
    if let last { put(merge(last, element)) }
  }

  /// Adds a merged snapshot, unless the sequence has ended or its task has caught up in between.
  private func put(_ element: Element) {
    let waiting = state.withLock { state -> CheckedContinuation<Element?, any Error>? in
      guard case .open(let waiting) = state.phase else { return nil }
      if waiting == nil { state.kept.append(element) } else { state.phase = .open(nil) }
      return waiting
    }
    waiting?.resume(returning: element)
  }

  /// Ends the sequence once the kept snapshots have been taken.
  func finish(throwing error: (any Error)?) {
    let waiting = state.withLock { state -> CheckedContinuation<Element?, any Error>? in
      guard case .open(let waiting) = state.phase else { return nil }
      state.phase = .ended(waiting == nil ? error : nil)
      return waiting
    }
    guard let waiting else { return }
    if let error { waiting.resume(throwing: error) } else { waiting.resume(returning: nil) }
  }

  /// Ends the sequence at once: the kept snapshots are dropped.
  func cancel() {
    let (waiting, dropped) = state.withLock { state -> (CheckedContinuation<Element?, any Error>?, [Element]) in
      defer { state.kept = [] }
      guard case .open(let waiting) = state.phase else { return (nil, state.kept) }
      state.phase = .ended(nil)
      return (waiting, state.kept)
    }
    waiting?.resume(returning: nil)
    withExtendedLifetime(dropped) {}
  }

  /// The oldest snapshot that is kept, or the next one; nil at the end. Throws the listener's error once.
  func next() async throws -> Element? {
    try await withCheckedThrowingContinuation { continuation in
      let answer = state.withLock { state -> Result<Element?, any Error>? in
        if !state.kept.isEmpty { return .success(state.kept.removeFirst()) }
        switch state.phase {
        case .ended(let error):
          state.phase = .ended(nil)
          return error.map { .failure($0) } ?? .success(nil)
        case .open(nil):
          state.phase = .open(continuation)
          return nil
        case .open(_?):
          // A second task asks an iterator that is not Sendable. It gets nothing; otherwise the first one would wait forever.
          return .success(nil)
        }
      }
      if let answer { continuation.resume(with: answer) }
    }
  }
}

/// A listener whose snapshots a task awaits. It ends with the task's cancellation and with the last reference to this object.
final class SnapshotSubscription<Element: Sendable>: Sendable {
  private let buffer: SnapshotBuffer<Element>
  private let registration: ListenerHandle

  init(_ buffer: SnapshotBuffer<Element>, _ registration: ListenerHandle) {
    self.buffer = buffer
    self.registration = registration
  }

  deinit { registration.remove() }

  func next() async throws -> Element? {
    try await withTaskCancellationHandler {
      try await buffer.next()
    } onCancel: {
      registration.remove()
      buffer.cancel()
    }
  }
}

extension SnapshotSubscription where Element: Equatable {
  /// The next snapshot that differs from the former one, of an observer that is notified of other changes as well.
  func next(after former: inout Element?) async throws -> Element? {
    while let element = try await next() {
      if element != former {
        former = element
        return element
      }
    }
    return nil
  }
}
