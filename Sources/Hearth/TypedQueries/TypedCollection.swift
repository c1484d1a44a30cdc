/// A collection whose documents are of one model: the start of typed queries.
///
/// ```swift
/// let cities = db.collection("cities", of: City.self)
/// let oakland = try await cities.getDocument("OAK")
/// let all = try await cities.getDocuments().documents
/// ```
public struct TypedCollection<Model: QueryableModel>: Sendable {
  /// The collection, for writes and everything else that needs no model.
  public let reference: CollectionReference

  /// A collection of documents of the model.
  public init(_ reference: CollectionReference) {
    self.reference = reference
  }

  /// The query for all documents.
  public var all: TypedQuery<Model> { TypedQuery(reference) }

  /// See ``TypedQuery/where(_:)``.
  public func `where`(_ filter: TypedFilter<Model>) -> TypedQuery<Model> { all.where(filter) }

  /// See ``TypedQuery/order(by:descending:)``.
  public func order<Value>(by property: KeyPath<Model, Value>, descending: Bool = false) -> TypedQuery<Model> {
    all.order(by: property, descending: descending)
  }

  /// See ``TypedQuery/limit(to:)``.
  public func limit(to limit: Int) -> TypedQuery<Model> { all.limit(to: limit) }

  /// Reads all documents once. See ``TypedQuery/getDocuments(source:decodingFailures:)``.
  nonisolated(nonsending) public func getDocuments(
    source: FirestoreSource = .default, decodingFailures: DecodingFailureStrategy = .raise
  ) async throws -> TypedQuerySnapshot<Model> {
    try await all.getDocuments(source: source, decodingFailures: decodingFailures)
  }

  /// The snapshots of all documents. See ``TypedQuery/snapshots``.
  public var snapshots: TypedQuerySnapshotsSequence<Model> { all.snapshots }

  /// Reads one document and decodes it. For the sources see ``DocumentReference/getDocument(source:completion:)``.
  ///
  /// - Parameters:
  ///   - id: The document's id; an empty id, and a path that is not a document's, is a programming error.
  ///   - source: The source of the document.
  /// - Returns: The value, or nil if there is no such document.
  /// - Throws: The error of reading (`unavailable` for an unknown document while offline), or that of decoding.
  nonisolated(nonsending) public func getDocument(
    _ id: String, source: FirestoreSource = .default
  ) async throws -> Model? {
    try await reference.document(id).getDocument(as: Model?.self, decoder: Model.documentDecoder, source: source)
  }
}

extension Firestore {
  /// A collection whose documents are of one model.
  ///
  /// - Parameters:
  ///   - collectionPath: As in ``collection(_:)``.
  ///   - model: The type of the documents.
  public func collection<Model: QueryableModel>(
    _ collectionPath: String, of model: Model.Type
  ) -> TypedCollection<Model> {
    TypedCollection(collection(collectionPath))
  }

  /// All collections of one id, whose documents are of one model.
  ///
  /// - Parameters:
  ///   - collectionID: As in ``collectionGroup(_:)``.
  ///   - model: The type of the documents.
  public func collectionGroup<Model: QueryableModel>(
    _ collectionID: String, of model: Model.Type
  ) -> TypedQuery<Model> {
    TypedQuery(collectionGroup(collectionID))
  }
}

extension DocumentReference {
  /// A collection under this document, whose documents are of one model.
  ///
  /// - Parameters:
  ///   - collectionPath: As in ``collection(_:)``.
  ///   - model: The type of the documents.
  public func collection<Model: QueryableModel>(
    _ collectionPath: String, of model: Model.Type
  ) -> TypedCollection<Model> {
    TypedCollection(collection(collectionPath))
  }
}
