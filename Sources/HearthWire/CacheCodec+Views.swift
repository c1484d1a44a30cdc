internal import HearthModel

extension CacheCodec {
  /// Field numbers of what the author of a stored batch saw of a document.
  private enum ViewField {
    static let document = 1
    static let kind = 2
    static let fields = 3
    static let remoteVersion = 4
    static let isApart = 5
    static let shownKind = 6
    static let shownFields = 7
  }

  private enum ViewKind: Int64 {
    /// The result of the batches before it.
    case result = 0
    case unknown = 1
    case missing = 2
    case found = 3

    init(_ document: Document?) {
      switch document?.kind {
      case nil: self = .result
      case .unknown, .foundWithUnknownContents: self = .unknown
      case .missing: self = .missing
      case .found: self = .found
      }
    }

    func document(_ key: DocumentKey, fields: [UInt8]) throws -> Document? {
      switch self {
      case .result: nil
      case .unknown: .unknown(key)
      case .missing: .missing(key, version: .none)
      case .found: .found(key, version: .none, fields: try EncodedFields(validating: fields))
      }
    }
  }

  static func write(_ view: AuthorView, of key: DocumentKey, database: DatabaseID, to writer: inout WireWriter) {
    writer.writeString(database.name(of: key), field: ViewField.document)
    writer.writeVarint(ViewKind(view.document).rawValue, field: ViewField.kind)
    if let document = view.document, document.isFound {
      writer.writeBytes(document.fields.bytes, field: ViewField.fields)
    }
    if let version = view.remoteVersion { writer.writeTimestamp(version.timestamp, field: ViewField.remoteVersion) }
    if view.isApart { writer.writeVarint(1, field: ViewField.isApart) }
    guard let shown = view.shown else { return }
    writer.writeVarint(ViewKind(shown).rawValue, field: ViewField.shownKind)
    if shown.isFound { writer.writeBytes(shown.fields.bytes, field: ViewField.shownFields) }
  }

  static func storedView(in message: WireReader, database: DatabaseID) throws -> (DocumentKey, AuthorView) {
    var reader = message
    var key: DocumentKey?
    var kind: ViewKind?
    var fields: [UInt8] = []
    var shown: (kind: ViewKind?, fields: [UInt8]) = (.result, [])
    var (version, isApart) = (SnapshotVersion?.none, false)
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
      case ViewField.shownKind:
        try reader.require(.varint, tag, "views.shown_kind")
        shown.kind = ViewKind(rawValue: Int64(bitPattern: try reader.readVarint("views.shown_kind")))
      case ViewField.shownFields:
        try reader.require(.lengthDelimited, tag, "views.shown_fields")
        shown.fields = [UInt8](try reader.readBytes("views.shown_fields"))
      default:
        try reader.skip(tag, "views")
      }
    }
    guard let key, let kind, let shownKind = shown.kind else { throw message.error("a part is missing", "views") }
    let view = AuthorView(
      try kind.document(key, fields: fields), shown: try shownKind.document(key, fields: shown.fields),
      remoteVersion: version, isApart: isApart)
    return (key, view)
  }
}
