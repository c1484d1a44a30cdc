internal import Foundation

extension Firestore {
  /// Returns the present state of the client. Addition to the official API.
  ///
  /// It starts the client, and works offline.
  ///
  /// - Throws: Errors of the cache's file.
  public func status() async throws -> FirestoreStatus {
    let outcome = Outcome<FirestoreStatus>()
    runtime().readStatus { outcome.resolve($0.mapError { $0 }) }
    return try await outcome.value()
  }

  /// The states of the client: the present one, and then one after each change. Addition to the official API.
  ///
  /// It works offline. Nothing is computed while no task iterates.
  public var statuses: FirestoreStatuses { FirestoreStatuses(firestore: self) }
}

/// The states of a client, for `for try await`. See ``Firestore/statuses``.
///
/// A slow task misses states in between, but not the last one. Two successive states are never equal. The sequence ends by throwing an
/// error of the cache, or `cancelled` when the client is terminated.
public struct FirestoreStatuses: AsyncSequence, Sendable {
  /// A state.
  public typealias Element = FirestoreStatus
  /// An error of ``FirestoreErrorDomain``.
  public typealias Failure = any Error

  let firestore: Firestore

  /// Starts observing.
  public func makeAsyncIterator() -> Iterator {
    Iterator(subscription: firestore.observeStatus())
  }

  /// The iterator of ``FirestoreStatuses``.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: SnapshotSubscription<FirestoreStatus>
    private var former: FirestoreStatus?

    init(subscription: SnapshotSubscription<FirestoreStatus>) {
      self.subscription = subscription
    }

    /// The next state, waiting for it; nil after the task was cancelled.
    public mutating func next() async throws -> FirestoreStatus? {
      while let status = try await subscription.next() {
        guard status != former else { continue }
        former = status
        return status
      }
      return nil
    }
  }
}

extension Firestore {
  /// Observes the state; of several that nobody has taken, only the newest is kept.
  func observeStatus() -> SnapshotSubscription<FirestoreStatus> {
    let buffer = SnapshotBuffer<FirestoreStatus>(limit: 1) { _, new in new }
    let registration = runtime().observeStatus { event in
      switch event {
      case .success(let status): buffer.add(status)
      case .failure(let error): buffer.finish(throwing: error)
      }
    }
    return SnapshotSubscription(buffer, registration)
  }
}

@available(
  *, unavailable, message: "An iterator belongs to one task. Make another one from the sequence, which is Sendable."
)
extension FirestoreStatuses.Iterator: Sendable {}
