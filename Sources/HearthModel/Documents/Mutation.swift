/// One change of one document: written by the user, stored in the outbox, carried out by the backend.
///
/// A mutation is applied in three ways: to the local view before the backend knows of it
/// (``applyToLocalView(_:previousMask:localWriteTime:)``), to the cached document after the backend acknowledged it
/// (``applyToRemoteDocument(_:result:)``), and authoritatively by the backend itself
/// (``applied(to:commitTime:requestTime:resourceName:)``). In all three the operation's own data comes first. The transforms follow in
/// their order, each on the result of the steps before it.
package struct Mutation: Hashable, Sendable {
  package enum Operation: Hashable, Sendable {
    /// Replaces the document, or creates it.
    case set(EncodedFields)
    /// Sets the fields that the mask names, deletes those that it names and that the data lack, and keeps the rest. Data outside the mask
    /// are ignored. An empty mask changes no field but still creates the document.
    case patch(EncodedFields, mask: FieldMask)
    case delete
    /// Changes nothing; the commit fails unless the precondition holds. Transactions use it for documents that they
    /// only read.
    case verify
  }

  package var key: DocumentKey
  package var operation: Operation
  package var precondition: Precondition
  package var transforms: [FieldTransform]

  package init(
    key: DocumentKey, operation: Operation, precondition: Precondition = .none, transforms: [FieldTransform] = []
  ) {
    self.key = key
    self.operation = operation
    self.precondition = precondition
    self.transforms = transforms
  }

  package static func set(
    _ key: DocumentKey, _ fields: MapValue, precondition: Precondition = .none, transforms: [FieldTransform] = []
  ) -> Mutation {
    Mutation(
      key: key, operation: .set(EncodedFields(fields)), precondition: precondition, transforms: transforms)
  }

  package static func patch(
    _ key: DocumentKey, _ fields: MapValue, mask: FieldMask, precondition: Precondition = .exists(true),
    transforms: [FieldTransform] = []
  ) -> Mutation {
    Mutation(
      key: key, operation: .patch(EncodedFields(fields), mask: mask), precondition: precondition,
      transforms: transforms)
  }

  package static func delete(_ key: DocumentKey, precondition: Precondition = .none) -> Mutation {
    Mutation(key: key, operation: .delete, precondition: precondition)
  }
}

extension Mutation {
  /// The initial values of the transforms that are not idempotent, to be queued before this mutation as a patch; nil if there are none.
  ///
  /// Without them an increment would be counted twice when a newer version of the document, which already holds it,
  /// arrives before its acknowledgement. Fields that the mutation itself replaces start from the mutation's own data
  /// and need no base value.
  package func baseValues(for document: Document) throws(WireFormatError) -> MapValue? {
    guard case .patch(_, let mask) = operation else { return nil }
    let candidates = transforms.filter { $0.operation.hasBaseValue && !mask.covers($0.path) }
    if candidates.isEmpty { return nil }
    let fields = try document.fields.decoded()
    var values = MapValue()
    for transform in candidates {
      if let base = transform.operation.baseValue(for: fields[transform.path]) { values.set(base, at: transform.path) }
    }
    return values.isEmpty ? nil : values
  }

  /// The fields after the operation's own data, before any transform; nil if the operation leaves no document.
  func fieldsBeforeTransforms(on document: Document) throws(WireFormatError) -> EncodedFields? {
    switch operation {
    case .set(let fields): return fields
    case .patch(let data, let mask):
      if mask.isEmpty { return document.fields }
      let values = try data.decoded()
      var fields = try document.fields.decoded()
      fields.replaceFields(mask, from: values)
      return EncodedFields(fields)
    case .delete, .verify: return nil
    }
  }

  /// Carries out the transforms on `fields`.
  ///
  /// - Parameter outcome: gives the new value of a field from the transform, its position and the field's value.
  func transforming(
    _ fields: EncodedFields, _ outcome: (FieldTransform, Int, Value?) -> Value
  ) throws(WireFormatError) -> EncodedFields {
    if transforms.isEmpty { return fields }
    var values = try fields.decoded()
    for (index, transform) in transforms.enumerated() {
      values.set(outcome(transform, index, values[transform.path]), at: transform.path)
    }
    return EncodedFields(values)
  }
}
