internal import Foundation
internal import HearthModel
internal import HearthSync
internal import Synchronization

extension AggregateQuery {
  /// Starts listening, without calls for changes of metadata alone. See
  /// ``addSnapshotListener(includeMetadataChanges:listener:)``.
  @discardableResult
  public func addSnapshotListener(
    _ listener: @escaping (AggregateQuerySnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    addSnapshotListener(options: SnapshotListenOptions(), listener: listener)
  }

  /// Calls the listener with the values, and again whenever one of them has changed: at once after local writes, even offline, and after
  /// changes from the backend.
  ///
  /// This is a listener of the query, with the same reads at the backend, which it shares with other listeners of an equal query. Its
  /// documents are kept in memory, but no ``DocumentSnapshot`` is created. Each change of a document changes the values by that document's
  /// part, so the cost of a change does not grow with the result. The values are always those of the present documents, as
  /// ``getAggregation(source:completion:)`` would compute them: sums of integers and of doubles are exact, and rounded once.
  ///
  /// As for a query's listener, the first call comes from the cache when it holds matching documents or the device is offline, and
  /// ``AggregateQuerySnapshot/metadata`` and ``AggregateQuerySnapshot/completeness`` say so.
  ///
  /// - Parameters:
  ///   - includeMetadataChanges: True to call the listener even when only the metadata changed, such as `isFromCache`.
  ///   - listener: Called on the settings' queue, one call at a time. After an error the listener is not called any more; being offline is
  ///     no error. Errors: `invalidArgument` for no or more than five aggregations; errors of the backend, such as `permissionDenied`;
  ///     errors of the cache's file.
  @discardableResult
  public func addSnapshotListener(
    includeMetadataChanges: Bool, listener: @escaping (AggregateQuerySnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    addSnapshotListener(
      options: SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges), listener: listener)
  }

  /// Same as ``addSnapshotListener(includeMetadataChanges:listener:)``, with the choice of a source.
  @discardableResult
  public func addSnapshotListener(
    options: SnapshotListenOptions, listener: @escaping (AggregateQuerySnapshot?, (any Error)?) -> Void
  ) -> any ListenerRegistration {
    let queue = query.firestore.runtime().callbackQueue
    let listener = UncheckedSendableBox(listener)
    return observe(options: options, on: queue) { $0.pass(to: listener.value) }
  }

  /// The values as a sequence, without elements for changes of metadata alone.
  public var snapshots: AggregateQuerySnapshotsSequence { snapshots(includeMetadataChanges: false) }

  /// The values as a sequence.
  ///
  /// - Parameter includeMetadataChanges: True to get elements for changes of metadata alone, too.
  public func snapshots(includeMetadataChanges: Bool) -> AggregateQuerySnapshotsSequence {
    AggregateQuerySnapshotsSequence(self, includeMetadataChanges: includeMetadataChanges)
  }

  /// Listens on the queue of the callbacks.
  private func observe(
    options: SnapshotListenOptions, on queue: DispatchQueue,
    _ callback: @escaping @Sendable (Result<AggregateQuerySnapshot, NSError>) -> Void
  ) -> ListenerHandle {
    if let refusal {
      let listener = Listener(id: ListenerID(rawValue: 0), queue: queue, callback: callback)
      listener.deliver(.failure(refusal))
      return ListenerHandle { listener.remove() }
    }
    return listen(options, on: queue, aggregation(options, callback))
  }

  /// Listens for a task, which must not depend on a queue that the application drains. The values are computed outside the client's loop.
  fileprivate func observe(
    options: SnapshotListenOptions, _ callback: @escaping @Sendable (Result<AggregateQuerySnapshot, NSError>) -> Void
  ) -> ListenerHandle {
    if let refusal {
      callback(.failure(refusal))
      return ListenerHandle {}
    }
    let queue = DispatchQueue(label: "hearth.aggregation")
    let aggregation = aggregation(options, callback)
    return listen(options, on: nil) { event in queue.async { aggregation(event) } }
  }

  private func listen(
    _ options: SnapshotListenOptions, on queue: DispatchQueue?, _ callback: @escaping @Sendable (SnapshotEvent) -> Void
  ) -> ListenerHandle {
    let listened = LiveAggregation.listened(query.model, for: aggregations)
    return query.firestore.runtime().listen(listened, options: options.listenOptions, on: queue, callback)
  }

  /// Returns what turns the snapshots of the query into changes of the values. Calls must come one after the other.
  private func aggregation(
    _ options: SnapshotListenOptions, _ callback: @escaping @Sendable (Result<AggregateQuerySnapshot, NSError>) -> Void
  ) -> @Sendable (SnapshotEvent) -> Void {
    let live = LiveAggregation(
      aggregations, of: query.model, includesMetadataChanges: options.includeMetadataChanges)
    let state = AggregationState(live)
    return { [self] event in
      switch event {
      case .success(let view):
        do {
          if let result = try state.update(view) {
            callback(.success(AggregateQuerySnapshot(query: self, result: result)))
          }
        } catch {
          callback(.failure(.firestore(error)))
        }
      case .failure(let error): callback(.failure(error))
      }
    }
  }
}

/// The aggregation of one listener; it ends with the first error.
private final class AggregationState: Sendable {
  private let live: Mutex<LiveAggregation?>

  init(_ aggregation: LiveAggregation) {
    live = Mutex(aggregation)
  }

  func update(_ view: ViewSnapshot) throws -> AggregateResult? {
    try live.withLock { live in
      do {
        return try live?.update(view)
      } catch {
        live = nil
        throw error
      }
    }
  }
}

/// The values of an ``AggregateQuery`` as a sequence, for `for try await`.
///
/// Each iterator has its own listener. It is added when the iterator is created, and removed when the task is cancelled or the iterator is
/// released. The sequence ends by throwing a listener's error, or `cancelled` when the client is terminated. At most 64 elements that are
/// not awaited yet are kept; then the newest replaces the one before it. The settings' dispatch queue is not involved.
public struct AggregateQuerySnapshotsSequence: AsyncSequence, Sendable {
  /// The values at one moment.
  public typealias Element = AggregateQuerySnapshot
  /// A listener's error, of ``FirestoreErrorDomain``.
  public typealias Failure = any Error

  private let query: AggregateQuery
  private let includeMetadataChanges: Bool

  fileprivate init(_ query: AggregateQuery, includeMetadataChanges: Bool) {
    self.query = query
    self.includeMetadataChanges = includeMetadataChanges
  }

  /// Starts listening.
  public func makeAsyncIterator() -> Iterator {
    let options = SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges)
    let buffer = SnapshotBuffer<AggregateQuerySnapshot> { _, new in new }
    let registration = query.observe(options: options) { result in
      switch result {
      case .success(let snapshot): buffer.add(snapshot)
      case .failure(let error): buffer.finish(throwing: error)
      }
    }
    return Iterator(subscription: SnapshotSubscription(buffer, registration))
  }

  /// The iterator of ``AggregateQuerySnapshotsSequence``.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let subscription: SnapshotSubscription<AggregateQuerySnapshot>

    /// The next values, waiting for them; nil after the task was cancelled. Throws the listener's error.
    public mutating func next() async throws -> AggregateQuerySnapshot? { try await subscription.next() }
  }
}

@available(
  *, unavailable, message: "An iterator belongs to one task. Make another one from the sequence, which is Sendable."
)
extension AggregateQuerySnapshotsSequence.Iterator: Sendable {}
