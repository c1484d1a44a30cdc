package import HearthModel

extension DocumentStore {
  /// The next segments of the paths below a path that lead to an existing document, in order. Below the root (the empty path) and below a
  /// document these are ids of collections. Below a collection they are ids of documents that have collections, whether these documents
  /// exist or not.
  ///
  /// - Parameters:
  ///   - last: The id after which the list begins; it need not exist any more.
  ///   - limit: The largest number of ids.
  package func childIDs(under parent: ResourcePath, after last: String? = nil, limit: Int = .max) throws -> [String] {
    try childIDs(under: parent, after: last, limit: limit, in: "collections") { path in
      var isFound = false
      try forEachPath(atOrBelow: path, in: "collections") { _, number in
        isFound = try holdsDocument(in: DocumentSchema.checked(number, path: path.canonicalString))
        return !isFound
      }
      return isFound
    }
  }

  /// The next segments of the paths of a table below a path, in order.
  ///
  /// Skips from one to the next: what lies below an id is not looked at.
  ///
  /// - Parameters:
  ///   - table: Has the columns `path` and `number`, and an index of the paths.
  ///   - isPart: Returns whether an id belongs to the list, for the path that ends with it.
  package func childIDs(
    under parent: ResourcePath, after last: String?, limit: Int, in table: String,
    where isPart: (ResourcePath) throws -> Bool
  ) throws -> [String] {
    guard limit > 0 else { return [] }
    return try database.readTransaction("List ids") {
      var ids: [String] = []
      let tree = CollectionTree(database: database, group: nil, table: table)
      var run = try SegmentRun(tree, below: parent, in: SegmentRange(lower: last), isBackward: false)
      while ids.count < limit, let id = run.current {
        if last.map({ PathSegment.compare(id, $0) == .descending }) ?? true, try isPart(parent.appending(id)) {
          ids.append(id)
        }
        try run.advance()
      }
      return ids
    }
  }

  /// Passes the paths of a table at a path or below it, each with its number, until `body` returns false.
  package func forEachPath(
    atOrBelow path: ResourcePath, in table: String, _ body: (ResourcePath, Int64) throws -> Bool
  ) throws {
    let range = PathRange(below: path)
    for (condition, parameters) in [
      ("path = ?", [path.canonicalString]), ("path >= ? AND path < ?", [range.lower, range.upper]),
    ] {
      let select = try database.prepare(
        "SELECT path, number FROM \(table) WHERE \(condition) ORDER BY path", parameters.map { .text($0) })
      while try select.step() {
        let found = try DocumentSchema.path(select.string(at: 0))
        guard try body(found, select.int64(at: 1)) else { return }
      }
    }
  }

  /// Returns whether a collection has an existing document whose version is not above one.
  package func holdsDocument(in collection: ResourcePath, unchangedSince version: SnapshotVersion) throws -> Bool {
    guard let number = try number(of: collection) else { return false }
    return try holdsDocument(in: number, " AND version <= ?", [.integer(version.microseconds)])
  }

  private func holdsDocument(
    in collection: Int64, _ condition: String = "", _ parameters: [Statement.Parameter] = []
  ) throws -> Bool {
    let statement = try database.prepare(
      "SELECT 1 FROM documents WHERE place BETWEEN ? AND ? AND kind = \(DocumentSchema.Kind.found)\(condition) LIMIT 1",
      [.integer(Place.first(in: collection)), .integer(Place.last(in: collection))] + parameters)
    return try statement.step()
  }

  /// The existing documents of a collection in the order of their keys, a page at a time.
  ///
  /// - Parameters:
  ///   - after: the id that the previous page ended with; it need not exist any more.
  ///   - limit: the largest number of documents.
  package func documents(in collection: ResourcePath, after: String? = nil, limit: Int) throws -> [Document] {
    guard limit > 0 else { return [] }
    return try database.readTransaction("List documents") {
      guard let number = try number(of: collection) else { return [] }
      var page = try numericDocuments(in: collection, number: number, after: after, limit: limit)
      // All numeric ids come before all others. So after a numeric one, the others are listed from their first.
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
    return try statement.step() ? Int(clamping: statement.int64(at: 0)) : 0
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
    return try statement.step() ? Int(clamping: statement.int64(at: 0)) : 0
  }
}
