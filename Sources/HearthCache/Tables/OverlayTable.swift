internal import HearthModel
internal import HearthStore
internal import HearthWire

/// One mutation for each document with pending writes of a user, equivalent to all of them together.
///
/// It is updated with the queue in every transaction, so reading the local view costs one lookup however long the queue is. An overlay
/// exists only while a batch for its document is pending.
struct OverlayTable {
  typealias UserRow = MutationQueue.UserRow

  /// The relation of an overlay to the effect of the pending batches on the current remote document. All show the same but
  /// `kept`.
  enum State: Int64 {
    /// It is what they do.
    case exact = 0
    /// It is what they did to an earlier state of the document, or a calculation from there.
    case kept = 1
    /// It sets more fields than they do, to the values that these fields have.
    case wide = 2
  }

  struct Entry {
    var mutation: Mutation
    var state: State
  }

  let database: Database
  let databaseID: DatabaseID

  /// Looks up the overlays of one user with one statement.
  ///
  /// Valid in the transaction that created it.
  struct Reader {
    /// Nil if the user has no overlays.
    fileprivate let statement: Statement?
    fileprivate let databaseID: DatabaseID

    func entry(for key: DocumentKey) throws -> Entry? {
      guard let statement else { return nil }
      defer { statement.reset() }
      try statement.bind(2, key.canonicalString)
      guard try statement.step() else { return nil }
      let mutation = try OverlayTable.checked(path: key.canonicalString) {
        try statement.withBytes(at: 0) { try CacheCodec.decodeMutation($0, expecting: key, database: databaseID) }
      }
      // An unknown state is treated like `kept`: the next answer ends it.
      return Entry(mutation: mutation, state: (try? statement.int64(at: 1)).flatMap(State.init) ?? .kept)
    }
  }

  /// - Parameter user: nil before the first write of the user.
  func reader(user: UserRow?) throws -> Reader {
    guard let user, try hasOverlays(user: user) else {
      return Reader(statement: nil, databaseID: databaseID)
    }
    let statement = try database.prepare(
      "SELECT mutation, state FROM cache_overlays WHERE user_id = ? AND path = ?", .integer(user))
    return Reader(statement: statement, databaseID: databaseID)
  }

  /// - Throws: if the index holds something else than users: the page of another one has its place, and would say that there is none.
  private func hasOverlays(user: UserRow) throws -> Bool {
    let first = try database.firstRow(
      """
      SELECT user_id = ?1, typeof(user_id) FROM cache_overlays INDEXED BY cache_overlays_by_path
      WHERE user_id >= ?1 ORDER BY user_id, path LIMIT 1
      """, .integer(user)
    ) { (isOwn: try $0.int64(at: 0) == 1, type: try $0.string(at: 1)) }
    guard let first else { return false }
    guard first.type == "integer" else {
      throw MutationQueue.pagesAreDamaged("The index of cache_overlays has a \(first.type) in place of a user.")
    }
    return first.isOwn
  }

  func overlays(for keys: some Collection<DocumentKey>, user: UserRow) throws -> [DocumentKey: Mutation] {
    let reader = try reader(user: user)
    guard reader.statement != nil else { return [:] }
    var overlays: [DocumentKey: Mutation] = [:]
    for key in keys { overlays[key] = try reader.entry(for: key)?.mutation }
    return overlays
  }

  /// Returns whether there may be an overlay in a scope; for a collection group, whether the user has any.
  func hasOverlays(in scope: CollectionScope, user: UserRow) throws -> Bool {
    guard case .collection(let path) = scope else { return try hasOverlays(user: user) }
    return try database.firstRow(
      """
      SELECT 1 FROM cache_overlays INDEXED BY cache_overlays_by_path
      WHERE user_id = ?1 AND path >= ?2 || '/' AND path < ?2 || '0' LIMIT 1
      """, .integer(user), .text(path.canonicalString)
    ) { _ in true } ?? false
  }

  func overlays(in scope: CollectionScope, user: UserRow) throws -> [DocumentKey: Mutation] {
    var overlays: [DocumentKey: Mutation] = [:]
    func collect(_ statement: Statement) throws -> Bool {
      let overlay = try decode(statement)
      overlays[overlay.key] = overlay
      return true
    }
    switch scope {
    case .collection(let path):
      // The range holds the collection and its subcollections: "/" is the only separator and "0" the byte behind it.
      try database.forEachRow(
        """
        SELECT path, mutation FROM cache_overlays INDEXED BY cache_overlays_by_path
        WHERE user_id = ?1 AND path >= ?2 || '/' AND path < ?2 || '0' AND collection_path = ?2
        """,
        .integer(user), .text(path.canonicalString), body: collect)
    case .group(let group, let ancestor) where ancestor.isEmpty:
      try database.forEachRow(
        "SELECT path, mutation FROM cache_overlays WHERE user_id = ? AND collection_group = ?",
        .integer(user), .text(group), body: collect)
    case .group(let group, let ancestor):
      // The range holds every collection below the ancestor.
      try database.forEachRow(
        """
        SELECT path, mutation FROM cache_overlays
        WHERE user_id = ? AND collection_group = ? AND collection_path >= ? AND collection_path < ?
        """,
        .integer(user), .text(group), .text(ancestor.canonicalString + "/"), .text(ancestor.canonicalString + "0"),
        body: collect)
    case .everything(let ancestor):
      try database.forEachRow("SELECT path, mutation FROM cache_overlays WHERE user_id = ?", .integer(user)) {
        let overlay = try decode($0)
        if ancestor.isPrefix(of: overlay.key.collectionPath) { overlays[overlay.key] = overlay }
        return true
      }
    }
    return overlays
  }

