internal import Foundation
internal import HearthModel

/// A collection. It is a query for all its documents, and documents can be added to it.
// @unchecked as `Query`, which it inherits from: it adds no stored property that could change.
public final class CollectionReference: Query, @unchecked Sendable {
  init(firestore: Firestore, path: ResourcePath) {
    super.init(firestore: firestore, model: HearthModel.Query(path: path))
  }

  /// The last segment of the path.
  public var collectionID: String { model.path.last ?? "" }

  /// The parent document of the collection, or nil at the database's root.
  public var parent: DocumentReference? {
    (try? DocumentKey(model.path.parent)).map { DocumentReference(firestore: firestore, key: $0) }
  }

  /// The path from the database's root, such as `"cities/SF/landmarks"`.
  public var path: String { model.path.canonicalString }

  /// Makes a reference to a new document with an id of 20 random letters and digits. Nothing is written.
  public func document() -> DocumentReference {
    var generator = SystemRandomNumberGenerator()
    return document(AutomaticID.make(using: &generator))
  }

  /// A document in this collection.
  ///
  /// - Parameter documentPath: An id, or a path relative to the collection that ends at a document; anything else, including an empty path,
  ///   is a programming error.
  public func document(_ documentPath: String) -> DocumentReference {
    DocumentReference(
      firestore: firestore,
      key: requireValid { () throws(ProgrammingError) in
        try PathParser.documentKey(documentPath, under: model.path)
      })
  }

  /// Adds a document with a new id, as ``document()`` makes it. For the data and the completion see
  /// ``DocumentReference/setData(_:completion:)``.
  ///
  /// - Returns: The new document's reference, at once.
  @discardableResult
  public func addDocument(data: [String: Any], completion: (((any Error)?) -> Void)? = nil) -> DocumentReference {
    let document = document()
    document.setData(data, completion: completion)
    return document
  }

  /// Adds a document with a new id and waits for the backend's answer, for as long as the client is offline.
  ///
  /// - Returns: The new document's reference.
  /// - Throws: As ``DocumentReference/setData(_:completion:)`` reports it.
  @discardableResult
  nonisolated(nonsending) public func addDocument(data: [String: Any]) async throws -> DocumentReference {
    let document = document()
    try await document.setData(data)
    return document
  }
}
