import HearthCache
import HearthData
import HearthModel

extension CacheInspection {
  private static let nearbyLimit = 10_000

  /// The documents of a collection, as far as it makes sense to look for one that is meant by another.
  func keysNear(_ key: DocumentKey, as viewpoint: Viewpoint) throws -> [DocumentKey] {
    try documentKeys(in: key.collectionPath, as: viewpoint, limit: Self.nearbyLimit)
  }

  /// The identities that have pending writes to a document.
  func ownersOfWrites(to key: DocumentKey) throws -> [OutboxOwner] {
    try overview().users.filter { user in
      try user.pending.batches > 0 && document(for: key, as: .user(user.id)).hasLocalMutations
    }.map { OutboxOwner(name: $0.id) }
  }
}

extension Document {
  /// The fields with the local time of each write in place of a server timestamp that waits for the backend.
  var shownFields: MapValue {
    get throws(WireFormatError) { try fields.decoded().withLocalTimes }
  }
}

extension MapValue {
  fileprivate var withLocalTimes: MapValue { MapValue(entries: entries.map { ($0.key, $0.value.withLocalTimes) }) }
}

extension Value {
  fileprivate var withLocalTimes: Value {
    switch self {
    case .pendingServerTimestamp(let time, _): .timestamp(time)
    case .map(let map): .map(map.withLocalTimes)
    // An array holds no server timestamps.
    default: self
    }
  }
}

/// Shows documents of a cache in the forms of `hearth data`.
enum CacheDocuments {
  /// Says on standard error why a query found nothing.
  ///
  /// - Parameters:
  ///   - words: The query.
  ///   - collections: The collections of the cache.
  ///   - nothing: The sentence for a cache without any.
  ///   - advice: The reason for which its words match nothing of its collection; nil if that is not known.
  static func explainEmpty(
    _ words: DataQuery, _ collections: [ResourcePath], _ nothing: String, _ advice: String? = nil
  ) {
    // A group is named by the last part of its paths.
    let names =
      words.isCollectionGroup
      ? Set(collections.compactMap(\.last)).sorted() : collections.map(\.canonicalString)
    let text: String
    if names.isEmpty {
      text = nothing
    } else if names.contains(words.collection) {
      text = "0 documents; the collection \(words.collection) is in the cache.\(advice.map { " " + $0 } ?? "")"
    } else {
      text = "0 documents; the cache has no collection \(absent(words.collection, from: names))"
    }
    EmptyCacheAnswer.write(text)
  }

  /// A name that is not among others, some of those, and the nearest one.
  static func absent(_ name: String, from names: [String]) -> String {
    let shown = names.prefix(shownNames).joined(separator: ", ") + (names.count > shownNames ? " and others" : "")
    let nearest = NearestWord.of(name, in: names).map { " Did you mean \(ShellWord.bare($0))?" } ?? ""
    return "\(name), but \(shown).\(nearest)"
  }

  private static let shownNames = 8

  /// Shows documents. If a limit has left out further ones, the last line of a table says so, and for JSON a line on standard error.
  static func show(
    _ documents: [Document], in database: DatabaseID, _ format: FormatOptions, isCut: Bool = false
  ) throws {
    let ending = ProgressText.count(documents.count, "document") + (isCut ? ", more with --limit N" : "")
    guard !format.isJSON else {
      try write(documents, in: database)
      if isCut { EmptyCacheAnswer.write(ending) }
      return
    }
    var table = TableLayout(["DOCUMENT", "PENDING", "UPDATED", "FIELDS"])
    for document in documents {
      let updated = document.version > .none ? document.version.timestamp.rfc3339 : ""
      table.add([
        ShellWord.bare(document.key.canonicalString), document.hasLocalMutations ? "yes" : "", updated,
        DocumentTable.cell(.map(try document.shownFields), database),
      ])
    }
    try format.tables.show(table, ending: ending)
  }

  /// Writes a line of JSON for each.
  static func write(_ documents: [Document], in database: DatabaseID) throws {
    let output = StandardOutput()
    for document in documents { try output.writeLine(try line(document, in: database)) }
  }

  /// A document as a line of JSON, as `hearth data` writes it. Of one without known contents it says what is known.
  static func line(_ document: Document, in database: DatabaseID?) throws -> String {
    switch document.kind {
    case .found:
      var writer = ValueJSONWriter(database: database ?? DatabaseID(projectID: "unknown"))
      try DocumentLine.write(document, fields: try document.shownFields, to: &writer)
      return String(decoding: writer.bytes, as: UTF8.self)
    case .missing, .foundWithUnknownContents, .unknown:
      var members: [(name: String, value: JSONText)] = [("path", .string(document.key.canonicalString))]
      members.append(document.isMissing ? ("exists", false) : ("isContentKnown", false))
      if document.version > .none { members.append(("updateTime", .string(document.version.timestamp.rfc3339))) }
      if document.hasLocalMutations { members.append(("hasPendingWrites", true)) }
      return JSONText.object(members).compact
    }
  }
}
