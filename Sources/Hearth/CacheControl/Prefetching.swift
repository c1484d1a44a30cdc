internal import Foundation
internal import HearthModel
internal import HearthSync
internal import HearthTransport
internal import Synchronization

extension Query {
  /// Brings the query's result into the cache, without a listener, and waits for it.
  ///
  /// ```swift
  /// try await db.collection("products").prefetch(within: .seconds(30))
  /// ```
  ///
  /// The cache remembers how far the result is in sync, so that the next prefetch or listener of the same query transfers only what has
  /// changed. It does not keep the documents from being collected later; ``pin()`` does. A memory cache with eager collection drops them
  /// when the prefetch ends, unless the query is pinned.
  ///
  /// Offline it fails as soon as that is known, which takes at most ten seconds after a start; nothing is queued. Cancelling the task ends
  /// the transfer; what has come by then as a consistent state stays in the cache. While a pending write takes a document out of a result that
  /// fills its limit, the prefetch waits until the write is answered, because the backend sends what moves up only then. After ten seconds it
  /// fails.
  ///
  /// - Parameter limit: The longest time to wait; nil for none but that.
  /// - Throws: `unavailable` if the backend cannot be reached, or does not answer such a write; `deadlineExceeded` when the time is over;
  ///   errors of the backend, such as `permissionDenied`, and of the cache's file; `CancellationError`.
  nonisolated(nonsending) public func prefetch(within limit: Duration? = nil) async throws {
    for try await _ in prefetchProgress(within: limit) {}
    try Task.checkCancellation()
  }

  /// Brings the query's result into the cache as ``prefetch(within:)`` does, and reports how far it is.
  ///
  /// - Parameters:
  ///   - limit: The longest time to wait; nil for none.
  ///   - countsDocuments: True to ask the backend how many documents the query has, which it bills like every aggregation. The sequence does
  ///     not end before the answer. Documents that the cache has already are not transferred again, so that fewer may come.
  /// - Returns: A sequence that begins when it is iterated, and ends when the result is in sync. It throws the errors of
  ///   ``prefetch(within:)``.
  public func prefetchProgress(within limit: Duration? = nil, countsDocuments: Bool = false) -> PrefetchSequence {
    requireRunnable()
    return PrefetchSequence(query: self, limit: limit, countsDocuments: countsDocuments)
  }
}

/// How far a prefetch is. See ``Query/prefetchProgress(within:countsDocuments:)``.
public struct PrefetchProgress: Sendable, Hashable {
  /// Documents that the backend has sent so far. Where another process that shares the cache has the connection, they are not counted
  /// before the end, and stay 0.
  public internal(set) var receivedDocumentCount = 0
  /// Documents of the query at the backend; nil as long as that is not known. In the last element it is nil only if it was not asked for or the
  /// backend did not say.
  public internal(set) var totalDocumentCount: Int?
  /// True in the last element: the cache holds the result.
  public internal(set) var isFinished = false
}

/// The progress of a prefetch, for `for try await`. See ``Query/prefetchProgress(within:countsDocuments:)``.
///
/// Each iterator is a prefetch of its own. It ends with the task's cancellation and when the iterator is released.
public struct PrefetchSequence: AsyncSequence, Sendable {
  /// The progress.
  public typealias Element = PrefetchProgress
  /// An error of ``FirestoreErrorDomain``.
  public typealias Failure = any Error

  let query: Query
  let limit: Duration?
  let countsDocuments: Bool

  /// Starts the prefetch.
  public func makeAsyncIterator() -> Iterator {
    let prefetch = Prefetch()
    let runtime = query.firestore.runtime()
    let registration: ListenerHandle
    if let fault = query.fault {
      registration = runtime.refuse(fault, on: nil) { prefetch.ended($0) }
    } else {
      if countsDocuments { prefetch.count(query) }
      registration = runtime.getOnce(query.model, received: { prefetch.received($0) }) { prefetch.ended($0) }
    }
    let deadline = limit.map { limit in
      Task {
        if limit > .zero { try await ContinuousClock().sleep(for: limit) }
        prefetch.runsOut(.firestore(.deadlineExceeded, "The prefetch of the query has not ended within \(limit)."))
        registration.remove()
      }
    }
    return Iterator(
      subscription: SnapshotSubscription(
        prefetch.buffer,
        ListenerHandle {
          deadline?.cancel()
          registration.remove()
        }))
  }

  /// The iterator of ``PrefetchSequence``.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let subscription: SnapshotSubscription<PrefetchProgress>

    /// The next progress, waiting for it; nil after the last one, and after the task was cancelled.
    public mutating func next() async throws -> PrefetchProgress? { try await subscription.next() }
  }
}

/// The state of one prefetch, which the client's loop and a call to the backend change.
private final class Prefetch: Sendable {
  let buffer = SnapshotBuffer<PrefetchProgress> { _, new in new }
  private let state = Mutex(State())

  private struct State {
    var progress = PrefetchProgress()
    var isCounting = false
  }

  func received(_ count: Int) {
    buffer.add(
      state.withLock {
        $0.progress.receivedDocumentCount = count
        return $0.progress
      })
  }

  /// Without the number the prefetch goes on as well.
  func count(_ query: Query) {
    state.withLock { $0.isCounting = true }
    let aggregations = query.count.aggregations
    query.firestore.runtime().callBackend({ [model = query.model] transport throws(StatusError) in
      try await transport.aggregate(model, aggregations)
    }) { [self] result in
      var total: Int?
      if case .success(let answer) = result, case .integer(let count)? = answer.values.values.first {
        total = Int(clamping: count)
      }
      counted(total)
    }
  }

  /// The last element has the number, so the sequence ends when both the result and the number are there.
  private func counted(_ total: Int?) {
    let progress = state.withLock { state in
      state.isCounting = false
      state.progress.totalDocumentCount = total
      return state.progress
    }
    if total != nil || progress.isFinished { buffer.add(progress) }
    if progress.isFinished { buffer.finish(throwing: nil) }
  }

  func ended(_ event: SnapshotEvent) {
    switch event {
    case .success(let view) where !view.isAnswered:
      fail(
        .firestore(
          .unavailable,
          "The query cannot be prefetched: the client is offline, or the backend does not answer a write in its result."
        ))
    case .success:
      let (isCounting, progress) = state.withLock { state in
        state.progress.isFinished = true
        return (state.isCounting, state.progress)
      }
      guard !isCounting else { return }
      buffer.add(progress)
      buffer.finish(throwing: nil)
    case .failure(let error):
      fail(error)
    }
  }

  func fail(_ error: NSError) {
    buffer.finish(throwing: error)
  }

  /// The time is over. If nothing but the number is missing, the prefetch ends well without it.
  func runsOut(_ error: NSError) {
    let progress = state.withLock(\.progress)
    guard progress.isFinished else { return fail(error) }
    buffer.add(progress)
    buffer.finish(throwing: nil)
  }
}

@available(
  *, unavailable, message: "An iterator belongs to one task. Make another one from the sequence, which is Sendable."
)
extension PrefetchSequence.Iterator: Sendable {}
