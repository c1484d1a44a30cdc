package import HearthModel
internal import HearthStore

/// The documents of a cache as text, for other programs and other caches.
package struct CacheExport: Sendable {
  package enum Format: String, Sendable, CaseIterable {
    /// A line for each document, in a form that the caller chooses.
    case lines
    /// A Firestore bundle, which `loadBundle` of any SDK reads. Holds what the backend has confirmed.
    case bundle
  }

  package var format: Format
  package var viewpoint: CacheInspection.Viewpoint
  /// Nil for all collections; subcollections of a collection are not part of it.
  package var collection: ResourcePath?

  package init(format: Format, viewpoint: CacheInspection.Viewpoint, collection: ResourcePath?) {
    self.format = format
    self.viewpoint = viewpoint
    self.collection = collection
  }

  private var scope: CollectionScope {
    collection.map { .collection($0) } ?? .everything(under: ResourcePath())
  }

  /// Writes the documents of one state of the cache.
  ///
  /// - Parameters:
  ///   - createTime: the create time of the bundle.
  ///   - line: gives the line of a document, without its end. The database is nil if the cache does not name it.
  ///   - progress: called with the number of documents written and about how many there are.
  ///   - write: gets the text piece by piece.
  /// - Returns: The number of documents.
  /// - Throws: ``CacheInspectionError``; `WireFormatError` for a damaged document; the errors of `write`.
  package func run(
    folder: String, createTime: Timestamp, line: (Document, DatabaseID?) throws -> String,
    progress: (_ done: Int, _ total: Int?) -> Void = { _, _ in },
    write: (String) throws -> Void
  ) throws -> Int {
    try CacheInspection.read(folder: folder, isRepeatable: false) { cache in
      let total = try cache.documents.estimatedDocumentCount(in: scope)
      var count = 0
      func each(_ body: (Document) throws -> Void) throws {
        try cache.forEachDocument(in: scope, as: format == .bundle ? .backend : viewpoint, body)
      }
      switch format {
      case .lines:
        try each {
          try write(try line($0, cache.databaseID) + "\n")
          count += 1
          progress(count, total)
        }
      case .bundle:
        guard let databaseID = cache.databaseID else {
          throw CacheInspectionError.invalid(
            "The cache in \"\(folder)\" does not record its project, which a bundle needs. Start its client once, which records it, "
              + "or export JSON lines instead.")
        }
        // The first element says how long the others are.
        var (documentCount, byteCount) = (0, 0)
        try each {
          byteCount += try Self.elements(of: $0, databaseID).utf8.count
          documentCount += 1
        }
        try write(Self.metadata(createTime, documentCount: documentCount, byteCount: byteCount))
        try each {
          try write(Self.elements(of: $0, databaseID))
          count += 1
          progress(count, documentCount)
        }
      }
      return count
    }
  }

  // MARK: - Bundles

  private static func metadata(_ createTime: Timestamp, documentCount: Int, byteCount: Int) -> String {
    element([
      (
        "metadata",
        .object([
          ("id", .string("hearth-cache-export-\(createTime.rfc3339)")), ("createTime", .string(createTime.rfc3339)),
          ("version", 1), ("totalDocuments", .integer(documentCount)), ("totalBytes", .string(String(byteCount))),
        ])
      )
    ])
  }

  private static func elements(of document: Document, _ databaseID: DatabaseID) throws -> String {
    let name = JSONText.string(databaseID.name(of: document.key.path))
    let readTime = max(document.readTime, document.version).timestamp.rfc3339
    let metadata = element([
      ("documentMetadata", .object([("name", name), ("readTime", .string(readTime)), ("exists", true)]))
    ])
    var members: [(name: String, value: JSONText)] = [("name", name)]
    if document.createTime > .none { members.append(("createTime", .string(document.createTime.timestamp.rfc3339))) }
    members.append(("updateTime", .string(document.version.timestamp.rfc3339)))
    members.append(("fields", try document.fields.decoded().typedJSON))
    return metadata + element([("document", .object(members))])
  }

  /// An element has its length in bytes before it.
  private static func element(_ members: [(name: String, value: JSONText)]) -> String {
    let text = JSONText.object(members).compact
    return "\(text.utf8.count)\(text)"
  }
}
