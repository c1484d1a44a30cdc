internal import Foundation
internal import HearthModel

/// A query whose conditions and orders name properties of a model, and whose documents are decoded.
///
/// ```swift
/// let cities = db.collection("cities", of: City.self)
/// let large = cities.where(\.population > 1_000_000).order(by: \.population, descending: true).limit(to: 3)
/// for city in try await large.getDocuments().documents { print(city.name) }
/// ```
///
/// Typed queries are immutable, as ``Query`` is: each method returns a new one. A mistake that the compiler cannot find does not stop the
/// process. The query remembers the first mistake, and ``query``, ``getDocuments(source:decodingFailures:)`` and ``snapshots`` throw it as
/// `invalidArgument`, with the model and the property. The behaviour offline, and the errors of the backend, are those of ``Query``.
public struct TypedQuery<Model: QueryableModel>: Sendable {
  private let state: Result<Query, NSError>

  /// A query for documents of the model.
  ///
  /// - Parameter query: Any query; its conditions, orders, limits and positions stay.
  public init(_ query: Query) {
    state = .success(query)
  }

  private init(_ state: Result<Query, NSError>) {
    self.state = state
  }

  /// The untyped query, for instance to add a position or to aggregate.
  ///
  /// - Throws: `invalidArgument` for the first mistake in the query.
  public var query: Query {
    get throws { try state.get() }
  }

  /// The query with a further condition; all conditions must hold.
  public func `where`(_ filter: TypedFilter<Model>) -> TypedQuery {
    changed { query throws in
      try QueryBuilder.filter(query.model, filter.condition.get(), databaseID: query.firestore.databaseID)
    }
  }

  /// Orders the result by a property, after the query's existing orders. Documents without the field are not in the result.
  ///
  /// - Parameters:
  ///   - property: A property that the model's table lists.
  ///   - descending: True for the largest value first.
  public func order<Value>(by property: KeyPath<Model, Value>, descending: Bool = false) -> TypedQuery {
    changed { query throws in
      try QueryBuilder.order(query.model, by: Model.fieldTable.path(of: property), descending: descending)
    }
  }

  /// Limits the result to its first documents. A later limit replaces an earlier one.
  ///
  /// - Parameter limit: The number of documents; less than one is an error of the query.
  public func limit(to limit: Int) -> TypedQuery {
    changed { query throws in try QueryBuilder.limit(query.model, to: limit, type: .first) }
  }

  /// Limits the result to its last documents in the query's order, which must be explicit. A later limit replaces an earlier one.
  ///
  /// - Parameter limit: The number of documents; less than one is an error of the query.
  public func limit(toLast limit: Int) -> TypedQuery {
    changed { query throws in try QueryBuilder.limit(query.model, to: limit, type: .last) }
  }

  /// Runs the query once and decodes the documents. For the sources see ``Query/getDocuments(source:completion:)``.
  ///
  /// - Parameters:
  ///   - source: The source of the answer.
  ///   - decodingFailures: With `raise`, a document that cannot be decoded makes the call fail; with `ignore`, it is left out and
  ///     listed in ``TypedQuerySnapshot/failures``.
  /// - Returns: The decoded documents in the query's order.
  /// - Throws: The first mistake in the query (`invalidArgument`), the error of reading, or that of decoding.
  nonisolated(nonsending) public func getDocuments(
    source: FirestoreSource = .default, decodingFailures: DecodingFailureStrategy = .raise
  ) async throws -> TypedQuerySnapshot<Model> {
    let query = try runnable.get()
    return try TypedQuerySnapshot(try await query.getDocuments(source: source), decodingFailures)
  }

  /// The query's snapshots as a sequence. It ends with an error if a document cannot be decoded.
  public var snapshots: TypedQuerySnapshotsSequence<Model> { snapshots() }

  /// The query's snapshots as a sequence.
  ///
  /// - Parameters:
  ///   - includeMetadataChanges: True to get snapshots for changes of metadata alone, too.
  ///   - decodingFailures: With `raise`, a document that cannot be decoded ends the sequence; with `ignore`, it is left out and
  ///     listed in ``TypedQuerySnapshot/failures``.
  public func snapshots(
    includeMetadataChanges: Bool = false, decodingFailures: DecodingFailureStrategy = .raise
  ) -> TypedQuerySnapshotsSequence<Model> {
    TypedQuerySnapshotsSequence(
      runnable.map { $0.snapshots(includeMetadataChanges: includeMetadataChanges) }, decodingFailures)
  }

  /// The query, or the mistake for which it cannot be run.
  var runnable: Result<Query, NSError> {
    state.flatMap { query in
      do throws(ProgrammingError) {
        try QueryBuilder.validateForRunning(query.model)
        return query.fault.map { .failure($0) } ?? .success(query)
      } catch {
        return .failure(.firestore(.invalidArgument, error.message))
      }
    }
  }

  private func changed(_ body: (Query) throws -> HearthModel.Query) -> TypedQuery {
    TypedQuery(
      state.flatMap { query in
        do {
          return .success(Query(firestore: query.firestore, model: try body(query), cursorFault: query.cursorFault))
        } catch let error as ProgrammingError {
          return .failure(.firestore(.invalidArgument, error.message))
        } catch {
          return .failure(.firestore(error))
        }
      })
  }
}
