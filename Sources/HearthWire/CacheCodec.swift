package import HearthModel

/// The durable encoding of a cache's pending batches, overlays and targets.
///
/// All are protobuf messages, so that fields can be added later; readers skip unknown ones. A mutation is a `google.firestore.v1.Write`. It
/// is written and read here without message objects, because a user's data must be returned exactly. Message objects would merge map keys
/// that Swift considers the same text ("é" composed and decomposed), and refuse values that are nested deeper than about thirty levels.
///
/// Records carry full resource names, so a file of another database is detected.
package enum CacheCodec {
  /// Field numbers of a stored batch.
  private enum BatchField {
    static let batchID = 1
    static let localWriteTime = 2
    static let baseMutation = 3
    static let mutation = 4
    static let identity = 5
    static let keepsOutcome = 6
    static let keepsBases = 7
    static let isResolved = 8
    static let hasGuards = 9
    static let guards = 10
    static let views = 11
  }

  /// Field numbers of a stored condition for a document.
  private enum GuardField {
    static let document = 1
    static let precondition = 2
  }

  package static func encode(batch: MutationBatch, database: DatabaseID) -> [UInt8] {
    var writer = WireWriter()
    writer.writeVarint(batch.batchID, field: BatchField.batchID)
    if let identity = batch.identity { writer.writeBytes(identity.bytes, field: BatchField.identity) }
    if batch.keepsOutcome { writer.writeVarint(1, field: BatchField.keepsOutcome) }
    if batch.keepsBases { writer.writeVarint(1, field: BatchField.keepsBases) }
    if batch.isResolved { writer.writeVarint(1, field: BatchField.isResolved) }
    writer.writeTimestamp(batch.localWriteTime, field: BatchField.localWriteTime)
    for mutation in batch.baseMutations {
      writer.writeMessage(field: BatchField.baseMutation) { write(mutation, database: database, to: &$0) }
    }
    for mutation in batch.mutations {
      writer.writeMessage(field: BatchField.mutation) { write(mutation, database: database, to: &$0) }
    }
    if let guards = batch.guards {
      writer.writeVarint(1, field: BatchField.hasGuards)
      for (key, precondition) in guards.sorted(by: { $0.key < $1.key }) {
        writer.writeMessage(field: BatchField.guards) { writer in
          writer.writeString(database.name(of: key), field: GuardField.document)
          write(precondition, field: GuardField.precondition, to: &writer)
        }
      }
    }
    for (key, view) in batch.views.sorted(by: { $0.key < $1.key }) {
      writer.writeMessage(field: BatchField.views) { write(view, of: key, database: database, to: &$0) }
    }
    return writer.bytes
  }

  /// - Throws: a ``WireError`` that names the place when the bytes are not a batch of this database.
  package static func decodeBatch(_ bytes: [UInt8], database: DatabaseID) throws(WireError) -> MutationBatch {
    try at("stored batch") {
      try bytes.withUnsafeBytes { raw in
        var reader = WireReader(raw)
        var batch = MutationBatch(
          batchID: unknownBatchID, localWriteTime: Timestamp(seconds: 0, nanoseconds: 0), mutations: [])
        while let tag = try reader.readTag("batch") {
          switch tag.field {
          case BatchField.batchID:
            try reader.require(.varint, tag, "batch_id")
            batch.batchID = BatchID(bitPattern: try reader.readVarint("batch_id"))
          case BatchField.identity:
            try reader.require(.lengthDelimited, tag, "identity")
            guard let identity = BatchIdentity(bytes: try reader.readBytes("identity")) else {
              throw reader.error("an identity has \(BatchIdentity.byteCount) bytes", "identity")
            }
            batch.identity = identity
          case BatchField.keepsOutcome:
            try reader.require(.varint, tag, "keeps_outcome")
            batch.keepsOutcome = try reader.readVarint("keeps_outcome") != 0
          case BatchField.keepsBases:
            try reader.require(.varint, tag, "keeps_bases")
            batch.keepsBases = try reader.readVarint("keeps_bases") != 0
          case BatchField.isResolved:
            try reader.require(.varint, tag, "is_resolved")
            batch.isResolved = try reader.readVarint("is_resolved") != 0
          case BatchField.localWriteTime:
            try reader.require(.lengthDelimited, tag, "local_write_time")
            batch.localWriteTime = try WireReader.timestamp(
              in: try reader.readMessage("local_write_time"), "local_write_time")
          case BatchField.baseMutation:
            try reader.require(.lengthDelimited, tag, "base_mutations")
            batch.baseMutations.append(
              try at("base_mutations[\(batch.baseMutations.count)]") {
                try mutation(in: try reader.readMessage("base_mutations"), database: database)
              })
          case BatchField.mutation:
            try reader.require(.lengthDelimited, tag, "mutations")
            batch.mutations.append(
              try at("mutations[\(batch.mutations.count)]") {
                try mutation(in: try reader.readMessage("mutations"), database: database)
              })
          case BatchField.hasGuards:
            try reader.require(.varint, tag, "has_guards")
            if try reader.readVarint("has_guards") != 0, batch.guards == nil { batch.guards = [:] }
          case BatchField.guards:
            try reader.require(.lengthDelimited, tag, "guards")
            let (key, precondition) = try storedGuard(in: try reader.readMessage("guards"), database: database)
            batch.guards = batch.guards ?? [:]
            batch.guards?[key] = precondition
          case BatchField.views:
            try reader.require(.lengthDelimited, tag, "views")
            let (key, view) = try storedView(in: try reader.readMessage("views"), database: database)
            batch.views[key] = view
          default:
            try reader.skip(tag, "batch")
          }
        }
        return batch
      }
    }
  }

  private static func storedGuard(
    in message: WireReader, database: DatabaseID
  ) throws -> (DocumentKey, Precondition) {
    var reader = message
    var key: DocumentKey?
    var precondition = Precondition.none
    while let tag = try reader.readTag("guards") {
      switch tag.field {
      case GuardField.document:
        try reader.require(.lengthDelimited, tag, "guards.document")
        key = try database.key(fromName: try reader.readString("guards.document"))
      case GuardField.precondition:
        try reader.require(.lengthDelimited, tag, "guards.precondition")
        precondition = try self.precondition(in: try reader.readMessage("guards.precondition"))
      default:
        try reader.skip(tag, "guards")
      }
    }
    guard let key else { throw message.error("the document is missing", "guards.document") }
    return (key, precondition)
  }

  package static func encode(mutation: Mutation, database: DatabaseID) -> [UInt8] {
    var writer = WireWriter()
    write(mutation, database: database, to: &writer)
    return writer.bytes
  }

  /// - Throws: a ``WireError`` that names the place when the bytes are not a mutation of this database.
  package static func decodeMutation(_ bytes: [UInt8], database: DatabaseID) throws(WireError) -> Mutation {
    try at("stored mutation") {
      try bytes.withUnsafeBytes { try mutation(in: WireReader($0), database: database) }
    }
  }

  /// Decodes a mutation whose key the caller expects, which then is not built again.
  ///
  /// - Returns: a mutation of any key, which the caller has to compare.
  /// - Throws: as ``decodeMutation(_:database:)``.
  package static func decodeMutation(
    _ bytes: UnsafeRawBufferPointer, expecting key: DocumentKey, database: DatabaseID
  ) throws(WireError) -> Mutation {
    try at("stored mutation") { try mutation(in: WireReader(bytes), database: database, expected: key) }
  }
}
