/// A change of one field that is computed from the field's value at the time of the commit.
package struct FieldTransform: Hashable, Sendable {
  package var path: FieldPath
  package var operation: TransformOperation

  package init(path: FieldPath, operation: TransformOperation) {
    self.path = path
    self.operation = operation
  }
}
