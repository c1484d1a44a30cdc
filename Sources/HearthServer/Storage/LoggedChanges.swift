internal import HearthModel
internal import HearthStore

/// Reads the change log through one connection, see ``ChangeLog``.
///
/// A collection's changes are one range of an index, without the former contents. Of those, only the ones that are asked for are read:
/// the oldest of each document. The changes of one document are a chain that begins at its present version.
struct LoggedChanges {
  let database: Database
  let store: DocumentStore

  /// The documents of `scope` that changed after `version`, as they were at `version`.
  ///
  /// The log must reach back to `version`, see ``ChangeLog/reaches(_:)``.
  ///
  /// - Parameter end: Changes after this version are ignored.
  func documentsBefore(
    in scope: ChangeScope, after version: SnapshotVersion, through end: SnapshotVersion? = nil
  ) throws -> [DocumentKey: Document] {
    let range = Range(after: version.microseconds, through: end?.microseconds ?? .max)
    guard range.after < range.through else { return [:] }
    var found: [DocumentKey: Document] = [:]
    switch scope {
    case .documents(let keys):
      for key in keys {
        guard let number = try LoggedCollections.number(of: key.collectionPath, in: database),
          let row = try oldestRow(of: key, in: number, range)
        else { continue }
        found[key] = try document(key, number, row)
      }
    case .collections(let scope):
      try collect(scope, range, into: &found)
    }
    return found
  }

  /// Returns whether one of these documents changed after `version`.
  func hasChanged(anyOf keys: Set<DocumentKey>, after version: SnapshotVersion) throws -> Bool {
    for key in keys {
      if let present = try presentVersion(of: key) {
        if present > version.microseconds { return true }
      } else if let number = try LoggedCollections.number(of: key.collectionPath, in: database),
        let deleted = try latestDelete(of: key, in: number, before: .max), deleted > version.microseconds
      {
        return true
      }
    }
    return false
  }

  /// Returns true if a document was so between two states, and not only at one of them.
  ///
  /// - Parameter transition: The document as it was at `start` and at `end`.
  func hasState(
    between transition: DocumentTransition, after start: SnapshotVersion, through end: SnapshotVersion,
    where isSo: (Document) -> Bool
  ) throws -> Bool {
    let key = transition.key
    guard let collection = try LoggedCollections.number(of: key.collectionPath, in: database) else { return false }
    func latestDelete(through version: Int64) throws -> Int64? {
      try self.latestDelete(of: key, in: collection, before: version + 1)
    }
    // The change that made a state, and then the one that made the state before it.
    var change =
      transition.after.isFound
      ? transition.after.version.microseconds : try latestDelete(through: end.microseconds)
    while let version = change, version > start.microseconds {
      let state = try document(key, collection, version)
      change = state.isFound ? state.version.microseconds : try latestDelete(through: version - 1)
      guard let made = change, made > start.microseconds else { return false }
      if isSo(state) { return true }
    }
    return false
  }

  /// Versions above `after` and not above `through`.
  private struct Range {
    var after: Int64
    var through: Int64
  }

  // MARK: - By document

  /// The version of a document's oldest row in a range: from the present one back along the chain.
  private func oldestRow(of key: DocumentKey, in collection: Int64, _ range: Range) throws -> Int64? {
    var oldest: Int64?
    var next = try presentVersion(of: key) ?? latestDelete(of: key, in: collection, before: .max)
    let select = try database.prepare(
      "SELECT old_version FROM server_changes WHERE version = ? AND collection = ? AND id = ?")
    try select.bind(2, collection)
    try select.bind(3, key.id)
    while let version = next, version > range.after {
      select.reset()
      try select.bind(1, version)
      guard try select.step() else {
        throw StoreError(
          kind: .corrupt, message: "table server_changes, \(key): the change at \(version) is not there")
      }
      if version <= range.through { oldest = version }
      let before = try select.int64(at: 0)
      next = before > 0 ? before : try latestDelete(of: key, in: collection, before: version)
    }
    return oldest
  }

  private func presentVersion(of key: DocumentKey) throws -> Int64? {
    let document = try store.reader().document(for: key, withFields: false)
    return document.isFound ? document.version.microseconds : nil
  }

