/// The snapshots of a query as they come, for `for try await`.
///
/// Each iterator has a listener of its own, which is added when the iterator is made and removed when the task is cancelled or
/// the iterator is dropped. A listener's error ends the sequence by being thrown. Snapshots that are not awaited in time are
/// kept; none is skipped. The settings' dispatch queue is not involved.
public struct QuerySnapshotsSequence: AsyncSequence, Sendable {
  /// A snapshot.
  public typealias Element = QuerySnapshot
  /// A listener's error, of ``FirestoreErrorDomain``.
  public typealias Failure = any Error

  private let query: Query
  private let includeMetadataChanges: Bool

  /// The snapshots of a query.
  ///
  /// - Parameter includeMetadataChanges: Whether there are snapshots for changes of metadata alone.
  public init(_ query: Query, includeMetadataChanges: Bool) {
    self.query = query
    self.includeMetadataChanges = includeMetadataChanges
  }

  /// Starts listening.
  public func makeAsyncIterator() -> Iterator {
    let options = SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges)
    return Iterator(
      base: AsyncThrowingStream { continuation in
        let registration = query.observe(options: options, on: nil) { result in
          switch result {
          case .success(let snapshot): continuation.yield(snapshot)
          case .failure(let error): continuation.finish(throwing: error)
          }
        }
        continuation.onTermination = { _ in registration.remove() }
      }.makeAsyncIterator())
  }

  /// The iterator of ``QuerySnapshotsSequence``.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var base: AsyncThrowingStream<QuerySnapshot, any Error>.Iterator

    /// The next snapshot; nil after the task was cancelled. Throws the listener's error.
    public mutating func next() async throws -> QuerySnapshot? { try await base.next() }
  }
}

/// The snapshots of a document as they come, for `for try await`. The rules are those of ``QuerySnapshotsSequence``.
public struct DocumentSnapshotsSequence: AsyncSequence, Sendable {
  /// A snapshot.
  public typealias Element = DocumentSnapshot
  /// A listener's error, of ``FirestoreErrorDomain``.
  public typealias Failure = any Error

  private let reference: DocumentReference
  private let includeMetadataChanges: Bool

  /// The snapshots of a document.
  ///
  /// - Parameter includeMetadataChanges: Whether there are snapshots for changes of metadata alone.
  public init(_ documentReference: DocumentReference, includeMetadataChanges: Bool) {
    reference = documentReference
    self.includeMetadataChanges = includeMetadataChanges
  }

  /// Starts listening.
  public func makeAsyncIterator() -> Iterator {
    let options = SnapshotListenOptions().withIncludeMetadataChanges(includeMetadataChanges)
    return Iterator(
      base: AsyncThrowingStream { continuation in
        let registration = reference.observe(options: options, on: nil) { result in
          switch result {
          case .success(let snapshot): continuation.yield(snapshot)
          case .failure(let error): continuation.finish(throwing: error)
          }
        }
        continuation.onTermination = { _ in registration.remove() }
      }.makeAsyncIterator())
  }

  /// The iterator of ``DocumentSnapshotsSequence``.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate var base: AsyncThrowingStream<DocumentSnapshot, any Error>.Iterator

    /// The next snapshot; nil after the task was cancelled. Throws the listener's error.
    public mutating func next() async throws -> DocumentSnapshot? { try await base.next() }
  }
}
