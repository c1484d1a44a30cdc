internal import HearthModel

/// Field numbers of `google.firestore.v1.Write` and the messages in it.
private enum WriteField {
  static let update = 1
  static let delete = 2
  static let updateMask = 3
  static let currentDocument = 4
  static let verify = 5
  static let updateTransform = 7

  static let maskPath = 1
  static let exists = 1
  static let updateTime = 2
}

/// Field numbers of `google.firestore.v1.DocumentTransform.FieldTransform`.
private enum TransformField {
  static let path = 1
  static let serverValue = 2
  static let increment = 3
  static let maximum = 4
  static let minimum = 5
  static let arrayUnion = 6
  static let arrayRemove = 7

  static let requestTime: Int64 = 1
  static let arrayElement = 1
}

// MARK: - Writing

extension CacheCodec {
  static func write(_ mutation: Mutation, database: DatabaseID, to writer: inout WireWriter) {
    let name = database.name(of: mutation.key)
    switch mutation.operation {
    case .set(let fields):
      writer.writeBytes(document(name, fields), field: WriteField.update)
    case .patch(let fields, let mask):
      writer.writeBytes(document(name, fields), field: WriteField.update)
      writer.writeMessage(field: WriteField.updateMask) { writer in
        for path in mask.paths {
          writer.writeString(path.canonicalString, field: WriteField.maskPath)
        }
      }
    case .delete:
      writer.writeString(name, field: WriteField.delete)
    case .verify:
      writer.writeString(name, field: WriteField.verify)
    }
    write(mutation.precondition, field: WriteField.currentDocument, to: &writer)
    for transform in mutation.transforms {
      writer.writeMessage(field: WriteField.updateTransform) { write(transform, to: &$0) }
    }
  }

  private static func document(_ name: String, _ fields: EncodedFields) -> [UInt8] {
    EncodedDocument.encode(name: name, fields: fields, createTime: nil, updateTime: nil)
  }

  static func write(_ precondition: Precondition, field: Int, to writer: inout WireWriter) {
    switch precondition {
    case .none:
      break
    case .exists(let exists):
      writer.writeMessage(field: field) {
        $0.writeVarint(exists ? 1 : 0, field: WriteField.exists)
      }
    case .updateTime(let version):
      writer.writeMessage(field: field) {
        $0.writeTimestamp(version.timestamp, field: WriteField.updateTime)
      }
    }
  }

  private static func write(_ transform: FieldTransform, to writer: inout WireWriter) {
    writer.writeString(transform.path.canonicalString, field: TransformField.path)
    switch transform.operation {
    case .serverTimestamp:
      writer.writeVarint(TransformField.requestTime, field: TransformField.serverValue)
    case .increment(let operand):
      writer.writeBytes(operand.encoded(), field: TransformField.increment)
    case .maximum(let operand):
      writer.writeBytes(operand.encoded(), field: TransformField.maximum)
    case .minimum(let operand):
      writer.writeBytes(operand.encoded(), field: TransformField.minimum)
    case .arrayUnion(let elements):
      write(elements, field: TransformField.arrayUnion, to: &writer)
    case .arrayRemove(let elements):
      write(elements, field: TransformField.arrayRemove, to: &writer)
    }
  }

  private static func write(_ elements: [Value], field: Int, to writer: inout WireWriter) {
    writer.writeMessage(field: field) { writer in
      for element in elements {
        writer.writeBytes(element.encoded(), field: TransformField.arrayElement)
      }
    }
  }
}

// MARK: - Reading

extension CacheCodec {
  /// - Parameter expected: the key that the mutation most likely has. It is taken over without being built again if the name in
  ///   the message is its name.
  static func mutation(
    in message: WireReader, database: DatabaseID, expected: DocumentKey? = nil
  ) throws -> Mutation {
    let expectedName = expected.map { database.name(of: $0) }
    var reader = message
    var key: DocumentKey?
    var operation: Mutation.Operation?
    var mask: FieldMask?
    var precondition = Precondition.none
    var transforms: [FieldTransform] = []
    while let tag = try reader.readTag("Write") {
      switch tag.field {
      case WriteField.update:
        try reader.require(.lengthDelimited, tag, "Write.update")
        var isExpected = false
        let document = try EncodedDocument(parsing: try reader.readMessage("Write.update")) {
          (name) throws(WireFormatError) in
          isExpected = expectedName.map { name.remainderEquals($0) } ?? false
          return isExpected ? "" : try name.remainingString("Document.name")
        }
        key = isExpected ? expected : try database.key(fromName: document.name)
        operation = .set(document.fields)
      case WriteField.delete:
        key = try self.key(tag, &reader, "Write.delete", database)
        operation = .delete
      case WriteField.verify:
        key = try self.key(tag, &reader, "Write.verify", database)
        operation = .verify
      case WriteField.updateMask:
        try reader.require(.lengthDelimited, tag, "Write.update_mask")
        mask = try self.mask(in: try reader.readMessage("Write.update_mask"))
      case WriteField.currentDocument:
        try reader.require(.lengthDelimited, tag, "Write.current_document")
        precondition = try self.precondition(in: try reader.readMessage("Write.current_document"))
      case WriteField.updateTransform:
        try reader.require(.lengthDelimited, tag, "Write.update_transforms")
        transforms.append(try transform(in: try reader.readMessage("Write.update_transforms")))
      default:
        try reader.skip(tag, "Write")
      }
    }
    guard let key, var operation else {
      throw message.error("no operation is set", "Write.operation")
    }
    if let mask, case .set(let fields) = operation {
      operation = .patch(fields, mask: mask)
    }
    return Mutation(key: key, operation: operation, precondition: precondition, transforms: transforms)
  }

