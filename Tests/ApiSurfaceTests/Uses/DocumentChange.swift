import Hearth

// section: DocumentChange / DocumentChangeType

func useDocumentChange(change: DocumentChange) {
  // row: var type: DocumentChangeType { get }
  let _: DocumentChangeType = change.type
  // row: var document: QueryDocumentSnapshot { get }
  let _: QueryDocumentSnapshot = change.document
  // row: var oldIndex: UInt { get }
  let _: UInt = change.oldIndex
  // row: var newIndex: UInt { get }
  let _: UInt = change.newIndex
  // row: enum DocumentChangeType: Int { case added, modified, removed }
  switch change.type {
  case .added, .modified, .removed: break
  }
  let _: [Int] = [DocumentChangeType.added, .modified, .removed].map(\.rawValue)
}
