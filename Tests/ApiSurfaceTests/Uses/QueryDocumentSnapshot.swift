import Hearth

// section: QueryDocumentSnapshot

func useQueryDocumentSnapshot(queryDocument: QueryDocumentSnapshot, behavior: ServerTimestampBehavior) {
  // row: override func data() -> [String: Any]
  let _: [String: Any] = queryDocument.data()
  // row: override func data(with serverTimestampBehavior: ServerTimestampBehavior) -> [String: Any]
  let _: [String: Any] = queryDocument.data(with: behavior)
}
