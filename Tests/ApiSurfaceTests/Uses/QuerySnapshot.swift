import Hearth

// section: QuerySnapshot

func useQuerySnapshot(querySnapshot: QuerySnapshot, flag: Bool) {
  // row: var query: Query { get }
  let _: Query = querySnapshot.query
  // row: var metadata: SnapshotMetadata { get }
  let _: SnapshotMetadata = querySnapshot.metadata
  // row: var isEmpty: Bool { get }
  let _: Bool = querySnapshot.isEmpty
  // row: var count: Int { get }
  let _: Int = querySnapshot.count
  // row: var documents: [QueryDocumentSnapshot] { get }
  let _: [QueryDocumentSnapshot] = querySnapshot.documents
  // row: var documentChanges: [DocumentChange] { get }
  let _: [DocumentChange] = querySnapshot.documentChanges
  // row: func documentChanges(includeMetadataChanges: Bool) -> [DocumentChange]
  let _: [DocumentChange] = querySnapshot.documentChanges(includeMetadataChanges: flag)
}
