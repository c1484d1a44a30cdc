public import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthSync

/// A write that the backend has refused. See ``Firestore/rejectedWrites``.
public struct RejectedWrite: Sendable, Hashable, Identifiable {
  /// The number that the write had in the outbox.
  public let id: Int64
  /// The time of the write by the device's clock, in microseconds.
  public let localWriteTime: Timestamp
  /// The time of the refusal by the device's clock, in microseconds.
  public let rejectedAt: Timestamp
  /// The parts in the order of the calls, as they were written.
  public let operations: [WriteOperation]
  /// The backend's error, such as `permissionDenied`.
  public let error: NSError

  init(_ rejected: RejectedBatch, firestore: Firestore) {
    id = rejected.batch.batchID
    localWriteTime = Timestamp(rejected.batch.localWriteTime)
    rejectedAt = Timestamp(rejected.rejectedAt.truncatedToMicroseconds())
    operations = Self.operations(of: rejected.batch, firestore: firestore)
    error = .firestore(rejected.error)
  }
}

/// The current user's refused writes, kept on disk until the program has dealt with them.
///
/// The documents show the state without them. ``OutboxSettings`` limits their number and age. Clearing the cache removes them.
public struct RejectedWrites: Sendable {
  let firestore: Firestore

  /// The refused writes, oldest first.
  ///
  /// - Throws: Errors of the cache's file.
  public func writes() async throws -> [RejectedWrite] {
    let outcome = Outcome<[RejectedBatch]>()
    firestore.runtime().rejectedBatches { outcome.resolve($0.mapError { $0 }) }
    return try await outcome.value().map { RejectedWrite($0, firestore: firestore) }
  }

  /// The present list, and then the list after each change of it or of the user.
  public var snapshots: RejectedWriteSnapshots { RejectedWriteSnapshots(firestore: firestore) }

  /// Forgets a refused write.
  ///
  /// - Throws: `notFound` if no such write of the current user is in the list; `dataLoss` if the cache was damaged and reopened during the
  ///   call, and the write could not be found in it; errors of the cache's file.
  public func discard(_ id: RejectedWrite.ID) async throws {
    try await firestore.outcome { firestore.runtime().outbox(.discardRejected([id]), $0) }
  }

  /// Forgets all refused writes of the current user.
  ///
  /// - Throws: Errors of the cache's file.
  public func discardAll() async throws {
    try await firestore.outcome { firestore.runtime().outbox(.discardRejected(nil), $0) }
  }

  /// Submits a refused write again, as a new write at the end of the outbox. It applies to the documents as they are now, with its original
  /// preconditions, and leaves the list in the same step. If it is refused again, it comes back under a new number.
  ///
  /// - Returns: The receipt of the new write, at once. Its ``WriteReceipt/saved()`` throws `notFound` if no such write of the current user
  ///   is in the list, and `dataLoss` if the cache was damaged and reopened before, and the write could not be found in it.
  @discardableResult
  public func resubmit(_ id: RejectedWrite.ID) -> WriteReceipt {
    firestore.writeWithReceipt([], resubmitting: id)
  }
}

/// The lists of refused writes as a sequence, for `for try await`. See ``RejectedWrites/snapshots``.
///
/// The sequence ends by throwing an error of the cache, or `cancelled` when the client is terminated.
public struct RejectedWriteSnapshots: AsyncSequence, Sendable {
  /// The whole list, oldest first.
  public typealias Element = [RejectedWrite]
  /// An error of ``FirestoreErrorDomain``.
  public typealias Failure = any Error

  let firestore: Firestore

  /// Starts observing.
  public func makeAsyncIterator() -> Iterator {
    let firestore = firestore
    return Iterator(
      subscription: firestore.observeOutbox { contents in
        contents.rejected.map { RejectedWrite($0, firestore: firestore) }
      })
  }

  /// The iterator of ``RejectedWriteSnapshots``.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: SnapshotSubscription<[RejectedWrite]>
    private var former: [RejectedWrite]?

    init(subscription: SnapshotSubscription<[RejectedWrite]>) {
      self.subscription = subscription
    }

    /// The next list, waiting for it; nil after the task was cancelled.
    public mutating func next() async throws -> [RejectedWrite]? {
      try await subscription.next(after: &former)
    }
  }
}

@available(
  *, unavailable, message: "An iterator belongs to one task. Make another one from the sequence, which is Sendable."
)
extension RejectedWriteSnapshots.Iterator: Sendable {}
