import Hearth

// section: FieldValue

func useFieldValue(values: [Any], double: Double, long: Int64, doubles: [Double], floats: [Float]) {
  // row: class func delete() -> Self
  let _: FieldValue = FieldValue.delete()
  // row: class func serverTimestamp() -> Self
  let _: FieldValue = FieldValue.serverTimestamp()
  // row: class func arrayUnion(_ elements: [Any]) -> Self
  let _: FieldValue = FieldValue.arrayUnion(values)
  // row: class func arrayRemove(_ elements: [Any]) -> Self
  let _: FieldValue = FieldValue.arrayRemove(values)
  // row: class func increment(_ d: Double) -> Self
  let _: FieldValue = FieldValue.increment(double)
  // row: class func increment(_ l: Int64) -> Self
  let _: FieldValue = FieldValue.increment(long)
  // row: class func minimum(_ d: Double) -> Self
  let _: FieldValue = FieldValue.minimum(double)
  // row: class func minimum(_ l: Int64) -> Self
  let _: FieldValue = FieldValue.minimum(long)
  // row: class func maximum(_ d: Double) -> Self
  let _: FieldValue = FieldValue.maximum(double)
  // row: class func maximum(_ l: Int64) -> Self
  let _: FieldValue = FieldValue.maximum(long)
  // row: class func vector(_ array: [Double]) -> VectorValue
  let _: VectorValue = FieldValue.vector(doubles)
  // row: class func vector(_ array: [Float]) -> VectorValue
  let _: VectorValue = FieldValue.vector(floats)
}
