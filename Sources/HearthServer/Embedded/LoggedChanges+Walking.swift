internal import HearthModel
internal import HearthStore

/// A position in the change log: after a change of a collection.
struct ChangeCursor: Sendable, Hashable {
  /// True if all collections are walked at once, by version; false if one is walked after the other.
  fileprivate var isOfAll: Bool
  fileprivate var version: Int64
  fileprivate var collection: Int64
  fileprivate var id: String
}

/// A change of one document, with the document as it was before.
///
/// It is valid only during the visit.
struct LoggedRow {
  let collection: LoggedChanges.Collection
  let id: String
  let version: Int64
  let isDelete: Bool
  /// The version of the document before; 0 if it was missing.
  let oldVersion: Int64
  /// False for changes of other collections, which a walk of all changes meets too.
  let isInScope: Bool
  private let statement: Statement

  /// The columns that a row is read from. The former contents are read only if they are as old as `?1` or older.
  fileprivate static let columns =
    "version, collection, id, is_delete, old_version, old_create_time, CASE WHEN old_version <= ?1 THEN old_fields END"

  fileprivate init(_ statement: Statement, in collection: LoggedChanges.Collection, isInScope: Bool = true) throws {
    self.statement = statement
    self.collection = collection
    self.isInScope = isInScope
    version = try statement.int64(at: 0)
    id = try statement.string(at: 2)
    isDelete = try statement.int64(at: 3) != 0
    oldVersion = try statement.int64(at: 4)
  }

  var key: DocumentKey {
    get throws { try DocumentKey(collection.path.appending(id)) }
  }

  /// The document before; nil if it was missing, or newer than `past`, the version that the walk asks for.
  func document(asOf past: SnapshotVersion) throws -> Document? {
    guard oldVersion > 0, oldVersion <= past.microseconds else { return nil }
    return .found(
      try key, version: SnapshotVersion(microseconds: oldVersion),
      createTime: SnapshotVersion(microseconds: try statement.int64(at: 5)),
      fields: EncodedFields(uncheckedBytes: try statement.bytes(at: 6)))
  }

  fileprivate func cursor(ofAll isOfAll: Bool) -> ChangeCursor {
    ChangeCursor(isOfAll: isOfAll, version: version, collection: collection.number, id: id)
  }
}

/// Walks along the changes of collections, one after the other. A walk can stop after any change and continue there later, so that a caller
/// never has to keep more than a piece of them.
extension LoggedChanges {
  struct Collection {
    var number: Int64
    var path: ResourcePath
  }

  /// The collections of a group are walked one after the other if there are at most so many, else all changes of the database.
  private static let maximumCollections = 1_000

  /// Visits the changes of a range of versions.
  ///
  /// - Parameters:
  ///   - past: Former contents are given if they are of this version or older.
  ///   - start: Changes up to this version are left out. The log must reach back to it, see ``ChangeLog/reaches(_:)``.
  ///   - end: Changes after this version are left out.
  ///   - cursor: Where an earlier walk of the same scope and range was left.
  ///   - visit: Called also for changes out of the scope, which take time too. Returns false to leave the walk behind this change.
  /// - Returns: Where the walk was left; nil at its end.
  func walk(
    _ scope: CollectionScope, asOf past: SnapshotVersion, after start: SnapshotVersion, through end: SnapshotVersion,
    from cursor: ChangeCursor? = nil, _ visit: (LoggedRow) throws -> Bool
  ) throws -> ChangeCursor? {
    guard start < end else { return nil }
    let first = ChangeCursor(isOfAll: false, version: start.microseconds + 1, collection: 0, id: "")
    if try cursor?.isOfAll ?? !isWalkedByCollection(scope) {
      return try walkAll(scope, past, from: cursor ?? first, through: end, visit)
    }
    var position = cursor ?? first
    while let collection = try nextCollection(of: scope, from: position.collection) {
      if collection.number > position.collection { position = first }
      if let left = try walk(collection, past, from: position, through: end, visit) { return left }
      position = first
      position.collection = collection.number + 1
    }
    return nil
  }

  /// The number of changes that a walk of a range of versions looks at, as far as it is not above a limit.
  func count(
    in scope: CollectionScope, after start: SnapshotVersion, through end: SnapshotVersion, upTo limit: Int
  ) throws -> Int {
    guard start < end, limit > 0 else { return 0 }
    guard try isWalkedByCollection(scope) else {
      let select = try database.prepare(
        "SELECT count(*) FROM (SELECT 1 FROM server_changes WHERE version > ?1 AND version <= ?2 LIMIT ?3)")
      return try count(select, after: start, through: end, upTo: limit)
    }
    let select = try database.prepare(
      """
      SELECT count(*) FROM (SELECT 1 FROM server_changes INDEXED BY server_changes_by_collection
        WHERE collection = ?4 AND version > ?1 AND version <= ?2 LIMIT ?3)
      """)
    var (count, number) = (0, Int64(0))
    while count < limit, let collection = try nextCollection(of: scope, from: number) {
      try select.bind(4, collection.number)
      count += try self.count(select, after: start, through: end, upTo: limit - count)
      select.reset()
      number = collection.number + 1
    }
    return count
  }

