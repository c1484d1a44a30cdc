package import HearthModel

/// The documents of one database, by collection.
///
/// Every method that writes is one transaction, or part of the running one. The store keeps nothing in memory that another connection could
/// change: it uses remembered values only inside the transaction that has read them.
package final class DocumentStore {
  package let database: Database
  package let indexes: IndexTable

  /// The collection that was used last, true as long as the transaction with this number runs.
  private var latest: (transaction: UInt64, path: ResourcePath, number: Int64, nextPlace: Int64?)?

  /// The statements that are executed for every document, built once.
  private enum SQL {
    // CROSS JOIN keeps SQLite to this order: the collection by its path, then the document by its id.
    static let document = """
      SELECT \(StoredDocument.columns) FROM collections CROSS JOIN documents
      ON documents.collection = collections.number AND documents.id = ?2 WHERE collections.path = ?1
      """
    /// The fields are NULL if they have more bytes than ?3. SQLite then reads none of them, but those next to the other columns.
    static let shortDocument = """
      SELECT \(StoredDocument.headColumns), CASE WHEN length(fields) <= ?3 THEN fields END
      FROM collections CROSS JOIN documents
      ON documents.collection = collections.number AND documents.id = ?2 WHERE collections.path = ?1
      """
    static let head = "SELECT \(StoredDocument.headColumns), place FROM documents WHERE collection = ? AND id = ?"
    static let update = """
      UPDATE documents SET kind = ?3, version = ?4, create_time = ?5, read_time = ?6, nanoseconds = ?7,
        has_committed_mutations = ?8, fields = ?9 WHERE place = ?1 AND id = ?2
      """
    static let insert = """
      INSERT INTO documents (place, collection, \(StoredDocument.columns))
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
      """
  }

  /// The tables of a store that is asked for documents by read time.
  package static var schema: Schema { StoreSchema.schema }

  /// Opens the store in a database and migrates its tables.
  ///
  /// - Parameter findsByReadTime: False for a store that is never asked for documents by read time.
  /// - Throws: ``StoreError``, in particular `newerSchema` for a file of a newer release.
  package init(database: Database, findsByReadTime: Bool = true) throws {
    self.database = database
    try (findsByReadTime ? StoreSchema.schema : StoreSchema.schemaWithoutReadTimes).migrate(database)
    indexes = IndexTable(database: database)
  }

  /// Reads documents through a connection that does not write, with tables that another connection has migrated.
  package init(reading database: Database) {
    self.database = database
    indexes = IndexTable(database: database)
  }

  // MARK: - Reading

  /// The document, or one of kind `unknown` when nothing is stored for the key.
  package func document(for key: DocumentKey) throws -> Document { try reader().document(for: key) }

  /// The document, without its fields if these have many bytes: then they are not read.
  ///
  /// - Returns: The document, or one of kind `unknown`; true unless its fields were left out.
  package func document(
    for key: DocumentKey, withFieldsUpTo bytes: Int
  ) throws -> (document: Document, isComplete: Bool) {
    let statement = try database.prepare(SQL.shortDocument)
    defer { statement.reset() }
    let collection = key.collectionPath
    try statement.bind(1, collection.canonicalString)
    try statement.bind(2, key.id)
    try statement.bind(3, Int64(bytes))
    guard try statement.step() else { return (.unknown(key), true) }
    let stored = StoredDocument(statement: statement, collection: collection)
    let isComplete = try stored.kind != .found || stored.hasFields
    return (try stored.document(key: key, withFields: isComplete), isComplete)
  }

  /// Looks up documents with one statement.
  package struct Reader {
    fileprivate let statement: Statement

    /// The document, or one of kind `unknown` when nothing is stored for the key.
    ///
    /// - Parameter withFields: false to leave the fields out, without reading them.
    package func document(for key: DocumentKey, withFields: Bool = true) throws -> Document {
      defer { statement.reset() }
      let collection = key.collectionPath
      try statement.bind(1, collection.canonicalString)
      try statement.bind(2, key.id)
      guard try statement.step() else { return .unknown(key) }
      return try StoredDocument(statement: statement, collection: collection).document(key: key, withFields: withFields)
    }
  }

  package func reader() throws -> Reader { Reader(statement: try database.prepare(SQL.document)) }

  /// One entry for each key, of kind `unknown` where nothing is stored, all read in one state of the database.
  package func documents(for keys: some Sequence<DocumentKey>) throws -> [DocumentKey: Document] {
    try database.readTransaction("Read documents") {
      var documents: [DocumentKey: Document] = [:]
      let reader = try reader()
      for key in keys { documents[key] = try reader.document(for: key) }
      return documents
    }
  }

  // MARK: - Writing

  /// The head of the row that is stored for a key, without the contents.
  package struct Head {
    package var version: SnapshotVersion
    package var hasCommittedMutations: Bool
    fileprivate var place: Int64
  }

  /// Stores a document in place of what is known about its key. A document of kind `unknown` is removed.
  ///
  /// Local mutations are not part of it: they lie over the stored documents and are kept elsewhere.
  package func set(_ document: Document) throws {
    if document.isUnknown { return try remove(document.key) }
    try set(document) { _ in true }
  }

  /// Stores a document of any kind but `unknown` if `accepts` returns true for the head of the row that is stored for its key; nil if there
  /// is none. The fields of that row are not read.
  ///
  /// - Returns: True if it was stored.
  @discardableResult
  package func set(_ document: Document, if accepts: (Head?) throws -> Bool) throws -> Bool {
    assert(!document.isUnknown, "nothing is known of \(document.key), and it is stored")
    assert(!document.hasLocalMutations, "\(document.key) is stored with writes that are not acknowledged")
    assert(document.isFound || document.fields.isEmpty, "\(document.key) does not exist, and has fields")
    return try database.transaction("Store document") {
      let path = document.key.collectionPath
      if let collection = try number(of: path), let head = try head(of: document.key, in: path, number: collection) {
        guard try accepts(head) else { return false }
        let before = try indexedContents(at: head.place, of: document.key)
        try update(document, at: head.place)
        if let before {
          try indexes.change(document.key, at: head.place, in: collection, from: before, to: .init(of: document))
        }
      } else {
        guard try accepts(nil) else { return false }
        let collection = try number(ofNew: path)
        let place = try insert(document, into: collection)
        if try indexes.holds(place, group: document.key.collectionGroup) {
          try indexes.change(document.key, at: place, in: collection, from: .nothing, to: .init(of: document))
        }
      }
      return true
    }
  }

  private func head(
    of key: DocumentKey, in path: ResourcePath, number collection: Int64
  ) throws(StoreError) -> Head? {
    let statement = try database.prepare(SQL.head)
    try statement.bind(1, collection)
    try statement.bind(2, key.id)
    guard try statement.step() else { return nil }
    let stored = StoredDocument(statement: statement, collection: path)
    return Head(
      version: try stored.version, hasCommittedMutations: try stored.hasCommittedMutations,
      place: try statement.int64(at: 7))
  }

  /// The contents at a place that some index holds; nil when no index has to follow its change.
  private func indexedContents(at place: Int64, of key: DocumentKey) throws(StoreError) -> IndexTable.Contents? {
    guard try indexes.holds(place, group: key.collectionGroup) else { return nil }
    let statement = try database.prepare("SELECT kind, fields FROM documents WHERE place = ?")
    try statement.bind(1, place)
    guard try statement.step(), try statement.int64(at: 0) == DocumentSchema.Kind.found else { return .nothing }
    return IndexTable.Contents(fields: EncodedFields(uncheckedBytes: try statement.bytes(at: 1)))
  }

  private func update(_ document: Document, at place: Int64) throws(StoreError) {
    assert(database.isInWriteTransaction, "\(document.key) changes outside of a write transaction")
    let statement = try database.prepare(SQL.update)
    try statement.bind(1, place)
    try StoredDocument.bind(document, to: statement, from: 2)
    try statement.run()
    guard database.changedRowCount == 1 else {
      throw .corrupt(
        "table documents, \(document.key): the index by id leads to place \(place), which has another document")
    }
  }

  private func insert(_ document: Document, into collection: Int64) throws(StoreError) -> Int64 {
    assert(database.isInWriteTransaction, "\(document.key) is added outside of a write transaction")
    assert(
      Place.isCollection(collection),
      "\(document.key) is added to collection \(collection), which is outside of the range of numbers")
    let place = try nextPlace(in: collection)
    let statement = try database.prepare(SQL.insert)
    try statement.bind(1, place)
    try statement.bind(2, collection)
    try StoredDocument.bind(document, to: statement, from: 3)
    do throws(StoreError) {
      try statement.run()
      // Wraps behind the last place of the last collection, which the table's check then refuses.
      latest?.nextPlace = place &+ 1
    } catch {
      // The table's check (SQLITE_CONSTRAINT_CHECK): the arrival number has run into the bits of the next collection.
      guard error.kind == .constraint, error.sqliteCode >> 8 == 1 else { throw error }
      throw StoreError(
        kind: .full,
        message:
          "Collection \"\(document.key.collectionPath)\" cannot take document \"\(document.key.id)\": its arrival numbers are used up. "
          + "Store further documents in another collection. (\(error.message))",
        sqliteCode: error.sqliteCode)
    }
    return place
  }

  /// Forgets what is stored for a key.
  package func remove(_ key: DocumentKey) throws {
    try database.transaction("Remove document") {
      guard let collection = try number(of: key.collectionPath) else { return }
      try removeEntries(of: key, in: collection)
      try database.update("DELETE FROM documents WHERE collection = ? AND id = ?", .integer(collection), .text(key.id))
      if try isEmpty(collection) { try removeCollection(collection) }
    }
  }

  private func removeEntries(of key: DocumentKey, in collection: Int64) throws(StoreError) {
    guard try !indexes.indexes(of: key.collectionGroup).isEmpty else { return }
    guard let head = try head(of: key, in: key.collectionPath, number: collection),
      let before = try indexedContents(at: head.place, of: key)
    else { return }
    try indexes.change(key, at: head.place, in: collection, from: before, to: .nothing)
  }

  /// Forgets everything.
  package func removeAll() throws {
    try database.transaction("Remove all documents") {
      latest = nil
      try database.execute("DELETE FROM documents")
      try database.execute("DELETE FROM collections")
      try indexes.removeAllEntries()
    }
  }

  /// The place after all documents of the collection.
  private func nextPlace(in collection: Int64) throws(StoreError) -> Int64 {
    // Set when this transaction has used the collection last; then no other connection can have added to it.
    if let latest, latest.number == collection, let place = latest.nextPlace {
      assert(latest.transaction == database.transactionNumber, "a place of an earlier transaction is used again")
      return place
    }
    let statement = try database.prepare(
      "SELECT coalesce(max(place), ?1) + 1 FROM documents WHERE place BETWEEN ?1 AND ?2")
    try statement.bind(1, Place.first(in: collection))
    try statement.bind(2, Place.last(in: collection))
    guard try statement.step() else { throw .corrupt("table documents has no largest place") }
    return try statement.int64(at: 0)
  }

  // MARK: - Collections

  /// The number of a collection, nil when it holds nothing.
  func number(of path: ResourcePath) throws(StoreError) -> Int64? {
    if let latest, database.isInTransaction, latest.transaction == database.transactionNumber, latest.path == path {
      return latest.number
    }
    let statement = try database.prepare("SELECT number FROM collections WHERE path = ?")
    try statement.bind(1, path.canonicalString)
    guard try statement.step() else { return nil }
    let number = try DocumentSchema.checked(statement.int64(at: 0), path: path.canonicalString)
    remember(path, number)
    return number
  }

  private func number(ofNew path: ResourcePath) throws(StoreError) -> Int64 {
    if let number = try number(of: path) { return number }
    let next = try database.prepare("SELECT coalesce(max(number), 0) + 1 FROM collections")
    guard try next.step() else { throw .corrupt("table collections has no largest number") }
    let number = try next.int64(at: 0)
    guard Place.isCollection(number) else {
      throw StoreError(
        kind: .full,
        message:
          "Database \(database.name) cannot take collection \"\(path)\": the numbers of collections up to \(number - 1) are "
          + "used up. Store further collections in another database.")
    }
    try database.update(
      "INSERT INTO collections (number, path, group_id) VALUES (?, ?, ?)", .integer(number),
      .text(path.canonicalString), .text(path.last ?? ""))
    remember(path, number)
    return number
  }

  private func remember(_ path: ResourcePath, _ number: Int64) {
    assert(Place.isCollection(number), "\(path) is remembered under \(number), which is no number of a collection")
    latest = database.isInTransaction ? (database.transactionNumber, path, number, nil) : nil
  }

  /// Must be called when collections were changed other than by this store.
  func forgetLatestCollection() { latest = nil }

  private func isEmpty(_ collection: Int64) throws(StoreError) -> Bool {
    let statement = try database.prepare(
      "SELECT 1 FROM documents WHERE place BETWEEN ? AND ? LIMIT 1", .integer(Place.first(in: collection)),
      .integer(Place.last(in: collection)))
    return try !statement.step()
  }

  /// Collections without documents are not kept, so that the list of collections is never longer than it needs to be.
  private func removeCollection(_ number: Int64) throws(StoreError) {
    assert(database.isInWriteTransaction, "a collection is removed outside of a write transaction")
    latest = nil
    try database.update("DELETE FROM collections WHERE number = ?", .integer(number))
  }
}
