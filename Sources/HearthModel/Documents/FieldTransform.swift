/// A change of one field whose result depends on the field's value when it is carried out.
package struct FieldTransform: Hashable, Sendable {
  package var path: FieldPath
  package var operation: TransformOperation

  package init(path: FieldPath, operation: TransformOperation) {
    self.path = path
    self.operation = operation
  }
}