  /// The row of an overlay, its document and its user, without its mutation.
  struct Row {
    var number: Int64
    var user: UserRow
    var key: DocumentKey
  }

  /// Overlays of all users in the order of their rows, which is not that of their latest change.
  func overlays(after number: Int64, limit: Int) throws -> [Row] {
    var rows: [Row] = []
    try database.forEachRow(
      "SELECT overlay_id, user_id, path FROM cache_overlays WHERE overlay_id > ? ORDER BY overlay_id LIMIT ?",
      .integer(number), .integer(Int64(limit))
    ) { statement in
      let path = try statement.string(at: 2)
      do {
        let key = try DocumentKey(ResourcePath(canonical: path))
        rows.append(Row(number: try statement.int64(at: 0), user: try statement.int64(at: 1), key: key))
      } catch let error as ModelError {
        throw CacheError.corruptRecord(table: "cache_overlays", row: path, reason: "\(error)")
      }
      return true
    }
    return rows
  }

  func save(_ overlay: Mutation, state: State, largestBatchID: BatchID, user: UserRow) throws {
    assert(database.isInWriteTransaction, "an overlay changes outside of a write transaction")
    assert(overlay.transforms.isEmpty, "the overlay of \(overlay.key) has transforms, but no time for them")
    try database.update(
      """
      INSERT INTO cache_overlays (user_id, path, collection_path, collection_group, largest_batch_id, mutation, state)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (user_id, path) DO UPDATE
      SET largest_batch_id = excluded.largest_batch_id, mutation = excluded.mutation, state = excluded.state
      """,
      .integer(user), .text(overlay.key.canonicalString), .text(overlay.key.collectionPath.canonicalString),
      .text(overlay.key.collectionGroup), .integer(largestBatchID),
      .blob(CacheCodec.encode(mutation: overlay, database: databaseID)), .integer(state.rawValue))
  }

  func setState(_ state: State, of key: DocumentKey, user: UserRow) throws {
    assert(database.isInWriteTransaction, "an overlay changes outside of a write transaction")
    try database.update(
      "UPDATE cache_overlays SET state = ? WHERE user_id = ? AND path = ?",
      .integer(state.rawValue), .integer(user), .text(key.canonicalString))
  }

  func remove(_ key: DocumentKey, user: UserRow) throws {
    assert(database.isInWriteTransaction, "an overlay changes outside of a write transaction")
    try database.update(
      "DELETE FROM cache_overlays WHERE user_id = ? AND path = ?", .integer(user), .text(key.canonicalString))
  }

  private func decode(_ statement: Statement) throws -> Mutation {
    let path = try statement.string(at: 0)
    return try Self.checked(path: path) {
      try CacheCodec.decodeMutation(try statement.bytes(at: 1), database: databaseID)
    }
  }

  /// - Throws: `CacheError.corruptRecord` if decoding fails, or gives a mutation of another document than that of the row.
  private static func checked(path: String, _ decode: () throws -> Mutation) throws -> Mutation {
    let overlay: Mutation
    do {
      overlay = try decode()
    } catch {
      throw CacheError.corruptRecord(table: "cache_overlays", row: path, reason: "\(error)")
    }
    guard overlay.key.canonicalString.utf8.elementsEqual(path.utf8) else {
      throw CacheError.corruptRecord(
        table: "cache_overlays", row: path, reason: "the mutation inside is one of \(overlay.key.canonicalString)")
    }
    return overlay
  }
}

/// The overlays of one user as the query executor reads them.
struct UserOverlays: LocalMutationSource {
  let table: OverlayTable
  /// Nil before the first write of the user.
  let user: MutationQueue.UserRow?

  var owner: Int64? { user }

  func hasLocalMutations(in scope: CollectionScope) throws -> Bool {
    guard let user else { return false }
    return try table.hasOverlays(in: scope, user: user)
  }

  func localMutations(in scope: CollectionScope) throws -> [DocumentKey: Mutation] {
    guard let user else { return [:] }
    return try table.overlays(in: scope, user: user)
  }

  func localMutations(for keys: Set<DocumentKey>) throws -> [DocumentKey: Mutation] {
    guard let user else { return [:] }
    return try table.overlays(for: keys, user: user)
  }
}
