internal import HearthModel
internal import HearthStore

/// The one row of `server_state`.
///
/// `last_version` in the table is the newest version that is not in the change log: a commit that changes documents does not write this row.
struct ServerState {
  /// The newest commit, or the creation of the database.
  var committedVersion: SnapshotVersion
  /// The same, or a later version that listeners were given.
  var lastVersion: SnapshotVersion
  var logStart: SnapshotVersion
  /// The size of the change log's rows up to `countedVersion`.
  var logBytes: Int64 = 0
  var countedVersion: SnapshotVersion = .none
  /// The number of the indexes' state, see `IndexTable.use`.
  var indexState: Int64 = 0
  var epochs: Epochs

  /// The newest version in SQL, of a statement that reads the row.
  static let newestVersion =
    "max(last_version, coalesce((SELECT version FROM server_changes ORDER BY version DESC LIMIT 1), 0))"

  /// Reads the row, and writes it first when the database is new. The first version is the time of creation: listeners
  /// take a version of zero for "no version".
  static func load(from database: Database, now: Timestamp) throws -> ServerState {
    try database.transaction("load server state") {
      let select = try database.prepare(
        """
        SELECT \(newestVersion), log_start, index_state, log_bytes, counted_version, announced_version FROM server_state WHERE id = 1
        """)
      if try select.step() {
        let committed = SnapshotVersion(microseconds: try select.int64(at: 0))
        return ServerState(
          committedVersion: committed,
          lastVersion: max(committed, SnapshotVersion(microseconds: try select.int64(at: 5))),
          logStart: SnapshotVersion(microseconds: try select.int64(at: 1)), logBytes: try select.int64(at: 3),
          countedVersion: SnapshotVersion(microseconds: try select.int64(at: 4)), indexState: try select.int64(at: 2),
          epochs: Epochs(try Epochs(from: database).all, quiet: Epochs.Quiet()))
      }
      let version = SnapshotVersion(microseconds: max(now.microseconds, 1))
      let state = ServerState(
        committedVersion: version, lastVersion: version, logStart: version, epochs: Epochs(creation: version))
      try state.insert(into: database)
      return state
    }
  }

  /// Makes a new database the continuation of another one. Nothing else of the other one is kept.
  func adopt(in database: Database) throws {
    try database.transaction("adopt server state") { try insert(into: database) }
  }

  private func insert(into database: Database) throws {
    try database.update(
      "INSERT INTO server_state (id, last_version, log_start) VALUES (1, ?, ?)", .integer(lastVersion.microseconds),
      .integer(logStart.microseconds))
    try epochs.save(in: database)
  }

  /// Saves the version of the newest commit, with the totals of a log whose rows are all at this version or before it.
  static func save(
    lastVersion: SnapshotVersion, logStart: SnapshotVersion, logBytes: Int64, in database: Database
  ) throws {
    let update = try database.prepare(
      "UPDATE server_state SET last_version = ?1, log_start = ?2, log_bytes = ?3, counted_version = ?1 WHERE id = 1")
    try update.bind(1, lastVersion.microseconds)
    try update.bind(2, logStart.microseconds)
    try update.bind(3, logBytes)
    try update.run()
  }

  /// Saves a version that listeners are given, and that is no commit.
  static func saveAnnounced(_ version: SnapshotVersion, in database: Database) throws {
    try database.update(
      "UPDATE server_state SET announced_version = ? WHERE id = 1", .integer(version.microseconds))
  }

  static func save(indexState: Int64, in database: Database) throws {
    try database.update("UPDATE server_state SET index_state = ? WHERE id = 1", .integer(indexState))
  }
}
