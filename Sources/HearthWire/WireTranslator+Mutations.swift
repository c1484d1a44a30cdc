package import HearthModel
internal import SwiftProtobuf

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

// MARK: - Writes

extension WireTranslator {
  /// The message for `mutation`.
  package func encode(_ mutation: Mutation) -> Google_Firestore_V1_Write {
    var message = Google_Firestore_V1_Write()
    let name = database.name(of: mutation.key)
    switch mutation.operation {
    case .set(let fields):
      message.update = encodeUpdate(name: name, fields: fields)
    case .patch(let fields, let mask):
      message.update = encodeUpdate(name: name, fields: fields)
      message.updateMask = encode(mask)
    case .delete:
      message.delete = name
    case .verify:
      message.verify = name
    }
    message.updateTransforms = mutation.transforms.map { encode($0) }
    if let precondition = encode(mutation.precondition) {
      message.currentDocument = precondition
    }
    return message
  }

  private func encodeUpdate(name: String, fields: EncodedFields) -> Data {
    Data(EncodedDocument.encode(name: name, fields: fields, createTime: nil, updateTime: nil))
  }

  /// Decodes the mutation of `write`.
  ///
  /// The legacy `transform` operation becomes a patch with an empty mask, which has the same effect: it creates a missing document and
  /// changes only the fields of its transforms.
  ///
  /// - Throws: a ``WireError`` when no operation is set, a name or a field path is malformed, the document's
  ///   bytes are malformed, a transform is incomplete, or a part is set that the operation does not have.
  package func decode(write message: Google_Firestore_V1_Write) throws(WireError) -> Mutation {
    try at("Write") {
      let precondition =
        message.hasCurrentDocument ? try decode(message.currentDocument, at: "current_document") : .none
      switch message.operation {
      case .update(let bytes):
        return try decodeUpdate(bytes, of: message, precondition: precondition)
      case .delete(let name):
        try checkPlain(message, operation: "delete")
        return Mutation(key: try key(fromName: name, at: "delete"), operation: .delete, precondition: precondition)
      case .verify(let name):
        try checkPlain(message, operation: "verify")
        return Mutation(key: try key(fromName: name, at: "verify"), operation: .verify, precondition: precondition)
      case .transform(let transform):
        try checkPlain(message, operation: "transform")
        return try at("transform") {
          guard !transform.fieldTransforms.isEmpty else {
            throw WireError(field: "field_transforms", message: "The list of FieldTransform must not be empty.")
          }
          return Mutation(
            key: try key(fromName: transform.document, at: "document"),
            operation: .patch(.empty, mask: .empty), precondition: precondition,
            transforms: try decode(transform.fieldTransforms, at: "field_transforms"))
        }
      case nil:
        throw WireError(field: "operation", message: "empty write operation")
      }
    }
  }

  private func decodeUpdate(
    _ bytes: Data, of message: Google_Firestore_V1_Write, precondition: Precondition
  ) throws(WireError) -> Mutation {
    let document = try at("update") { try EncodedDocument(parsing: [UInt8](bytes)) }
    let key = try key(fromName: document.name, at: "update.name")
    let operation: Mutation.Operation =
      message.hasUpdateMask
      ? .patch(document.fields, mask: try decode(message.updateMask, at: "update_mask")) : .set(document.fields)
    return Mutation(
      key: key, operation: operation, precondition: precondition,
      transforms: try decode(message.updateTransforms, at: "update_transforms"))
  }

  /// Refuses parts that only an `update` may have.
  private func checkPlain(_ message: Google_Firestore_V1_Write, operation: String) throws(WireError) {
    guard !message.hasUpdateMask else {
      throw WireError(field: "update_mask", message: "only an update may have a mask, not a \(operation)")
    }
    guard message.updateTransforms.isEmpty else {
      throw WireError(field: "update_transforms", message: "only an update may have transforms, not a \(operation)")
    }
  }
}

// MARK: - Masks and preconditions

extension WireTranslator {
  func encode(_ mask: FieldMask) -> Google_Firestore_V1_DocumentMask {
    var message = Google_Firestore_V1_DocumentMask()
    message.fieldPaths = mask.paths.map { $0.canonicalString }
    return message
  }

  package func decode(
    _ message: Google_Firestore_V1_DocumentMask, at field: String
  ) throws(WireError) -> FieldMask {
    var paths: [FieldPath] = []
    paths.reserveCapacity(message.fieldPaths.count)
    for (index, path) in message.fieldPaths.enumerated() {
      paths.append(try fieldPath(path, at: "\(field).field_paths[\(index)]"))
    }
    return FieldMask(paths)
  }

  /// The field path written as `text` in the notation of the protocol (segments separated by dots, quoted
  /// with backticks where necessary).
  func fieldPath(_ text: String, at field: @autoclosure () -> String) throws(WireError) -> FieldPath {
    try HearthWire.at(field()) { try FieldPath(parsingServerFormat: text, requiringQuotes: true) }
  }

  /// The message for a precondition, or `nil` when there is none.
  func encode(_ precondition: Precondition) -> Google_Firestore_V1_Precondition? {
    var message = Google_Firestore_V1_Precondition()
    switch precondition {
    case .none:
      return nil
    case .exists(let exists):
      message.exists = exists
    case .updateTime(let version):
      message.updateTime = encode(version)
    }
    return message
  }

  /// The precondition of `message`; a message with no condition in it is none.
  package func decode(
    _ message: Google_Firestore_V1_Precondition, at field: String
  ) throws(WireError) -> Precondition {
    switch message.conditionType {
    case .exists(let exists):
      return .exists(exists)
    case .updateTime(let time):
      return .updateTime(try decodeVersion(time, at: "\(field).update_time"))
    case nil:
      return .none
    }
  }
}

