internal import HearthModel
internal import Synchronization

/// A document of a change, and its bytes in messages to clients. They are encoded once, when the first stream needs them.
final class SharedDocument: Sendable {
  /// Found or missing. Only the key and the version count where the contents are not sent.
  let document: Document
  private let encoded = Mutex<[UInt8]?>(nil)

  init(_ document: Document) {
    self.document = document
  }

  /// The numbers of the fields of google.firestore.v1.
  private enum Field {
    static let documentChange = 3
    static let documentDelete = 4
    static let documentRemove = 6
    /// The field of the document in each of these three.
    static let document = 1
    static let targetIDs = 5
    static let removedTargetIDs = 6
    static let removedTargetIDsOfRemove = 2
    static let readTime = 4
  }

  /// The bytes of a `ListenResponse` about this document.
  ///
  /// - Parameter isContentNew: False if the document was only pushed out of the removed targets.
  func message(
    updated: [TargetID], removed: [TargetID], isContentNew: Bool, in database: DatabaseID
  ) -> [UInt8] {
    var ids = WireWriter()
    guard isContentNew else {
      var body = WireWriter()
      body.writeBytes(Array(database.name(of: document.key).utf8), field: Field.document)
      ids.writePacked(removed, field: Field.removedTargetIDsOfRemove)
      return Self.message(Field.documentRemove, body.bytes, ids.bytes)
    }
    ids.writePacked(updated, field: Field.targetIDs)
    ids.writePacked(removed, field: Field.removedTargetIDs)
    let body = sharedBytes(in: database)
    return Self.message(document.isFound ? Field.documentChange : Field.documentDelete, body, ids.bytes)
  }

  /// A message in a field: fields may come in any order, so the shared ones are first.
  private static func message(_ field: Int, _ shared: [UInt8], _ rest: [UInt8]) -> [UInt8] {
    var writer = WireWriter()
    writer.reserveCapacity(shared.count + rest.count + 12)
    writer.writeLengthDelimited(field)
    writer.writeVarint(UInt64(shared.count + rest.count))
    writer.writeEncoded(shared)
    writer.writeEncoded(rest)
    return writer.bytes
  }

  private func sharedBytes(in database: DatabaseID) -> [UInt8] {
    encoded.withLock { encoded in
      if let encoded { return encoded }
      let bytes = Self.encode(document, in: database)
      encoded = bytes
      return bytes
    }
  }

  private static func encode(_ document: Document, in database: DatabaseID) -> [UInt8] {
    let name = database.name(of: document.key)
    var writer = WireWriter()
    if document.isFound {
      let bytes = EncodedDocument.encode(
        name: name, fields: document.fields,
        createTime: document.createTime == .none ? nil : document.createTime.timestamp,
        updateTime: document.version == .none ? nil : document.version.timestamp)
      writer.writeBytes(bytes, field: Field.document)
    } else {
      writer.writeBytes(Array(name.utf8), field: Field.document)
      if document.version != .none { writer.writeTimestamp(document.version.timestamp, field: Field.readTime) }
    }
    return writer.bytes
  }

  /// The bytes of a `ListenResponse` that shows one target a missing document that no other stream is waiting for.
  static func message(ofMissing document: Document, to target: TargetID, in database: DatabaseID) -> [UInt8] {
    var ids = WireWriter()
    ids.writePacked([target], field: Field.removedTargetIDs)
    return message(Field.documentDelete, encode(document, in: database), ids.bytes)
  }

  /// Writes `ListenResponse` messages that show one target documents that no other stream is waiting for.
  static func frames(to target: TargetID, in database: DatabaseID) -> DocumentFrames {
    frames(for: target, field: Field.targetIDs, in: database)
  }

  /// Writes `ListenResponse` messages that remove existing documents from one target.
  static func frames(removedFrom target: TargetID, in database: DatabaseID) -> DocumentFrames {
    frames(for: target, field: Field.removedTargetIDs, in: database)
  }

  private static func frames(for target: TargetID, field: Int, in database: DatabaseID) -> DocumentFrames {
    var ids = WireWriter()
    ids.writePacked([target], field: field)
    return DocumentFrames(of: database, wrapper: Field.documentChange, others: ids.bytes)
  }
}

extension WireWriter {
  /// The tag of a field whose contents have a length.
  fileprivate mutating func writeLengthDelimited(_ field: Int) {
    writeVarint(UInt64(field) << 3 | 2)
  }

  fileprivate mutating func writePacked(_ ids: [TargetID], field: Int) {
    guard !ids.isEmpty else { return }
    var content = WireWriter()
    for id in ids { content.writeVarint(UInt64(bitPattern: Int64(id))) }
    writeBytes(content.bytes, field: field)
  }
}

/// The effect of commits on one document of a target.
struct WatchChange: Sendable {
  var document: SharedDocument
  /// The version that was in the target before; nil if the document was not in it.
  var oldVersion: SnapshotVersion?
  /// True if the document is in the target now.
  var isIn: Bool
  /// False if the document itself did not change: others pushed it out of a limit.
  var isContentNew: Bool

  var key: DocumentKey { document.document.key }

  /// Returns true if there is nothing to send to a stream: the document is in the target as before, or others have only moved it into a
  /// limit and out again.
  ///
  /// A document that was written since, and has come in and left again, is sent. The client may show it as its own acknowledged write:
  /// Google's SDKs keep showing it until they receive the document, even if it was deleted in between.
  ///
  /// - Parameter start: The version that the stream has reached.
  func isNothing(after start: SnapshotVersion) -> Bool {
    if isIn { return oldVersion == document.document.version }
    return oldVersion == nil && document.document.version <= start
  }

  /// The effect of this change and a later one of the same document.
  func followed(by later: WatchChange) -> WatchChange {
    var sum = later
    sum.oldVersion = oldVersion
    if !later.isContentNew, isContentNew {
      sum.document = document
      sum.isContentNew = true
    }
    return sum
  }
}
