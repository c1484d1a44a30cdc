internal import Foundation

/// The result of a ``TypedQuery`` at one moment, decoded.
public struct TypedQuerySnapshot<Model: QueryableModel>: Sendable {
  /// The decoded documents in the query's order.
  public let documents: [Model]
  /// The errors of the documents that could not be decoded, by path. Empty unless failures are ignored.
  public let failures: [String: any Error]
  /// The snapshot itself, with the changes since the one before.
  public let snapshot: QuerySnapshot

  /// The origin of the result (cache or backend), and whether any document in it contains local writes.
  public var metadata: SnapshotMetadata { snapshot.metadata }

  /// See ``QuerySnapshot/completeness``.
  public var completeness: QueryCompleteness { snapshot.completeness }

  init(_ snapshot: QuerySnapshot, _ strategy: DecodingFailureStrategy) throws {
    let decoder = Model.documentDecoder
    var documents: [Model] = []
    documents.reserveCapacity(snapshot.count)
    var failures: [String: any Error] = [:]
    for document in snapshot.documents {
      do {
        documents.append(try document.data(as: Model.self, decoder: decoder))
      } catch {
        guard strategy == .ignore else { throw error }
        failures[document.reference.path] = error
      }
    }
    self.documents = documents
    self.failures = failures
    self.snapshot = snapshot
  }
}

/// The snapshots of a ``TypedQuery`` as a sequence, for `for try await`.
///
/// The rules are those of ``QuerySnapshotsSequence``. A mistake in the query is thrown at the first step. Documents are decoded in the
/// task that awaits the snapshot.
public struct TypedQuerySnapshotsSequence<Model: QueryableModel>: AsyncSequence, Sendable {
  /// A snapshot.
  public typealias Element = TypedQuerySnapshot<Model>
  /// A mistake in the query, a listener's error, or an error of decoding.
  public typealias Failure = any Error

  private let snapshots: Result<QuerySnapshotsSequence, NSError>
  private let strategy: DecodingFailureStrategy

  init(_ snapshots: Result<QuerySnapshotsSequence, NSError>, _ strategy: DecodingFailureStrategy) {
    self.snapshots = snapshots
    self.strategy = strategy
  }

  /// Starts listening.
  public func makeAsyncIterator() -> Iterator {
    switch snapshots {
    case .success(let snapshots): Iterator(state: .listening(snapshots.makeAsyncIterator()), strategy: strategy)
    case .failure(let error): Iterator(state: .failed(error), strategy: strategy)
    }
  }

  /// The iterator of ``TypedQuerySnapshotsSequence``.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate enum State {
      case listening(QuerySnapshotsSequence.Iterator)
      case failed(NSError)
      case ended
    }

    fileprivate var state: State
    fileprivate let strategy: DecodingFailureStrategy

    /// The next snapshot, waiting for it; nil after the task was cancelled or an error was thrown. Throws the errors that
    /// ``Failure`` names.
    public mutating func next() async throws -> TypedQuerySnapshot<Model>? {
      switch state {
      case .ended:
        return nil
      case .failed(let error):
        state = .ended
        throw error
      case .listening(var snapshots):
        do {
          // The listener ends with the last reference to it, so an error of decoding must not leave one behind.
          let snapshot = try await snapshots.next()
          let decoded = try snapshot.map { try TypedQuerySnapshot<Model>($0, strategy) }
          state = decoded == nil ? .ended : .listening(snapshots)
          return decoded
        } catch {
          state = .ended
          throw error
        }
      }
    }
  }
}

@available(
  *, unavailable, message: "An iterator belongs to one task. Make another one from the sequence, which is Sendable."
)
extension TypedQuerySnapshotsSequence.Iterator: Sendable {}
