internal import HearthCache
internal import HearthModel
internal import HearthSync

/// The conflicts of the current user's writes that were resolved, with what was dropped, kept on disk until the program has dealt with them.
///
/// ```swift
/// for try await conflicts in db.resolvedConflicts.snapshots {
///   for conflict in conflicts where conflict.dropped.contains(.local) {
///     print("Another device has changed \(conflict.document.path) as well:", conflict.fields.map(\.name))
///     try await db.resolvedConflicts.discard(conflict.id)
///   }
/// }
/// ```
///
/// The list belongs to the cache: it has the conflicts of earlier runs of the program and of all processes that share the cache, whichever of
/// them has resolved them. The last 1,000 of each user are kept, for 30 days of the scale that
/// ``OutboxSettings/rejectedWriteAge`` explains. ``Firestore/clearPersistence()`` removes them,
/// ``Firestore/clearCache(_:securely:progress:)`` does not. They are not saved from a damaged file.
///
/// A resolution that was stored may still be refused, because the document has changed again. Then there is one more conflict of the write.
public struct ResolvedConflicts: Sendable {
  let firestore: Firestore

  /// The resolved conflicts, oldest first.
  ///
  /// - Throws: Errors of the cache's file.
  public func conflicts() async throws -> [ResolvedConflict] {
    let outcome = Outcome<[KeptConflict]>()
    firestore.runtime().resolvedConflicts { outcome.resolve($0.mapError { $0 }) }
    return try await outcome.value().map { ResolvedConflict($0, firestore: firestore) }
  }

  /// The list now, and then after each change of it or of the user.
  public var snapshots: ResolvedConflictSnapshots { ResolvedConflictSnapshots(firestore: firestore) }

  /// Forgets a conflict, for example when the user has seen it. One that is not in the list is none to forget.
  ///
  /// - Throws: Errors of the cache's file.
  public func discard(_ id: ResolvedConflict.ID) async throws {
    try await firestore.outcome { firestore.runtime().outbox(.discardResolvedConflicts([id.kept]), $0) }
  }

  /// Forgets all conflicts of the current user.
  ///
  /// - Throws: Errors of the cache's file.
  public func discardAll() async throws {
    try await firestore.outcome { firestore.runtime().outbox(.discardResolvedConflicts(nil), $0) }
  }
}

extension Firestore {
  /// The conflicts that rules have resolved, and what was dropped. Addition to the official API.
  public var resolvedConflicts: ResolvedConflicts { ResolvedConflicts(firestore: self) }
}

/// The lists of resolved conflicts as a sequence, for `for try await`. See ``ResolvedConflicts/snapshots``.
///
/// The sequence ends by throwing an error of the cache, and `cancelled` when the client is terminated.
public struct ResolvedConflictSnapshots: AsyncSequence, Sendable {
  /// The whole list, oldest first.
  public typealias Element = [ResolvedConflict]
  /// An error of ``FirestoreErrorDomain``.
  public typealias Failure = any Error

  let firestore: Firestore

  /// Starts observing.
  public func makeAsyncIterator() -> Iterator {
    let firestore = firestore
    return Iterator(
      subscription: firestore.observeOutbox { contents in
        contents.resolved.map { ResolvedConflict($0, firestore: firestore) }
      })
  }

  /// The iterator of ``ResolvedConflictSnapshots``.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: SnapshotSubscription<[ResolvedConflict]>
    private var former: [ResolvedConflict]?

    init(subscription: SnapshotSubscription<[ResolvedConflict]>) {
      self.subscription = subscription
    }

    /// The next list, waiting for it; nil after the task was cancelled.
    public mutating func next() async throws -> [ResolvedConflict]? {
      try await subscription.next(after: &former)
    }
  }
}

@available(
  *, unavailable, message: "An iterator belongs to one task. Make another one from the sequence, which is Sendable."
)
extension ResolvedConflictSnapshots.Iterator: Sendable {}
