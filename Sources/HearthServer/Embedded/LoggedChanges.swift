internal import HearthModel
internal import HearthStore

/// Reads the change log through one connection, see ``ChangeLog``.
///
/// A collection's changes are one range of an index, without the former contents. Only the needed contents are read: the oldest of each
/// document. The changes of one document are a chain that begins at its present version. This type never keeps more than one document at a
/// time.
struct LoggedChanges {
  let database: Database
  let store: DocumentStore

  /// A document that changed after a version, as it was at that version; nil if it did not change.
  ///
  /// The log must reach back to the version, see ``ChangeLog/reaches(_:)``.
  ///
  /// - Parameter end: Changes after this version are ignored.
  func formerDocument(
    _ key: DocumentKey, at version: SnapshotVersion, through end: SnapshotVersion? = nil
  ) throws -> Document? {
    let range = Range(after: version.microseconds, through: end?.microseconds ?? .max)
    guard range.after < range.through,
      let number = try LoggedCollections.number(of: key.collectionPath, in: database),
      let row = try oldestRow(of: key, in: number, range)
    else { return nil }
    return try document(key, number, row)
  }

  /// The document of a change as it was at a version, if this is its first change after that version; nil for a later one.
  ///
  /// - Parameter row: A row of a walk that asks for the contents of this version.
  func formerDocument(_ row: LoggedRow, at version: SnapshotVersion) throws -> Document? {
    guard row.oldVersion <= version.microseconds else { return nil }
    if row.oldVersion > 0 { return try row.document(asOf: version) }
    let key = try row.key
    let deleted = try latestDelete(of: key, in: row.collection.number, before: row.version) ?? 0
    return deleted > version.microseconds ? nil : .missing(key, version: .none)
  }

  /// Returns whether a document changed after `version`.
  func hasChanged(_ key: DocumentKey, after version: SnapshotVersion) throws -> Bool {
    if let present = try presentVersion(of: key) { return present > version.microseconds }
    guard let number = try LoggedCollections.number(of: key.collectionPath, in: database),
      let deleted = try latestDelete(of: key, in: number, before: .max)
    else { return false }
    return deleted > version.microseconds
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
}
