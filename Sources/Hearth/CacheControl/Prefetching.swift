internal import Foundation
internal import HearthModel
internal import HearthSync
internal import HearthTransport
internal import Synchronization

extension Query {
  /// Fetches the query's result into the cache without a listener, and waits for it.
  ///
  /// ```swift
  /// try await db.collection("products").prefetch(within: .seconds(30))
  /// ```
  ///
  /// The cache remembers how far the result is in sync, so the next prefetch or listener of the same query transfers only changes. A
  /// prefetch does not protect the documents from later garbage collection; ``pin()`` does. A memory cache with eager garbage collection
  /// drops them when the prefetch ends, unless the query is pinned.
  ///
  /// Offline it fails as soon as the client knows that it is offline, at most ten seconds after a start; nothing is queued. Cancelling the
  /// task ends the transfer; the last consistent state stays in the cache. If a pending write has removed a document from a result that
  /// fills its limit, the prefetch waits until the write is answered, because only then the backend sends the document that moves up. After
  /// ten seconds it fails.
  ///
  /// - Parameter limit: The longest time to wait; nil for no limit apart from those ten seconds.
  /// - Throws: `unavailable` if the backend cannot be reached, or does not answer such a write; `deadlineExceeded` when the time is over;
  ///   errors of the backend, such as `permissionDenied`, and of the cache's file; `CancellationError`.
  nonisolated(nonsending) public func prefetch(within limit: Duration? = nil) async throws {
    for try await _ in prefetchProgress(within: limit) {}
    try Task.checkCancellation()
  }

  /// Fetches the query's result into the cache as ``prefetch(within:)`` does, and reports the progress.
  ///
  /// - Parameters:
  ///   - limit: The longest time to wait; nil for none.
  ///   - countsDocuments: True to ask the backend for the number of the query's documents; it bills this like every aggregation. The
  ///     sequence does not end before the answer. Documents that the cache already has are not transferred again, so fewer may be received.
  /// - Returns: A sequence that begins when it is iterated, and ends when the result is in sync. It throws the errors of
  ///   ``prefetch(within:)``.
  public func prefetchProgress(within limit: Duration? = nil, countsDocuments: Bool = false) -> PrefetchSequence {
    requireRunnable()
    return PrefetchSequence(query: self, limit: limit, countsDocuments: countsDocuments)
  }
}

/// The progress of a prefetch. See ``Query/prefetchProgress(within:countsDocuments:)``.
public struct PrefetchProgress: Sendable, Hashable {
  /// The number of documents that the backend has sent so far. It stays 0 if another process that shares the cache has the connection.
  public internal(set) var receivedDocumentCount = 0
  /// The number of the query's documents at the backend; nil while it is unknown. In the last element it is nil only if it was not requested or
  /// the backend did not say.
  public internal(set) var totalDocumentCount: Int?
  /// True in the last element: the cache holds the result.
  public internal(set) var isFinished = false
}

/// The progress of a prefetch, for `for try await`. See ``Query/prefetchProgress(within:countsDocuments:)``.
///
/// Each iterator is a prefetch of its own. It ends when the task is cancelled or the iterator is released.
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
          "The query cannot be prefetched: the client is offline, or the backend has not answered a write to its result."
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
