package import HearthModel

extension CacheCodec {
  /// Field numbers of a stored conflict.
  private enum ConflictField {
    static let document = 1
    static let batchID = 2
    static let resolvedAt = 3
    static let ending = 4
    static let copy = 5
    static let isDeletedLocally = 6
    static let isDeletedRemotely = 7
    static let field = 8
  }

  /// Field numbers of a field of a stored conflict.
  private enum ConflictFieldField {
    static let path = 1
    static let base = 2
    static let local = 3
    static let remote = 4
    static let kept = 5
  }

  private enum StoredEnding: Int64 {
    case merged = 1
    case local, remote, both
  }

  /// Encodes what a row does not have in columns of its own: all but the id.
  package static func encode(conflict: KeptConflict, database: DatabaseID) -> [UInt8] {
    let report = conflict.report
    var writer = WireWriter()
    writer.writeString(database.name(of: report.key), field: ConflictField.document)
    writer.writeVarint(conflict.batchID, field: ConflictField.batchID)
    writer.writeTimestamp(conflict.resolvedAt, field: ConflictField.resolvedAt)
    let ending: StoredEnding
    switch report.ending {
    case .merged: ending = .merged
    case .local: ending = .local
    case .remote: ending = .remote
    case .both(let copy):
      ending = .both
      writer.writeString(database.name(of: copy), field: ConflictField.copy)
    }
    writer.writeVarint(ending.rawValue, field: ConflictField.ending)
    if report.isDeletedLocally { writer.writeVarint(1, field: ConflictField.isDeletedLocally) }
    if report.isDeletedRemotely { writer.writeVarint(1, field: ConflictField.isDeletedRemotely) }
    for field in report.fields {
      writer.writeMessage(field: ConflictField.field) { writer in
        writer.writeString(field.path.canonicalString, field: ConflictFieldField.path)
        if let base = field.base { writer.writeBytes(base.encoded(), field: ConflictFieldField.base) }
        if let local = field.local { writer.writeBytes(local.encoded(), field: ConflictFieldField.local) }
        if let remote = field.remote { writer.writeBytes(remote.encoded(), field: ConflictFieldField.remote) }
        if let kept = field.kept { writer.writeVarint(kept == .local ? 1 : 2, field: ConflictFieldField.kept) }
      }
    }
    return writer.bytes
  }

  /// - Throws: A ``WireError`` that names the place when the bytes are not a conflict of this database.
  package static func decodeConflict(
    _ bytes: [UInt8], id: KeptConflict.ID, database: DatabaseID
  ) throws(WireError) -> KeptConflict {
    try at("stored conflict") {
      try bytes.withUnsafeBytes { raw in
        var reader = WireReader(raw)
        var (key, copy): (DocumentKey?, DocumentKey?)
        var (batchID, time): (BatchID?, Timestamp?)
        var stored: StoredEnding?
        var (isDeletedLocally, isDeletedRemotely) = (false, false)
        var fields: [ConflictReport.Field] = []
        while let tag = try reader.readTag("conflict") {
          switch tag.field {
          case ConflictField.document:
            try reader.require(.lengthDelimited, tag, "document")
            key = try database.key(fromName: try reader.readString("document"))
          case ConflictField.copy:
            try reader.require(.lengthDelimited, tag, "copy")
            copy = try database.key(fromName: try reader.readString("copy"))
          case ConflictField.batchID:
            try reader.require(.varint, tag, "batch_id")
            batchID = BatchID(bitPattern: try reader.readVarint("batch_id"))
          case ConflictField.resolvedAt:
            try reader.require(.lengthDelimited, tag, "resolved_at")
            time = try WireReader.timestamp(in: try reader.readMessage("resolved_at"), "resolved_at")
          case ConflictField.ending:
            try reader.require(.varint, tag, "ending")
            stored = StoredEnding(rawValue: Int64(bitPattern: try reader.readVarint("ending")))
          case ConflictField.isDeletedLocally:
            try reader.require(.varint, tag, "is_deleted_locally")
            isDeletedLocally = try reader.readVarint("is_deleted_locally") != 0
          case ConflictField.isDeletedRemotely:
            try reader.require(.varint, tag, "is_deleted_remotely")
            isDeletedRemotely = try reader.readVarint("is_deleted_remotely") != 0
          case ConflictField.field:
            try reader.require(.lengthDelimited, tag, "fields")
            let place = "fields[\(fields.count)]"
            fields.append(try at(place) { try conflictField(in: try reader.readMessage("fields")) })
          default:
            try reader.skip(tag, "conflict")
          }
        }
        guard let key, let batchID, let time else { throw reader.error("a part is missing", "conflict") }
        let ending: ConflictReport.Ending
        switch (stored, copy) {
        case (.merged, _): ending = .merged
        case (.local, _): ending = .local
        case (.remote, _): ending = .remote
        case (.both, let copy?): ending = .both(copy: copy)
        case (.both, nil), (nil, _): throw reader.error("the ending is none", "ending")
        }
        return KeptConflict(
          id: id, batchID: batchID, resolvedAt: time,
          report: ConflictReport(
            key: key, ending: ending, isDeletedLocally: isDeletedLocally, isDeletedRemotely: isDeletedRemotely,
            fields: fields))
      }
    }
  }

  private static func conflictField(in message: WireReader) throws -> ConflictReport.Field {
    var reader = message
    var path: FieldPath?
    var (base, local, remote): (Value?, Value?, Value?)
    var kept: ConflictReport.Side?
    while let tag = try reader.readTag("fields") {
      switch tag.field {
      case ConflictFieldField.path:
        try reader.require(.lengthDelimited, tag, "path")
        path = try FieldPath(parsingServerFormat: try reader.readString("path"))
      case ConflictFieldField.base: base = try value(tag, &reader, "base")
      case ConflictFieldField.local: local = try value(tag, &reader, "local")
      case ConflictFieldField.remote: remote = try value(tag, &reader, "remote")
      case ConflictFieldField.kept:
        try reader.require(.varint, tag, "kept")
        kept = try reader.readVarint("kept") == 1 ? .local : .remote
      default: try reader.skip(tag, "fields")
      }
    }
    guard let path else { throw message.error("the path is missing", "path") }
    return ConflictReport.Field(path: path, base: base, local: local, remote: remote, kept: kept)
  }
}
