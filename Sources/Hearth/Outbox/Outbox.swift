internal import Foundation
internal import HearthCache
internal import HearthModel
internal import HearthSync

/// The writes of the current user that wait for the backend. See ``Firestore/outbox``.
///
/// The outbox belongs to the cache, not to this process: it holds the writes of earlier runs of the program and of other processes that
/// share the cache, and what one process does to it the others see.
public struct Outbox: Sendable {
  let firestore: Firestore

  /// The writes that wait, oldest first. Same as ``Firestore/pendingWrites()``.
  ///
  /// - Throws: `unavailable` if there are writes that are not saved yet; other errors of the cache's file.
  public func writes() async throws -> [PendingWrite] {
    try await firestore.pendingWrites()
  }

  /// The number of writes that wait, those included that are not saved yet. It costs less than to list them.
  ///
  /// - Throws: Errors of the cache's file.
  public func count() async throws -> Int {
    let outcome = Outcome<Int>()
    firestore.runtime().pendingWriteCount { outcome.resolve($0.mapError { $0 }) }
    return try await outcome.value()
  }

  /// The outbox now, and then after each change of it, of a write's state, or of the user.
  ///
  /// A slow task, and a long outbox that changes often, miss snapshots, but no change: each snapshot has all changes since the one before.
  public var snapshots: OutboxSnapshots { OutboxSnapshots(firestore: firestore) }

  /// Takes a write back that was not sent. Listeners show the documents without it, and increments behind it start from what is left.
  ///
  /// - Parameters:
  ///   - id: ``PendingWrite/id``.
  ///   - evenIfSent: True to give up also a write that may have reached the backend. It is not sent again, and disappears here; whether
  ///     the backend has committed it, listeners will show. A receipt of it ends with `cancelled` all the same.
  /// - Throws: `failedPrecondition` if the write may have reached the backend, so that its fate is open (not with `evenIfSent`);
  ///   `notFound` if no such write of the current user waits; `dataLoss` if the cache was damaged and opened anew during the call and the
  ///   write could not be found in it; errors of the cache's file. Nothing has changed then.
  public func cancel(_ id: PendingWrite.ID, evenIfSent: Bool = false) async throws {
    try await firestore.outcome {
      firestore.runtime().outbox(.withdraw(id, evenIfSent: evenIfSent), $0)
    }
  }

  /// Ends the pauses between attempts to reach the backend, in whichever process has the connection. It returns at once; while the
  /// network is disabled it has no effect.
  ///
  /// - Throws: Errors of the cache's file.
  public func retryNow() async throws {
    try await firestore.outcome { firestore.runtime().outbox(.retryNow, $0) }
  }
}

extension Firestore {
  /// The writes that wait for the backend: to be listed, observed, taken back and sent at once. Addition to the official API.
  public var outbox: Outbox { Outbox(firestore: self) }

  /// The writes that the backend has refused. Addition to the official API.
  public var rejectedWrites: RejectedWrites { RejectedWrites(firestore: self) }
}

/// The outbox at one moment, and what has changed since the snapshot before.
public struct OutboxSnapshot: Sendable {
  /// A difference between two snapshots.
  public enum Change: Sendable, Hashable {
    /// A write was queued.
    case added(PendingWrite)
    /// The state of a write, or its attempts, have changed.
    case modified(PendingWrite)
    /// A write has left: the backend has answered it, or it was taken back. As it was in the snapshot before.
    case removed(PendingWrite)
  }

  /// The writes that wait, oldest first.
  public let writes: [PendingWrite]
  /// In order of the writes; in the first snapshot all of them are added.
  public let changes: [Change]
  /// The user's writes that are only in this process's memory, because another process holds the cache's file. They are not in ``writes``
  /// until they are saved, and are lost if this process is killed before.
  public let unsavedCount: Int
  /// The identity whose outbox it is, in words: the user's id, or in parentheses what is no user, such as `(signed out)`,
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
/// The sequence ends by throwing an error of the cache, and `cancelled` when the client is terminated.
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
