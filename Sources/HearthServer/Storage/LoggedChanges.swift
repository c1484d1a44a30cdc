internal import HearthModel
internal import HearthStore

/// Reads the change log through one connection, see ``ChangeLog``.
struct LoggedChanges {
  let database: Database

  /// The documents of `scope` that changed after `version`, as they were at `version`.
  ///
  /// The log must reach back to `version`, see ``ChangeLog/reaches(_:)``.
  ///
  /// - Parameter end: Changes after this version are ignored.
  func documentsBefore(
    in scope: ChangeScope, after version: SnapshotVersion, through end: SnapshotVersion? = nil
  ) throws -> [DocumentKey: Document] {
    let first = try lastSequence(through: version)
    let last = try end.map(lastSequence(through:)) ?? Int64.max
    guard first < last else { return [:] }
    switch scope {
    case .collections(.collection(let path)):
      return try rows(inCollection: path, first: first, last: last)
    case .documents(let keys):
      var found: [DocumentKey: Document] = [:]
      for collection in Set(keys.map(\.collectionPath)) {
        let changed = try rows(inCollection: collection, first: first, last: last)
        found.merge(changed.filter { keys.contains($0.key) }) { old, _ in old }
      }
      return found
    case .collections(.group(let id, _)):
      let statement = try database.prepare(
        Self.select + " WHERE collection_group = ? AND sequence > ? AND sequence <= ? ORDER BY sequence")
      try statement.bind(1, id)
      try statement.bind(2, first)
      try statement.bind(3, last)
      return try oldest(of: statement, in: scope)
    case .collections(.everything):
      let statement = try database.prepare(Self.select + " WHERE sequence > ? AND sequence <= ? ORDER BY sequence")
      try statement.bind(1, first)
      try statement.bind(2, last)
      return try oldest(of: statement, in: scope)
    }
  }

  private static let select =
    "SELECT path, old_version, old_create_time, old_fields FROM server_changes"

  private func rows(
    inCollection path: ResourcePath, first: Int64, last: Int64
  ) throws -> [DocumentKey: Document] {
    let statement = try database.prepare(
      Self.select
        + " WHERE collection_group = ? AND collection = ? AND sequence > ? AND sequence <= ? ORDER BY sequence")
    try statement.bind(1, path.last ?? "")
    try statement.bind(2, path.canonicalString)
    try statement.bind(3, first)
    try statement.bind(4, last)
    return try oldest(of: statement, in: .collections(.collection(path)))
  }

  private func oldest(of statement: Statement, in scope: ChangeScope) throws -> [DocumentKey: Document] {
    var found: [DocumentKey: Document] = [:]
    while try statement.step() {
      let key = try DocumentKey(ResourcePath(canonical: statement.string(at: 0)))
      guard found[key] == nil, scope.contains(key) else { continue }
      let version = SnapshotVersion(microseconds: try statement.int64(at: 1))
      if statement.isNull(at: 3) {
        found[key] = .missing(key, version: version)
      } else {
        found[key] = .found(
          key, version: version, createTime: SnapshotVersion(microseconds: try statement.int64(at: 2)),
          fields: EncodedFields(uncheckedBytes: try statement.bytes(at: 3)))
      }
    }
    return found
  }

  /// The last entry of the newest commit that is not younger than `version`.
  private func lastSequence(through version: SnapshotVersion) throws -> Int64 {
    let statement = try database.prepare(
      "SELECT last_sequence FROM server_commits WHERE version <= ? ORDER BY version DESC LIMIT 1")
    try statement.bind(1, version.microseconds)
    return try statement.step() ? try statement.int64(at: 0) : 0
  }
}