  private func latestDelete(of key: DocumentKey, in collection: Int64, before version: Int64) throws -> Int64? {
    let select = try database.prepare(
      """
      SELECT version FROM server_changes INDEXED BY server_deletes
      WHERE collection = ? AND id = ? AND version < ? AND is_delete = 1 ORDER BY version DESC LIMIT 1
      """)
    try select.bind(1, collection)
    try select.bind(2, key.id)
    try select.bind(3, version)
    return try select.step() ? try select.int64(at: 0) : nil
  }

  /// A document as it was before the change at `version`.
  private func document(_ key: DocumentKey, _ collection: Int64, _ version: Int64) throws -> Document {
    let select = try database.prepare(
      """
      SELECT old_version, old_create_time, old_fields FROM server_changes
      WHERE version = ? AND collection = ? AND id = ?
      """)
    try select.bind(1, version)
    try select.bind(2, collection)
    try select.bind(3, key.id)
    guard try select.step() else {
      throw StoreError(kind: .corrupt, message: "table server_changes, \(key): the change at \(version) is not there")
    }
    let oldVersion = SnapshotVersion(microseconds: try select.int64(at: 0))
    if select.isNull(at: 2) { return .missing(key, version: oldVersion) }
    return .found(
      key, version: oldVersion, createTime: SnapshotVersion(microseconds: try select.int64(at: 1)),
      fields: EncodedFields(uncheckedBytes: try select.bytes(at: 2)))
  }

  // MARK: - By collection

  private func collect(
    _ path: ResourcePath, _ collection: Int64, _ range: Range, into found: inout [DocumentKey: Document]
  ) throws {
    let select = try database.prepare(
      """
      SELECT id, version FROM server_changes INDEXED BY server_changes_by_collection
      WHERE collection = ? AND version > ? AND version <= ? ORDER BY version
      """)
    try select.bind(1, collection)
    try select.bind(2, range.after)
    try select.bind(3, range.through)
    while try select.step() {
      let key = try DocumentKey(path.appending(select.string(at: 0)))
      guard found[key] == nil else { continue }
      found[key] = try document(key, collection, select.int64(at: 1))
    }
  }

  /// The collections of a group, one after the other; if there are more than that, whatever was changed is looked at instead.
  private static let maximumCollections = 1_000

  private func collect(
    _ scope: CollectionScope, _ range: Range, into found: inout [DocumentKey: Document]
  ) throws {
    guard let collections = try collections(of: scope) else { return try collectAll(scope, range, into: &found) }
    for collection in collections { try collect(collection.path, collection.number, range, into: &found) }
  }

  /// The collections of a scope; nil if there may be more than ``maximumCollections``.
  func collections(of scope: CollectionScope) throws -> [(number: Int64, path: ResourcePath)]? {
    switch scope {
    case .collection(let path): return try LoggedCollections.number(of: path, in: database).map { [($0, path)] } ?? []
    case .everything: return nil
    case .group(let id, _):
      let select = try database.prepare("SELECT number, path FROM server_collections WHERE group_id = ? LIMIT ?")
      try select.bind(1, id)
      try select.bind(2, Self.maximumCollections + 1)
      var collections: [(number: Int64, path: ResourcePath)] = []
      while try select.step() {
        collections.append((try select.int64(at: 0), try ResourcePath(canonical: select.string(at: 1))))
      }
      guard collections.count <= Self.maximumCollections else { return nil }
      return collections.filter { scope.contains(collection: $0.path) }
    }
  }

  private func collectAll(_ scope: CollectionScope, _ range: Range, into found: inout [DocumentKey: Document]) throws {
    let select = try database.prepare(
      """
      SELECT path, id, collection, version FROM server_changes CROSS JOIN server_collections ON number = collection
      WHERE version > ? AND version <= ? ORDER BY version
      """)
    try select.bind(1, range.after)
    try select.bind(2, range.through)
    while try select.step() {
      let path = try ResourcePath(canonical: select.string(at: 0))
      guard scope.contains(collection: path) else { continue }
      let key = try DocumentKey(path.appending(select.string(at: 1)))
      guard found[key] == nil else { continue }
      found[key] = try document(key, select.int64(at: 2), select.int64(at: 3))
    }
  }
}
