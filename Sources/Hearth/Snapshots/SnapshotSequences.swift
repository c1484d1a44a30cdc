/// The snapshots of a query as a sequence, for `for try await`.
///
/// Each iterator has its own listener. It is added when the iterator is created, and removed when the task is cancelled or the iterator is
/// released. The sequence ends by throwing a listener's error, or `cancelled` when the client is terminated. At most 64 snapshots that are
/// not awaited yet are kept; then the newest two are merged, with the changes of both. So no change is lost, and a loop that is slower than
/// its listener uses bounded memory. The settings' dispatch queue is not involved.
public struct QuerySnapshotsSequence: AsyncSequence, Sendable {
  /// A snapshot.
  public typealias Element = QuerySnapshot
  /// A listener's error, of ``FirestoreErrorDomain``.
  public typealias Failure = any Error

  private let query: Query
  private let includeMetadataChanges: Bool

  /// The snapshots of a query.
  ///
  /// - Parameters:
  ///   - query: The query that every iterator listens to.
  ///   - includeMetadataChanges: True to get snapshots for changes of metadata alone, too.
  public init(_ query: Query, includeMetadataChanges: Bool) {
    self.query = query
    self.includeMetadataChanges = includeMetadataChanges
  }

  /// Starts listening.
  public func makeAsyncIterator() -> Iterator {
    let options = SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges)
    let buffer = SnapshotBuffer<QuerySnapshot> { last, new in new.merging(last) }
    let registration = query.observe(options: options, on: nil) { result in
      switch result {
      case .success(let snapshot): buffer.add(snapshot)
      case .failure(let error): buffer.finish(throwing: error)
      }
    }
    return Iterator(subscription: SnapshotSubscription(buffer, registration))
  }

  /// The iterator of ``QuerySnapshotsSequence``.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let subscription: SnapshotSubscription<QuerySnapshot>

    /// The next snapshot, waiting for it; nil after the task was cancelled. Throws the listener's error.
    public mutating func next() async throws -> QuerySnapshot? { try await subscription.next() }
  }
}

/// The snapshots of a document as a sequence, for `for try await`. The rules are those of ``QuerySnapshotsSequence``.
public struct DocumentSnapshotsSequence: AsyncSequence, Sendable {
  /// A snapshot.
  public typealias Element = DocumentSnapshot
  /// A listener's error, of ``FirestoreErrorDomain``.
  public typealias Failure = any Error

  private let reference: DocumentReference
  private let includeMetadataChanges: Bool

  /// The snapshots of a document.
  ///
  /// - Parameters:
  ///   - documentReference: The document that every iterator listens to.
  ///   - includeMetadataChanges: True to get snapshots for changes of metadata alone, too.
  public init(_ documentReference: DocumentReference, includeMetadataChanges: Bool) {
    reference = documentReference
    self.includeMetadataChanges = includeMetadataChanges
  }

  /// Starts listening.
  public func makeAsyncIterator() -> Iterator {
    let options = SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges)
    let buffer = SnapshotBuffer<DocumentSnapshot> { _, new in new }
    let registration = reference.observe(options: options, on: nil) { result in
      switch result {
      case .success(let snapshot): buffer.add(snapshot)
      case .failure(let error): buffer.finish(throwing: error)
      }
    }
    return Iterator(subscription: SnapshotSubscription(buffer, registration))
  }

  /// The iterator of ``DocumentSnapshotsSequence``.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let subscription: SnapshotSubscription<DocumentSnapshot>

    /// The next snapshot, waiting for it; nil after the task was cancelled. Throws the listener's error.
    public mutating func next() async throws -> DocumentSnapshot? { try await subscription.next() }
  }
}

@available(
  *, unavailable, message: "An iterator belongs to one task. Make another one from the sequence, which is Sendable."
)
extension QuerySnapshotsSequence.Iterator: Sendable {}

@available(
  *, unavailable, message: "An iterator belongs to one task. Make another one from the sequence, which is Sendable."
)
extension DocumentSnapshotsSequence.Iterator: Sendable {}
