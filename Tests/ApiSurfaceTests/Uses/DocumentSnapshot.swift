import Hearth

// section: DocumentSnapshot

func useDocumentSnapshot(snapshot: DocumentSnapshot, behavior: ServerTimestampBehavior, value: Any) {
  // row: var exists: Bool { get }
  let _: Bool = snapshot.exists
  // row: var reference: DocumentReference { get }
  let _: DocumentReference = snapshot.reference
  // row: var documentID: String { get }
  let _: String = snapshot.documentID
  // row: var metadata: SnapshotMetadata { get }
  let _: SnapshotMetadata = snapshot.metadata
  // row: func data() -> [String: Any]?
  let _: [String: Any]? = snapshot.data()
  // row: func data(with serverTimestampBehavior: ServerTimestampBehavior) -> [String: Any]?
  let _: [String: Any]? = snapshot.data(with: behavior)
  // row: func get(_ field: Any) -> Any?
  let _: Any? = snapshot.get(value)
  // row: func get(_ field: Any, serverTimestampBehavior: ServerTimestampBehavior) -> Any?
  let _: Any? = snapshot.get(value, serverTimestampBehavior: behavior)
  // row: subscript(key: Any) -> Any? { get }
  let _: Any? = snapshot[value]
}
