import Hearth

// section: CollectionReference

func useCollectionReference(
  collection: CollectionReference, text: String, data: [String: Any], done: @escaping ((any Error)?) -> Void
) {
  // row: var collectionID: String { get }
  let _: String = collection.collectionID
  // row: var parent: DocumentReference? { get }
  let _: DocumentReference? = collection.parent
  // row: var path: String { get }
  let _: String = collection.path
  // row: func document() -> DocumentReference
  let _: DocumentReference = collection.document()
  // row: func document(_ documentPath: String) -> DocumentReference
  let _: DocumentReference = collection.document(text)
  // row: func addDocument(data: [String: Any]) -> DocumentReference
  let _: DocumentReference = collection.addDocument(data: data)
  collection.addDocument(data: data)
  // row: func addDocument(data: [String: Any], completion: (((any Error)?) -> Void)? = nil) -> DocumentReference
  let _: DocumentReference = collection.addDocument(data: data, completion: done)
  collection.addDocument(data: data, completion: done)
  let _: DocumentReference = collection.addDocument(data: data)
  collection.addDocument(data: data)
}

func useCollectionReferenceAsync(collection: CollectionReference, data: [String: Any]) async throws {
  // row: func addDocument(data: [String: Any]) async throws -> DocumentReference
  let _: DocumentReference = try await collection.addDocument(data: data)
}
