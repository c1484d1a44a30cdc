internal import HearthModel

extension CacheCodec {
  /// Field numbers of what the author of a stored batch saw of a document.
  private enum ViewField {
    static let document = 1
    static let kind = 2
    static let fields = 3
    static let remoteVersion = 4
    static let isApart = 5
  }

  private enum ViewKind: Int64 {
    /// The result of the batches before it.
    case result = 0
    case unknown = 1
    case missing = 2
    case found = 3
  }

  static func write(_ view: AuthorView, of key: DocumentKey, database: DatabaseID, to writer: inout WireWriter) {
    writer.writeString(database.name(of: key), field: ViewField.document)
    let kind: ViewKind =
      switch view.document?.kind {
      case nil: .result
      case .unknown, .foundWithUnknownContents: .unknown
      case .missing: .missing
      case .found: .found
      }
    writer.writeVarint(kind.rawValue, field: ViewField.kind)
    if kind == .found, let document = view.document {
      writer.writeBytes(document.fields.bytes, field: ViewField.fields)
    }
    writer.writeTimestamp(view.remoteVersion.timestamp, field: ViewField.remoteVersion)
    if view.isApart { writer.writeVarint(1, field: ViewField.isApart) }
  }

  static func storedView(in message: WireReader, database: DatabaseID) throws -> (DocumentKey, AuthorView) {
    var reader = message
    var key: DocumentKey?
    var kind: ViewKind?
    var fields: [UInt8] = []
    var (version, isApart) = (SnapshotVersion.none, false)
    while let tag = try reader.readTag("views") {
      switch tag.field {
      case ViewField.document:
        try reader.require(.lengthDelimited, tag, "views.document")
        key = try database.key(fromName: try reader.readString("views.document"))
      case ViewField.kind:
        try reader.require(.varint, tag, "views.kind")
        kind = ViewKind(rawValue: Int64(bitPattern: try reader.readVarint("views.kind")))
      case ViewField.fields:
        try reader.require(.lengthDelimited, tag, "views.fields")
        fields = [UInt8](try reader.readBytes("views.fields"))
      case ViewField.remoteVersion:
        try reader.require(.lengthDelimited, tag, "views.remote_version")
        version = SnapshotVersion(
          try WireReader.timestamp(in: try reader.readMessage("views.remote_version"), "views.remote_version"))
      case ViewField.isApart:
        try reader.require(.varint, tag, "views.is_apart")
        isApart = try reader.readVarint("views.is_apart") != 0
      default:
        try reader.skip(tag, "views")
      }
    }
    guard let key, let kind else { throw message.error("a part is missing", "views") }
    let document: Document? =
      switch kind {
      case .result: nil
      case .unknown: .unknown(key)
      case .missing: .missing(key, version: .none)
      case .found: .found(key, version: .none, fields: try EncodedFields(validating: fields))
      }
    return (key, AuthorView(document, remoteVersion: version, isApart: isApart))
  }
}
