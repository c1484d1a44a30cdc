import Hearth

// section: DocumentReference

func useDocumentReference(
  document: DocumentReference, text: String, data: [String: Any], flag: Bool, values: [Any],
  done: @escaping ((any Error)?) -> Void, fields: [AnyHashable: Any],
  documentSnapshotDone: @escaping (DocumentSnapshot?, (any Error)?) -> Void, source: FirestoreSource,
  options: SnapshotListenOptions
) {
  // row: var documentID: String { get }
  let _: String = document.documentID
  // row: var parent: CollectionReference { get }
  let _: CollectionReference = document.parent
  // row: var firestore: Firestore { get }
  let _: Firestore = document.firestore
  // row: var path: String { get }
  let _: String = document.path
  // row: func collection(_ collectionPath: String) -> CollectionReference
  let _: CollectionReference = document.collection(text)
  // row: func setData(_ documentData: [String: Any])
  document.setData(data)
  // row: func setData(_ documentData: [String: Any], merge: Bool)
  document.setData(data, merge: flag)
  // row: func setData(_ documentData: [String: Any], mergeFields: [Any])
  document.setData(data, mergeFields: values)
  // row: func setData(_ documentData: [String: Any], completion: (((any Error)?) -> Void)? = nil)
  document.setData(data, completion: done)
  document.setData(data)
  // row: func setData(_ documentData: [String: Any], merge: Bool, completion: (((any Error)?) -> Void)? = nil)
  document.setData(data, merge: flag, completion: done)
  document.setData(data, merge: flag)
  // row: func setData(_ documentData: [String: Any], mergeFields: [Any], completion: (((any Error)?) -> Void)? =
  //   nil)
  document.setData(data, mergeFields: values, completion: done)
  document.setData(data, mergeFields: values)
  // row: func updateData(_ fields: [AnyHashable: Any])
  document.updateData(fields)
  // row: func updateData(_ fields: [AnyHashable: Any], completion: (((any Error)?) -> Void)? = nil)
  document.updateData(fields, completion: done)
  document.updateData(fields)
  // row: func delete()
  document.delete()
  // row: func delete(completion: (((any Error)?) -> Void)? = nil)
  document.delete(completion: done)
  document.delete()
  // row: func getDocument(completion: @escaping (DocumentSnapshot?, (any Error)?) -> Void)
  document.getDocument(completion: documentSnapshotDone)
  // row: func getDocument(source: FirestoreSource, completion: @escaping (DocumentSnapshot?, (any Error)?) ->
  //   Void)
  document.getDocument(source: source, completion: documentSnapshotDone)
  // row: func addSnapshotListener(_ listener: @escaping (DocumentSnapshot?, (any Error)?) -> Void) -> any
  //   ListenerRegistration
  let _: any ListenerRegistration = document.addSnapshotListener(documentSnapshotDone)
  document.addSnapshotListener(documentSnapshotDone)
  // row: func addSnapshotListener(includeMetadataChanges: Bool, listener: @escaping (DocumentSnapshot?, (any
  //   Error)?) -> Void) -> any ListenerRegistration
  let _: any ListenerRegistration = document.addSnapshotListener(
    includeMetadataChanges: flag, listener: documentSnapshotDone)
  document.addSnapshotListener(includeMetadataChanges: flag, listener: documentSnapshotDone)
  // row: func addSnapshotListener(options: SnapshotListenOptions, listener: @escaping (DocumentSnapshot?, (any
  //   Error)?) -> Void) -> any ListenerRegistration
  let _: any ListenerRegistration = document.addSnapshotListener(options: options, listener: documentSnapshotDone)
  document.addSnapshotListener(options: options, listener: documentSnapshotDone)
  // row: var snapshots: DocumentSnapshotsSequence { get }
  let _: DocumentSnapshotsSequence = document.snapshots
  // row: func snapshots(includeMetadataChanges: Bool) -> DocumentSnapshotsSequence
  let _: DocumentSnapshotsSequence = document.snapshots(includeMetadataChanges: flag)
}

func useDocumentReferenceAsync(
  data: [String: Any], document: DocumentReference, flag: Bool, values: [Any], fields: [AnyHashable: Any],
  source: FirestoreSource
) async throws {
  // row: func setData(_ documentData: [String: Any]) async throws
  try await document.setData(data)
  // row: func setData(_ documentData: [String: Any], merge: Bool) async throws
  try await document.setData(data, merge: flag)
  // row: func setData(_ documentData: [String: Any], mergeFields: [Any]) async throws
  try await document.setData(data, mergeFields: values)
  // row: func updateData(_ fields: [AnyHashable: Any]) async throws
  try await document.updateData(fields)
  // row: func delete() async throws
  try await document.delete()
  // row: func getDocument() async throws -> DocumentSnapshot
  let _: DocumentSnapshot = try await document.getDocument()
  try await document.getDocument()
  // row: func getDocument(source: FirestoreSource) async throws -> DocumentSnapshot
  let _: DocumentSnapshot = try await document.getDocument(source: source)
  try await document.getDocument(source: source)
  // row: struct DocumentSnapshotsSequence: AsyncSequence
  let sequence: some AsyncSequence<DocumentSnapshot, any Error> = DocumentSnapshotsSequence(
    document, includeMetadataChanges: flag)
  for try await snapshot in sequence { let _: DocumentSnapshot = snapshot }
  // row: struct DocumentSnapshotsSequence.Iterator: AsyncIteratorProtocol
  var iterator: DocumentSnapshotsSequence.Iterator = document.snapshots.makeAsyncIterator()
  let _: DocumentSnapshot? = try await iterator.next()
}
