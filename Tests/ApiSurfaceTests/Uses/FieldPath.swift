import Hearth

// section: FieldPath

func useFieldPath(texts: [String]) {
  // row: init(_ fieldNames: [String])
  let _: FieldPath = FieldPath(texts)
  // row: class func documentID() -> Self
  let _: FieldPath = FieldPath.documentID()
}
