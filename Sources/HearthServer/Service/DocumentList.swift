internal import HearthModel

/// The documents of a collection, or of all collections directly below a parent, listed a page at a time.
struct DocumentList {
  let query: Query
  let showsMissing: Bool
  let database: Session
  let plan: ReadPlan
  let pageSize: Int

  /// True for all collections right below the path of the query, which are listed one after the other.
  private var isShallow: Bool { query.collectionGroup != nil }

  /// Identifies the list, so that a page token of another list is refused.
  private var identity: String {
    let order = query.explicitOrders.map { "\($0.path) \($0.direction)" }.joined(separator: ",")
    return "\(database.id)\n\(query.path)\n\(isShallow)\n\(order)\n\(showsMissing)"
  }

  /// Documents of the list in its order, at one version.
  private struct Rows {
    /// The bytes of names and fields that a page holds at most, unless its only document has more, however many documents were asked for.
    /// A page is one message, which is held until the client has read it. So it has few bytes more than the largest document.
    static let bytesPerPage = 1 << 20

    private(set) var documents: [Document] = []
    private var byteCount = 0
    /// True if further ones were left out because these have so many bytes.
    var isCut = false
    var version = SnapshotVersion.none

    /// - Returns: False if there is no room, so that the page ends here.
    mutating func add(_ document: Document, size: Int) -> Bool {
      guard byteCount + size <= Self.bytesPerPage || documents.isEmpty else {
        isCut = true
        return false
      }
      byteCount += size
      documents.append(document)
      return true
    }
  }

  func page(after token: String) async throws -> (documents: [Document], nextToken: String) {
    var query = query
    let parent = query.path
    let last = try database.pageToken(token, kind: .documents, of: identity)
      .map { try DocumentKey(parent.appending(ResourcePath(canonical: $0.lastID))) }
    if let last { query.startAt = try await bound(after: last) }
    query.limit = pageSize
    // Not only when the documents were read that the caller may list.
    if showsMissing { try database.checkListingChildren(of: query.path) }
    var rows = try await rows(of: query)
    if showsMissing {
      let end = rows.isCut || rows.documents.count > pageSize ? rows.documents.last?.key : nil
      rows = try await merged(rows, after: last, through: end)
    }
    let (documents, isLast) = (rows.documents.prefix(pageSize), !rows.isCut && rows.documents.count <= pageSize)
    guard !isLast, let end = documents.last else { return (Array(documents), "") }
    let lastID = ResourcePath(Array(end.key.path.segments[query.path.count...])).canonicalString
    let next = database.text(of: PageToken(lastID: lastID, kind: .documents, of: identity))
    return (Array(documents), next)
  }

  /// The first documents of a query.
  private func rows(of query: Query) async throws -> Rows {
    // One more than the page, to know whether there is another.
    var pages = ResultPages(of: query, isShallow: isShallow, plan: plan, in: database, extra: 1)
    var rows = Rows()
    while let page = try await pages.next() {
      rows.version = page.answer.readVersion
      for document in page.answer.documents {
        guard rows.add(document, size: size(of: document)) else { return rows }
      }
    }
    return rows
  }

  /// The size of a document in a response, with room for times and lengths.
  private func size(of document: Document) -> Int {
    let name = database.id.documentsName.utf8.count + document.key.path.canonicalString.utf8.count
    return name + document.fields.bytes.count + 64
  }

  /// The position after the last document of the previous page.
  ///
  /// - Throws: INVALID_ARGUMENT if the list has an order and that document was deleted, because its position is lost.
  private func bound(after key: DocumentKey) async throws -> Bound {
    let reference = Value.reference(ReferenceValue(database: database.id, key: key))
    if query.isOrderedByKeyOnly { return Bound(position: [reference], isInclusive: false) }
    // It was on the page before, so that it belongs to the list. Where that is not allowed any more, nobody learns that it was deleted.
    let (database, list) = (database, query.with(limit: pageSize))
    let documents = try await plan.reading { version throws(StatusError) in
      try await database.firstDocuments(of: [key], inResultOf: list, at: version).documents
    }
    guard let document = documents.first, document.isFound else { throw StatusError.invalid("invalid page token") }
    let position = try query.orders.map { order in
      order.path.isDocumentKey ? reference : try document.fields.value(at: order.path) ?? .null
    }
    return Bound(position: position, isInclusive: false)
  }

  /// Adds the documents that do not exist but have something below them.
  ///
  /// - Parameter end: The last of the documents if there are further ones.
  private func merged(_ rows: Rows, after last: DocumentKey?, through end: DocumentKey?) async throws -> Rows {
    // Those that exist stand in the page already, as far as it reaches.
    let existing = Set(rows.documents.map(\.key))
    var all = rows.documents
    var missingBytes = 0
    var lastID = last?.id
    let limit = min(Self.idsPerRead, pageSize + 1)
    while all.count <= existing.count + pageSize, missingBytes <= Rows.bytesPerPage {
      let keys = try await parents(after: lastID, limit: limit, at: rows.version)
      for key in keys where !existing.contains(key) && end.map({ key < $0 }) ?? true {
        let missing = Document.missing(key, version: .none)
        missingBytes += size(of: missing)
        all.append(missing)
      }
      lastID = keys.last?.id
      guard keys.count == limit, let reached = keys.last, end.map({ reached < $0 }) ?? true else { break }
    }
    all.sort { $0.key < $1.key }
    var merged = Rows()
    (merged.isCut, merged.version) = (rows.isCut, rows.version)
    for document in all.prefix(pageSize + 1) {
      guard merged.add(document, size: size(of: document)) else { break }
    }
    return merged
  }

  private static let idsPerRead = 1_000

  /// Some of the documents of the collection that have something below them, whether they exist or not.
  private func parents(
    after lastID: String?, limit: Int, at version: SnapshotVersion
  ) async throws -> [DocumentKey] {
    let (database, collection) = (database, query.path)
    let ids = try await plan.reading(laterAt: version) { version throws(StatusError) in
      try await database.collectionIDs(under: collection, after: lastID, limit: limit, at: version)
    }
    return try ids.map { try DocumentKey(collection.appending($0)) }
  }
}
