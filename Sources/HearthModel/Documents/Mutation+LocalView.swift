extension Mutation {
  /// Shows this mutation in the local view of its document, before the backend knows of it.
  ///
  /// A precondition that does not hold leaves the document as it is: the backend decides. A document that was changed
  /// has local mutations and no version.
  ///
  /// - Parameters:
  ///   - document: the local view so far; must have this mutation's key.
  ///   - previousMask: the fields that earlier pending mutations changed; nil if one of them replaced or deleted the
  ///     whole document.
  ///   - localWriteTime: when the user wrote, for pending server timestamps.
  /// - Returns: the fields that the mutations so far changed; nil if the whole document was replaced or deleted.
  /// - Throws: if the fields of the document or of the mutation cannot be decoded.
  package func applyToLocalView(
    _ document: inout Document, previousMask: FieldMask?, localWriteTime: Timestamp
  ) throws(WireFormatError) -> FieldMask? {
    assert(document.key == key, "The mutation of \(key) was applied to \(document.key)")
    guard precondition.isSatisfied(by: document) else { return previousMask }
    switch operation {
    case .verify:
      return previousMask
    case .delete:
      document.becomeMissing(version: .none, state: .hasLocalMutations)
      return nil
    case .set:
      try showLocally(in: &document, localWriteTime: localWriteTime)
      return nil
    case .patch(_, let mask):
      try showLocally(in: &document, localWriteTime: localWriteTime)
      return previousMask?.union(mask.paths + transforms.map(\.path))
    }
  }

  private func showLocally(in document: inout Document, localWriteTime: Timestamp) throws(WireFormatError) {
    guard let data = try fieldsBeforeTransforms(on: document) else { return }
    // The previous value of a server timestamp is what the user saw before this write, even if the write replaces it.
    let timestamps = transforms.contains { $0.operation == .serverTimestamp }
    let before = timestamps ? try document.fields.decoded() : MapValue([:])
    let fields = try transforming(data) { transform, _, value in
      let previous = transform.operation == .serverTimestamp ? before[transform.path] : value
      return transform.operation.appliedLocally(to: previous, localWriteTime: localWriteTime)
    }
    document.becomeFound(fields, version: .none, state: .hasLocalMutations)
  }

  /// Updates the cached document with the backend's acknowledgement of this mutation.
  ///
  /// The document takes the version of the result and has committed mutations until the watch stream delivers it. If
  /// the precondition does not hold here, the backend has seen another document than the cache: its contents are then
  /// unknown at that version.
  ///
  /// - Throws: if the fields of the document or of the mutation cannot be decoded.
  package func applyToRemoteDocument(
    _ document: inout Document, result: MutationResult
  ) throws(WireFormatError) {
    assert(document.key == key, "The result of \(key) was applied to \(document.key)")
    switch operation {
    case .verify:
      return
    case .delete:
      document.becomeMissing(version: result.version, state: .hasCommittedMutations)
    case .patch where !precondition.isSatisfied(by: document):
      document = .foundWithUnknownContents(key, version: result.version)
    case .set, .patch:
      guard let data = try fieldsBeforeTransforms(on: document) else { return }
      let fields = try transforming(data) { transform, index, value in
        guard index < result.transformResults.count else {
          return transform.operation.applied(to: value, time: result.version.timestamp)
        }
        return transform.operation.applied(to: value, serverResult: result.transformResults[index])
      }
      document.becomeFound(fields, version: result.version, state: .hasCommittedMutations)
    }
  }

  /// Returns the one mutation without transforms and preconditions that turns the backend's document into `document`, or nil if `document`
  /// has no local mutations.
  ///
  /// - Parameters:
  ///   - document: the local view, the outcome of all pending mutations.
  ///   - mask: what applying them returned: the changed fields, or nil if the whole document was replaced or deleted.
  /// - Throws: if the fields of the document cannot be decoded.
  package static func overlay(
    for document: Document, changedFields mask: FieldMask?
  ) throws(WireFormatError) -> Mutation? {
    guard document.hasLocalMutations else { return nil }
    guard document.isFound else { return .delete(document.key) }
    guard let mask else { return Mutation(key: document.key, operation: .set(document.fields)) }
    let fields = try document.fields.decoded()
    // Setting a.b and deleting it again leaves an empty map at a, which is in no mask: the parent goes into the patch. A parent
    // that holds other fields comes from the document beneath, whose changes stay visible, or from another path of the mask.
    let covered = FieldMask(mask.paths.map { fields[$0] == nil ? fields.emptyParent(of: $0) ?? $0 : $0 })
    var patch = MapValue()
    patch.replaceFields(covered, from: fields)
    return .patch(document.key, patch, mask: covered, precondition: .none)
  }
}

extension MapValue {
  /// The path of the map that would contain a field and is empty.
  fileprivate func emptyParent(of path: FieldPath) -> FieldPath? {
    guard let parent = path.parent, case .map(let map) = self[parent], map.isEmpty else { return nil }
    return parent
  }
}

extension FieldPath {
  /// The path of the map that contains this field, nil for a field of the document itself.
  fileprivate var parent: FieldPath? {
    segments.count > 1 ? FieldPath(unchecked: Array(segments.dropLast())) : nil
  }
}
