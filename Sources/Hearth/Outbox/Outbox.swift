internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthSync

/// The current user's pending writes. See ``Firestore/outbox``.
///
/// The outbox belongs to the cache, not to this process. It holds the writes of earlier runs of the program and of other processes that
/// share the cache. All processes see each other's changes of the outbox.
public struct Outbox: Sendable {
  let firestore: Firestore

  /// Returns the pending writes, oldest first. Same as ``Firestore/pendingWrites()``.
  ///
  /// - Throws: `unavailable` if some writes are not saved yet; other errors of the cache's file.
  public func writes() async throws -> [PendingWrite] {
    try await firestore.pendingWrites()
  }

  /// Returns the number of pending writes, including unsaved ones. Counting costs less than listing them.
  ///
  /// - Throws: Errors of the cache's file.
  public func count() async throws -> Int {
    let outcome = Outcome<Int>()
    firestore.runtime().pendingWriteCount { outcome.resolve($0.mapError { $0 }) }
    return try await outcome.value()
  }

  /// The snapshots of the outbox: the present one, and then one after each change of the outbox, of a write's state, or of the user.
  ///
  /// A slow task, or a long outbox that changes often, may miss snapshots, but no change: each snapshot has all changes since the one
  /// before.
  public var snapshots: OutboxSnapshots { OutboxSnapshots(firestore: firestore) }

  /// Cancels a write that was not sent. Listeners then show the documents without it, and later increments start from the remaining value.
  ///
  /// - Parameters:
  ///   - id: ``PendingWrite/id``.
  ///   - evenIfSent: True to give up even a write that may have reached the backend. It is not sent again, and disappears from this device.
  ///     If the backend has committed it, listeners will show that. Its receipt ends with `cancelled` in either case.
  /// - Throws: `failedPrecondition` if the write may have reached the backend, so that its outcome is unknown (not with `evenIfSent`);
  ///   `notFound` if no such write of the current user is pending; `dataLoss` if the cache was damaged and reopened during the call, and
  ///   the write could not be found in it; errors of the cache's file. After an error nothing has changed.
  public func cancel(_ id: PendingWrite.ID, evenIfSent: Bool = false) async throws {
    try await firestore.outcome {
      firestore.runtime().outbox(.withdraw(id, evenIfSent: evenIfSent), $0)
    }
  }

  /// Ends the pause before the next attempt to reach the backend, in the process that has the connection. It returns at once; while the
  /// network is disabled it has no effect.
  ///
  /// - Throws: Errors of the cache's file.
  public func retryNow() async throws {
    try await firestore.outcome { firestore.runtime().outbox(.retryNow, $0) }
  }
}

extension Firestore {
  /// The pending writes, to list, observe, cancel or send at once. Addition to the official API.
  public var outbox: Outbox { Outbox(firestore: self) }

  /// The writes that the backend has refused. Addition to the official API.
  public var rejectedWrites: RejectedWrites { RejectedWrites(firestore: self) }
}

/// The outbox at one moment, with the changes since the snapshot before.
public struct OutboxSnapshot: Sendable {
  /// A difference between two snapshots.
  public enum Change: Sendable, Hashable {
    /// A write was queued.
    case added(PendingWrite)
    /// The state of a write, or its attempts, have changed.
    case modified(PendingWrite)
    /// A write has left the outbox: the backend has answered it, or it was cancelled. The value is its state in the snapshot before.
    case removed(PendingWrite)
  }

  /// The pending writes, oldest first.
  public let writes: [PendingWrite]
  /// The changes in the order of the writes; in the first snapshot all writes are added.
  public let changes: [Change]
  /// The number of the user's writes that are only in the memory of this process, because another process holds the cache's file. They are
  /// not in ``writes`` until they are saved, and are lost if this process is killed before.
  public let unsavedCount: Int
  /// The identity of the outbox, in words: the user's id, or in parentheses an identity that is not a user, such as `(signed out)`,
  /// `(service account server@my-project.iam.gserviceaccount.com)`, `(emulator owner)` and `(credentials NAME)` with
  /// ``FirestoreCredentials/outboxName``.
  public let owner: String

  init(
    _ writes: [PendingWrite], since former: [PendingWrite], unsavedCount: Int = 0,
    owner: String = OutboxOwner.nobody.inWords
  ) {
    self.owner = owner
    self.writes = writes
    self.unsavedCount = unsavedCount
    var changes: [Change] = []
    // Both are in ascending order.
    var old = former[...]
    for write in writes {
      while let first = old.first, first.id < write.id { changes.append(.removed(old.removeFirst())) }
      if let first = old.first, first.id == write.id {
        old.removeFirst()
        if first != write { changes.append(.modified(write)) }
      } else {
        changes.append(.added(write))
      }
    }
    self.changes = changes + old.map { .removed($0) }
  }
}

/// The snapshots of an outbox, for `for try await`. See ``Outbox/snapshots``.
///
/// The sequence ends by throwing an error of the cache, or `cancelled` when the client is terminated.
public struct OutboxSnapshots: AsyncSequence, Sendable {
  /// A snapshot.
  public typealias Element = OutboxSnapshot
  /// An error of ``FirestoreErrorDomain``.
  public typealias Failure = any Error

  let firestore: Firestore

  /// Starts observing.
  public func makeAsyncIterator() -> Iterator {
    let firestore = firestore
    return Iterator(
      subscription: firestore.observeOutbox { contents in
        Iterator.State(
          writes: contents.batches.map { PendingWrite($0, contents.status, firestore: firestore) },
          unsavedCount: contents.status.unsavedCount, owner: contents.owner)
      })
  }

  /// The iterator of ``OutboxSnapshots``.
  public struct Iterator: AsyncIteratorProtocol {
    struct State: Sendable {
      var writes: [PendingWrite]
      var unsavedCount: Int
      var owner: OutboxOwner
    }

    let subscription: SnapshotSubscription<State>
    private var former: State?

    init(subscription: SnapshotSubscription<State>) {
      self.subscription = subscription
    }

    /// The next snapshot, waiting for it; nil after the task was cancelled.
    public mutating func next() async throws -> OutboxSnapshot? {
      while let state = try await subscription.next() {
        let snapshot = OutboxSnapshot(
          state.writes, since: former?.writes ?? [], unsavedCount: state.unsavedCount, owner: state.owner.inWords)
        defer { former = state }
        if former?.unsavedCount != state.unsavedCount || former?.owner != state.owner || !snapshot.changes.isEmpty {
          return snapshot
        }
      }
      return nil
    }
  }
}

extension Firestore {
  /// Observes something of the outbox; of several states that nobody has taken, only the newest is kept.
  func observeOutbox<State: Sendable>(
    _ state: @escaping @Sendable (OutboxContents) -> State
  ) -> SnapshotSubscription<State> {
    let buffer = SnapshotBuffer<State> { _, new in new }
    let registration = runtime().observeOutbox { event in
      switch event {
      case .success(let contents): buffer.add(state(contents))
      case .failure(let error): buffer.finish(throwing: error)
      }
    }
    return SnapshotSubscription(buffer, registration)
  }
}

@available(
  *, unavailable, message: "An iterator belongs to one task. Make another one from the sequence, which is Sendable."
)
extension OutboxSnapshots.Iterator: Sendable {}