  /// Returns whether a collection had a document at a past version that has changed since: a change whose former contents are not newer.
  ///
  /// - Parameters:
  ///   - collection: The collection's number in the log.
  ///   - end: Changes after this version are left out.
  func hasFormerDocument(
    in collection: Int64, asOf past: SnapshotVersion, through end: SnapshotVersion
  ) throws -> Bool {
    let select = try database.prepare(
      """
      SELECT 1 FROM server_changes INDEXED BY server_changes_by_collection
      WHERE collection = ?1 AND version > ?2 AND version <= ?3 AND old_version BETWEEN 1 AND ?2 LIMIT 1
      """)
    try select.bind(1, collection)
    try select.bind(2, past.microseconds)
    try select.bind(3, end.microseconds)
    return try select.step()
  }

  private func count(
    _ select: Statement, after start: SnapshotVersion, through end: SnapshotVersion, upTo limit: Int
  ) throws -> Int {
    try select.bind(1, start.microseconds)
    try select.bind(2, end.microseconds)
    try select.bind(3, limit)
    _ = try select.step()
    return Int(try select.int64(at: 0))
  }

  private func walk(
    _ collection: Collection, _ past: SnapshotVersion, from position: ChangeCursor, through end: SnapshotVersion,
    _ visit: (LoggedRow) throws -> Bool
  ) throws -> ChangeCursor? {
    // The first condition is the one that SQLite looks up.
    let select = try database.prepare(
      """
      SELECT \(LoggedRow.columns) FROM server_changes INDEXED BY server_changes_by_collection
      WHERE collection = ?4 AND version >= ?2 AND version <= ?3 AND (version, id) > (?2, ?5) ORDER BY version, id
      """)
    try bind(select, past, position, end)
    try select.bind(4, collection.number)
    try select.bind(5, position.id)
    while try select.step() {
      let row = try LoggedRow(select, in: collection)
      guard try visit(row) else { return row.cursor(ofAll: false) }
    }
    return nil
  }

  private func walkAll(
    _ scope: CollectionScope, _ past: SnapshotVersion, from position: ChangeCursor, through end: SnapshotVersion,
    _ visit: (LoggedRow) throws -> Bool
  ) throws -> ChangeCursor? {
    let select = try database.prepare(
      """
      SELECT \(LoggedRow.columns), path FROM server_changes CROSS JOIN server_collections ON number = collection
      WHERE version >= ?2 AND version <= ?3 AND (version, collection, id) > (?2, ?4, ?5)
      ORDER BY version, collection, id
      """)
    try bind(select, past, position, end)
    try select.bind(4, position.collection)
    try select.bind(5, position.id)
    while try select.step() {
      let path = try ResourcePath(canonical: select.string(at: 7))
      let collection = Collection(number: try select.int64(at: 1), path: path)
      let row = try LoggedRow(select, in: collection, isInScope: scope.contains(collection: path))
      guard try visit(row) else { return row.cursor(ofAll: true) }
    }
    return nil
  }

  private func bind(
    _ select: Statement, _ past: SnapshotVersion, _ position: ChangeCursor, _ end: SnapshotVersion
  ) throws {
    try select.bind(1, past.microseconds)
    try select.bind(2, position.version)
    try select.bind(3, end.microseconds)
  }

  // MARK: - Collections

  private func isWalkedByCollection(_ scope: CollectionScope) throws -> Bool {
    switch scope {
    case .collection: return true
    case .everything: return false
    case .group(let id, _):
      let select = try database.prepare(
        "SELECT count(*) FROM (SELECT 1 FROM server_collections WHERE group_id = ? LIMIT ?)")
      try select.bind(1, id)
      try select.bind(2, Self.maximumCollections + 1)
      _ = try select.step()
      return try select.int64(at: 0) <= Self.maximumCollections
    }
  }

  /// The first collection of a scope whose number is not lower.
  private func nextCollection(of scope: CollectionScope, from number: Int64) throws -> Collection? {
    switch scope {
    case .collection(let path):
      guard let own = try LoggedCollections.number(of: path, in: database), own >= number else { return nil }
      return Collection(number: own, path: path)
    case .everything: return nil
    case .group(let id, _):
      let select = try database.prepare(
        "SELECT number, path FROM server_collections WHERE group_id = ? AND number >= ? ORDER BY number")
      try select.bind(1, id)
      try select.bind(2, number)
      while try select.step() {
        let path = try ResourcePath(canonical: select.string(at: 1))
        if scope.contains(collection: path) { return Collection(number: try select.int64(at: 0), path: path) }
      }
      return nil
    }
  }
}