  private static func key(
    _ tag: WireTag, _ reader: inout WireReader, _ field: StaticString, _ database: DatabaseID
  ) throws -> DocumentKey {
    try reader.require(.lengthDelimited, tag, field)
    return try database.key(fromName: try reader.readString(field))
  }

  private static func mask(in message: WireReader) throws -> FieldMask {
    var reader = message
    var paths: [FieldPath] = []
    while let tag = try reader.readTag("DocumentMask") {
      guard tag.field == WriteField.maskPath else {
        try reader.skip(tag, "DocumentMask")
        continue
      }
      try reader.require(.lengthDelimited, tag, "DocumentMask.field_paths")
      paths.append(try FieldPath(parsingServerFormat: try reader.readString("DocumentMask.field_paths")))
    }
    return FieldMask(paths)
  }

  static func precondition(in message: WireReader) throws -> Precondition {
    var reader = message
    var precondition = Precondition.none
    while let tag = try reader.readTag("Precondition") {
      switch tag.field {
      case WriteField.exists:
        try reader.require(.varint, tag, "Precondition.exists")
        precondition = .exists(try reader.readVarint("Precondition.exists") != 0)
      case WriteField.updateTime:
        try reader.require(.lengthDelimited, tag, "Precondition.update_time")
        precondition = .updateTime(
          SnapshotVersion(
            try WireReader.timestamp(
              in: try reader.readMessage("Precondition.update_time"), "Precondition.update_time")))
      default:
        try reader.skip(tag, "Precondition")
      }
    }
    return precondition
  }

  private static func transform(in message: WireReader) throws -> FieldTransform {
    var reader = message
    var path: FieldPath?
    var operation: TransformOperation?
    while let tag = try reader.readTag("FieldTransform") {
      switch tag.field {
      case TransformField.path:
        try reader.require(.lengthDelimited, tag, "FieldTransform.field_path")
        path = try FieldPath(parsingServerFormat: try reader.readString("FieldTransform.field_path"))
      case TransformField.serverValue:
        try reader.require(.varint, tag, "FieldTransform.set_to_server_value")
        guard try reader.readVarint("FieldTransform.set_to_server_value") == UInt64(TransformField.requestTime) else {
          throw message.error("the only server value is 1, REQUEST_TIME", "FieldTransform.set_to_server_value")
        }
        operation = .serverTimestamp
      case TransformField.increment:
        operation = .increment(try value(tag, &reader, "FieldTransform.increment"))
      case TransformField.maximum:
        operation = .maximum(try value(tag, &reader, "FieldTransform.maximum"))
      case TransformField.minimum:
        operation = .minimum(try value(tag, &reader, "FieldTransform.minimum"))
      case TransformField.arrayUnion:
        operation = .arrayUnion(try values(tag, &reader, "FieldTransform.append_missing_elements"))
      case TransformField.arrayRemove:
        operation = .arrayRemove(try values(tag, &reader, "FieldTransform.remove_all_from_array"))
      default:
        try reader.skip(tag, "FieldTransform")
      }
    }
    guard let path, let operation else {
      throw message.error("the path or the transform is missing", "FieldTransform")
    }
    return FieldTransform(path: path, operation: operation)
  }

  static func value(_ tag: WireTag, _ reader: inout WireReader, _ field: StaticString) throws -> Value {
    try reader.require(.lengthDelimited, tag, field)
    return try Value(encoded: [UInt8](try reader.readBytes(field)))
  }

  private static func values(
    _ tag: WireTag, _ reader: inout WireReader, _ field: StaticString
  ) throws -> [Value] {
    try reader.require(.lengthDelimited, tag, field)
    var array = try reader.readMessage(field)
    var values: [Value] = []
    while let tag = try array.readTag(field) {
      guard tag.field == TransformField.arrayElement else {
        try array.skip(tag, field)
        continue
      }
      values.append(try value(tag, &array, field))
    }
    return values
  }
}