// MARK: - Transforms

extension WireTranslator {
  func encode(_ transform: FieldTransform) -> Google_Firestore_V1_DocumentTransform.FieldTransform {
    var message = Google_Firestore_V1_DocumentTransform.FieldTransform()
    message.fieldPath = transform.path.canonicalString
    switch transform.operation {
    case .serverTimestamp:
      message.setToServerValue = .requestTime
    case .increment(let operand):
      message.increment = encode(operand)
    case .maximum(let operand):
      message.maximum = encode(operand)
    case .minimum(let operand):
      message.minimum = encode(operand)
    case .arrayUnion(let elements):
      message.appendMissingElements = encodeArrayBytes(elements)
    case .arrayRemove(let elements):
      message.removeAllFromArray = encodeArrayBytes(elements)
    }
    return message
  }

  func decode(
    _ messages: [Google_Firestore_V1_DocumentTransform.FieldTransform], at field: String
  ) throws(WireError) -> [FieldTransform] {
    var transforms: [FieldTransform] = []
    transforms.reserveCapacity(messages.count)
    for (index, message) in messages.enumerated() {
      transforms.append(try at("\(field)[\(index)]") { try decode(message) })
    }
    return transforms
  }

  private func decode(
    _ message: Google_Firestore_V1_DocumentTransform.FieldTransform
  ) throws(WireError) -> FieldTransform {
    FieldTransform(
      path: try fieldPath(message.fieldPath, at: "field_path"), operation: try decodeOperation(message))
  }

  private func decodeOperation(
    _ message: Google_Firestore_V1_DocumentTransform.FieldTransform
  ) throws(WireError) -> TransformOperation {
    switch message.transformType {
    case .setToServerValue(.requestTime):
      return .serverTimestamp
    case .setToServerValue(let value):
      throw WireError(
        field: "set_to_server_value",
        message: "\(value.rawValue) is not a server value (1, REQUEST_TIME, is the only one)")
    case .increment(let operand):
      return .increment(try decodeNumber(operand, at: "increment"))
    case .maximum(let operand):
      return .maximum(try decodeNumber(operand, at: "maximum"))
    case .minimum(let operand):
      return .minimum(try decodeNumber(operand, at: "minimum"))
    case .appendMissingElements(let elements):
      return .arrayUnion(try decode(arrayBytes: elements, at: "append_missing_elements"))
    case .removeAllFromArray(let elements):
      return .arrayRemove(try decode(arrayBytes: elements, at: "remove_all_from_array"))
    case nil:
      throw WireError(field: "transform_type", message: "no transform is set")
    }
  }

  private func decodeNumber(
    _ message: Google_Firestore_V1_Value, at field: String
  ) throws(WireError) -> Value {
    let value = try decode(message, at: field)
    switch value {
    case .integer, .double:
      return value
    default:
      throw WireError(field: field, message: "the operand must be an integer or a double")
    }
  }
}

// MARK: - Results

extension WireTranslator {
  /// The message for the result of one write. Its update time is left out when the write left no document
  /// behind, as the protocol wants it for deletes.
  package func encode(_ result: MutationResult, isDelete: Bool = false) -> Google_Firestore_V1_WriteResult {
    var message = Google_Firestore_V1_WriteResult()
    if !isDelete, result.version != .none {
      message.updateTime = encode(result.version)
    }
    message.transformResults = result.transformResults.map { encode($0) }
    return message
  }

  /// The result of one write. A write without an update time of its own (a delete) has the commit's.
  ///
  /// The results of its transforms end before one that this release cannot read: the write is committed, and would be sent again without end if
  /// its answer were not understood. The cache computes what is missing itself.
  package func decode(
    _ message: Google_Firestore_V1_WriteResult, commitVersion: SnapshotVersion, at field: String
  ) throws(WireError) -> MutationResult {
    try HearthWire.at(field) {
      let updateTime: SnapshotVersion =
        message.hasUpdateTime ? try decodeVersion(message.updateTime, at: "update_time") : .none
      var result = MutationResult(version: updateTime == .none ? commitVersion : updateTime)
      for message in message.transformResults {
        guard let value = try? decode(message, at: "transform_results") else { break }
        result.transformResults.append(value)
      }
      return result
    }
  }

  func decode(
    _ messages: [Google_Firestore_V1_WriteResult], commitVersion: SnapshotVersion, at field: String
  ) throws(WireError) -> [MutationResult] {
    var results: [MutationResult] = []
    results.reserveCapacity(messages.count)
    for (index, message) in messages.enumerated() {
      results.append(try decode(message, commitVersion: commitVersion, at: "\(field)[\(index)]"))
    }
    return results
  }
}

// MARK: - Commit

extension WireTranslator {
  /// The request that commits `mutations` at once or not at all.
  package func encodeCommit(_ mutations: [Mutation]) -> Google_Firestore_V1_CommitRequest {
    var message = Google_Firestore_V1_CommitRequest()
    message.database = database.resourceName
    message.writes = mutations.map { encode($0) }
    return message
  }

  /// The commit's time (`.none` when nothing was written) and one result for each write.
  package func decode(
    _ message: Google_Firestore_V1_CommitResponse
  ) throws(WireError) -> (commitVersion: SnapshotVersion, results: [MutationResult]) {
    try at("CommitResponse") {
      let commitVersion: SnapshotVersion =
        message.hasCommitTime ? try decodeVersion(message.commitTime, at: "commit_time") : .none
      return (
        commitVersion, try decode(message.writeResults, commitVersion: commitVersion, at: "write_results")
      )
    }
  }
}
