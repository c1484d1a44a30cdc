package import HearthModel
internal import HearthPlan

extension IndexTable {
  /// The statements that are executed for every entry, built once.
  private enum SQL {
    static let insert = "INSERT OR REPLACE INTO index_entries (number, collection, key, place) VALUES (?, ?, ?, ?)"
    static let delete = "DELETE FROM index_entries WHERE number = ? AND collection = ? AND key = ?"
    static let insertLocal =
      "INSERT OR REPLACE INTO index_local_entries (number, owner, collection, key, id) VALUES (?, ?, ?, ?, ?)"
    static let deleteLocal = "DELETE FROM index_local_entries WHERE owner = ? AND collection = ? AND id = ?"
  }

  // MARK: - Stored documents

  /// The contents at a place, before or after a change.
  struct Contents {
    /// Nil if no document exists there.
    var fields: EncodedFields?

    static let nothing = Contents(fields: nil)

    init(fields: EncodedFields?) {
      self.fields = fields
    }

    init(of document: Document) {
      fields = document.isFound ? document.fields : nil
    }
  }

  /// Returns whether the entries of the document at this place must follow its changes.
  func holds(_ place: Int64, group: String) throws(StoreError) -> Bool {
    try indexes(of: group).contains { $0.filledThrough >= place }
  }

  /// Brings the entries of a document in sync with its contents.
  func change(
    _ key: DocumentKey, at place: Int64, in collection: Int64, from before: Contents, to after: Contents
  ) throws(StoreError) {
    assert(database.isInWriteTransaction, "the entries of \(key) change outside of a write transaction")
    let identity = IndexKeys.identity(of: place)
    for index in try indexes(of: key.collectionGroup) where index.filledThrough >= place {
      var keys = IndexKeys(index)
      let old = before.fields.map { keys.keys(of: $0, key, identity: identity) } ?? []
      let new = after.fields.map { keys.keys(of: $0, key, identity: identity) } ?? []
      if old == new { continue }
      let (oldKeys, newKeys) = (Set(old), Set(new))
      assert(
        oldKeys.count == old.count && newKeys.count == new.count, "index \(index.number) has a key of \(key) twice")
      let number = index.entryCollection(of: collection)
      for key in old where !newKeys.contains(key) { try delete(key, of: index.number, in: number) }
      for key in new where !oldKeys.contains(key) { try insert(key, place, of: index.number, in: number) }
    }
  }

  func insert(_ key: [UInt8], _ place: Int64, of number: Int64, in collection: Int64) throws(StoreError) {
    assert(database.isInWriteTransaction, "an entry is added outside of a write transaction")
    assert(!key.isEmpty && key.count <= IndexKeys.maximumBytes, "an entry has a key of \(key.count) bytes")
    let statement = try database.prepare(SQL.insert)
    try statement.bind(1, number)
    try statement.bind(2, collection)
    try statement.bind(3, key)
    try statement.bind(4, place)
    try statement.run()
  }

  private func delete(_ key: [UInt8], of number: Int64, in collection: Int64) throws(StoreError) {
    let statement = try database.prepare(SQL.delete)
    try statement.bind(1, number)
    try statement.bind(2, collection)
    try statement.bind(3, key)
    try statement.run()
  }

  /// Removes all entries, because all documents were removed. The marks stay: a new document up to a mark is entered when it is stored.
  func removeAllEntries() throws(StoreError) {
    try database.execute("DELETE FROM index_entries")
  }

  // MARK: - Local mutations

  /// Enters a document with pending writes as their owner sees it, in place of what was entered for it before.
  package func setLocal(_ document: Document, owner: Int64) throws(StoreError) {
    assert(database.isInWriteTransaction, "local entries change outside of a write transaction")
    let indexes = try indexes(of: document.key.collectionGroup)
    guard !indexes.isEmpty else { return }
    try deleteLocal(document.key, owner: owner)
    guard document.isFound else { return }
    let identity = IndexKeys.identity(of: document.key.id)
    for index in indexes {
      var keys = IndexKeys(index)
      for key in keys.keys(of: document.fields, document.key, identity: identity) {
        let statement = try database.prepare(SQL.insertLocal)
        try statement.bind(1, index.number)
        try statement.bind(2, owner)
        try statement.bind(3, document.key.collectionPath.canonicalString)
        try statement.bind(4, key)
        try statement.bind(5, document.key.id)
        try statement.run()
      }
    }
  }

  /// Removes the entries of a document that has no pending writes any more.
  package func removeLocal(_ key: DocumentKey, owner: Int64) throws(StoreError) {
    guard try !indexes(of: key.collectionGroup).isEmpty else { return }
    try deleteLocal(key, owner: owner)
  }

  private func deleteLocal(_ key: DocumentKey, owner: Int64) throws(StoreError) {
    assert(database.isInWriteTransaction, "local entries are removed outside of a write transaction")
    let statement = try database.prepare(SQL.deleteLocal)
    try statement.bind(1, owner)
    try statement.bind(2, key.collectionPath.canonicalString)
    try statement.bind(3, key.id)
    try statement.run()
  }

  // MARK: - Reading

  /// Calls `body` with the places of a range of one collection, or of ``IndexSchema/allCollections``, in the order of the keys, until it
  /// returns false.
  func forEachPlace(
    in range: IndexRange, of number: Int64, collection: Int64, backward: Bool, _ body: (Int64) throws -> Bool
  ) throws {
    let statement = try database.prepare(
      "SELECT place FROM index_entries WHERE number = ?1 AND collection = ?2 AND key >= ?3"
        + (range.end == nil ? "" : " AND key < ?4") + (backward ? " ORDER BY key DESC" : " ORDER BY key"),
      [.integer(number), .integer(collection), .blob(range.start)] + (range.end.map { [.blob($0)] } ?? []))
    while try statement.step() {
      guard try body(try statement.int64(at: 0)) else { return }
    }
  }

  /// Adds the keys of the documents with pending writes of `owner` in a range.
  func addLocalKeys(
    in range: IndexRange, of number: Int64, owner: Int64, scope: CollectionScope, to keys: inout Set<DocumentKey>
  ) throws {
    let collection: String? = if case .collection(let path) = scope { path.canonicalString } else { nil }
    var sql = "SELECT collection, id FROM index_local_entries WHERE number = ? AND owner = ? AND key >= ?"
    var parameters: [Statement.Parameter] = [.integer(number), .integer(owner), .blob(range.start)]
    if let end = range.end {
      sql += " AND key < ?"
      parameters.append(.blob(end))
    }
    if let collection {
      sql += " AND collection = ?"
      parameters.append(.text(collection))
    }
    let statement = try database.prepare(sql, parameters)
    while try statement.step() {
      let path = try DocumentSchema.path(try statement.string(at: 0))
      let id = try statement.string(at: 1)
      guard !id.isEmpty, !id.utf8.contains(UInt8(ascii: "/")), let key = try? DocumentKey(path.appending(id)) else {
        throw StoreError.corrupt("table index_local_entries, collection \(path): \"\(id)\" is not a document id")
      }
      if scope.contains(key) { keys.insert(key) }
    }
  }
}

extension StoredIndex {
  /// The number in the entries of a collection's documents: that of the collection, or one for all.
  func entryCollection(of number: Int64) -> Int64 { isOfGroup ? IndexSchema.allCollections : number }
}
