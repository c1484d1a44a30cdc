package import HearthModel

extension DocumentStore {
  /// The next segments of all collections with an existing document below a path, in order: of the root (the empty path) and of a
  /// document the ids of its collections, of a collection the ids of documents that have something below them, whether they exist or not.
  ///
  /// Skips from one to the next: what lies below an id that is already known is not looked at.
  package func childIDs(under parent: ResourcePath) throws -> [String] {
    try database.readTransaction("List ids") {
      var ids: Set<ResourcePath> = []
      var lower = parent.isEmpty ? "" : PathRange(below: parent).lower
      let upper: String? = parent.isEmpty ? nil : PathRange(below: parent).upper
      while let (text, number) = try firstCollection(from: lower, to: upper) {
        let path = try DocumentSchema.path(text)
        let child = ResourcePath([try segment(parent.count, of: path)])
        let childPath = parent.appending(child)
        if !ids.contains(child), try holdsExistingDocument(number) { ids.insert(child) }
        if ids.contains(child), path != childPath {
          lower = PathRange(below: childPath).upper
        } else {
          // The smallest text after this one.
          lower = text + "\u{0}"
        }
      }
      return ids.sorted().map(\.canonicalString)
    }
  }

  /// Visits the keys of all existing documents below a document or in and below a collection, until `body` returns false.
  package func forEachKey(under path: ResourcePath, _ body: (DocumentKey) throws -> Bool) throws {
    try database.readTransaction("List keys") {
      for (collection, number) in try collections(in: .everything(under: path)) {
        let select = try database.prepare(
          "SELECT id FROM documents INDEXED BY documents_by_id "
            + "WHERE collection = ? AND kind = \(DocumentSchema.Kind.found)", .integer(number))
        while try select.step() {
          guard try body(DocumentKey(collection.appending(select.string(at: 0)))) else { return }
        }
      }
    }
  }

  private func segment(_ index: Int, of path: ResourcePath) throws(StoreError) -> String {
    let segments = path.segments
    guard segments.indices.contains(index) else {
      throw .corrupt("table collections: \"\(path)\" is no path of a collection")
    }
    return segments[index]
  }

  private func firstCollection(from lower: String, to upper: String?) throws -> (path: String, number: Int64)? {
    let statement = try database.prepare(
      "SELECT path, number FROM collections WHERE path >= ?\(upper == nil ? "" : " AND path < ?") ORDER BY path LIMIT 1",
      [.text(lower)] + (upper.map { [.text($0)] } ?? []))
    guard try statement.step() else { return nil }
    let path = try statement.string(at: 0)
    return (path, try DocumentSchema.checked(statement.int64(at: 1), path: path))
  }

  private func holdsExistingDocument(_ collection: Int64) throws -> Bool {
    let statement = try database.prepare(
      "SELECT 1 FROM documents WHERE place BETWEEN ? AND ? AND kind = \(DocumentSchema.Kind.found) LIMIT 1",
      .integer(Place.first(in: collection)), .integer(Place.last(in: collection)))
    return try statement.step()
  }

  /// The existing documents of a collection in the order of their keys, a page at a time.
  ///
  /// - Parameters:
  ///   - after: the id that the previous page ended with; it need not exist any more.
  ///   - limit: at most so many.
  package func documents(in collection: ResourcePath, after: String? = nil, limit: Int) throws -> [Document] {
    guard limit > 0 else { return [] }
    return try database.readTransaction("List documents") {
      guard let number = try number(of: collection) else { return [] }
      var page = try numericDocuments(in: collection, number: number, after: after, limit: limit)
      // All numeric ids come before all others, so after one of them the others begin at their first.
      let statement = try database.prepare(
        "SELECT \(StoredDocument.columns) FROM documents INDEXED BY documents_by_id "
          + "WHERE collection = ? AND id > ? AND kind = \(DocumentSchema.Kind.found) ORDER BY id",
        .integer(number), .text(after.flatMap { PathSegment.numericID($0) == nil ? $0 : nil } ?? ""))
      let stored = StoredDocument(statement: statement, collection: collection)
      while page.count < limit, try statement.step() {
        let key = try stored.key
        if PathSegment.numericID(key.id) != nil { continue }
        page.append(try stored.document(key: key))
      }
      return page
    }
  }

  /// Ids of the form `__id<number>__` are first in the order of keys, by number, and not in the order of the index. They
  /// are rare, so those of a collection are read and sorted.
  private func numericDocuments(
    in collection: ResourcePath, number: Int64, after: String?, limit: Int
  ) throws -> [Document] {
    if let after, PathSegment.numericID(after) == nil { return [] }
    let statement = try database.prepare(
      "SELECT \(StoredDocument.columns) FROM documents INDEXED BY documents_by_id "
        + "WHERE collection = ? AND id >= '__id' AND id < '__ie' AND kind = \(DocumentSchema.Kind.found)",
      .integer(number))
    let stored = StoredDocument(statement: statement, collection: collection)
    var documents: [Document] = []
    while try statement.step() {
      let key = try stored.key
      guard PathSegment.numericID(key.id) != nil else { continue }
      if let after, PathSegment.compare(key.id, after) != .descending { continue }
      documents.append(try stored.document(key: key))
    }
    documents.sort { $0.key < $1.key }
    return Array(documents.prefix(limit))
  }

  // MARK: - Sizes

  /// The number of keys with a stored document, also those of documents that are known to be missing. Walks an index.
  package func count() throws -> Int {
    let statement = try database.prepare("SELECT count(*) FROM documents")
    return try statement.step() ? Int(statement.int64(at: 0)) : 0
  }

  /// The size of a stored document's fields, 0 when there is none. Does not read them.
  package func fieldsByteCount(of key: DocumentKey) throws -> Int {
    let statement = try database.prepare(
      """
      SELECT length(fields) FROM collections CROSS JOIN documents
      ON documents.collection = collections.number AND documents.id = ?2 WHERE collections.path = ?1
      """,
      .text(key.collectionPath.canonicalString), .text(key.id))
    return try statement.step() ? Int(clamping: statement.int64(at: 0)) : 0
  }

  /// The number of existing documents of a collection. Reads the collection.
  package func count(in collection: ResourcePath) throws -> Int {
    guard let number = try number(of: collection) else { return 0 }
    let statement = try database.prepare(
      "SELECT count(*) FROM documents WHERE place BETWEEN ? AND ? AND kind = \(DocumentSchema.Kind.found)",
      .integer(Place.first(in: number)), .integer(Place.last(in: number)))
    return try statement.step() ? Int(statement.int64(at: 0)) : 0
  }
}
