internal import HearthModel
internal import HearthStore

/// The one row of `server_state`.
///
/// `last_version` in the table is the newest version that is not in the change log: a commit that changes documents does not write this row.
struct ServerState {
  var incarnation: [UInt8]
  var lastVersion: SnapshotVersion
  var logStart: SnapshotVersion
  /// The size of the change log's rows up to `countedVersion`.
  var logBytes: Int64 = 0
  var countedVersion: SnapshotVersion = .none
  /// The number of the indexes' state, see `IndexTable.use`.
  var indexState: Int64 = 0
  /// Of the database; nil in memory.
  var file: FileIdentity?

  /// The newest version in SQL, of a statement that reads the row.
  static let newestVersion =
    "max(last_version, coalesce((SELECT version FROM server_changes ORDER BY version DESC LIMIT 1), 0))"

  /// Reads the row, and writes it first when the database is new. The first version is the time of creation: listeners
  /// take a version of zero for "no version".
  static func load(from database: Database, now: Timestamp) throws -> ServerState {
    try database.transaction("load server state") {
      let select = try database.prepare(
        "SELECT incarnation, \(newestVersion), log_start, index_state, log_bytes, counted_version, "
          + "file_identity FROM server_state WHERE id = 1")
      if try select.step() {
        return ServerState(
          incarnation: try select.bytes(at: 0),
          lastVersion: SnapshotVersion(microseconds: try select.int64(at: 1)),
          logStart: SnapshotVersion(microseconds: try select.int64(at: 2)), logBytes: try select.int64(at: 4),
          countedVersion: SnapshotVersion(microseconds: try select.int64(at: 5)), indexState: try select.int64(at: 3),
          file: try select.isNull(at: 6) ? nil : FileIdentity(bytes: select.bytes(at: 6)))
      }
      let version = SnapshotVersion(microseconds: max(now.microseconds, 1))
      let state = ServerState(incarnation: drawIncarnation(), lastVersion: version, logStart: version)
      try state.insert(into: database)
      return state
    }
  }

  /// Notes the file that the database is in, or draws a new incarnation if it is not the file that was noted: that one was copied, perhaps
  /// to bring back an earlier state. Of commits that followed that state, the listeners know what this database does not, so none may resume.
  ///
  /// - Returns: True if there is a new incarnation.
  mutating func settle(in file: FileIdentity?, of database: Database) throws -> Bool {
    guard let file, file != self.file else { return false }
    let isCopy = self.file != nil
    self.file = file
    if isCopy { incarnation = Self.drawIncarnation() }
    try database.transaction("settle server state") {
      let update = try database.prepare("UPDATE server_state SET incarnation = ?, file_identity = ? WHERE id = 1")
      try update.bind(1, incarnation)
      try update.bind(2, file.bytes)
      try update.run()
    }
    return isCopy
  }

  private static func drawIncarnation() -> [UInt8] {
    (0..<8).map { _ in UInt8.random(in: .min ... .max) }
  }

  /// Makes a new database the continuation of another one, of which nothing else is to be kept.
  func adopt(in database: Database) throws {
    try database.transaction("adopt server state") { try insert(into: database) }
  }

  private func insert(into database: Database) throws {
    let insert = try database.prepare(
      "INSERT INTO server_state (id, incarnation, last_version, log_start, file_identity) VALUES (1, ?, ?, ?, ?)")
    try insert.bind(1, incarnation)
    try insert.bind(2, lastVersion.microseconds)
    try insert.bind(3, logStart.microseconds)
    if let file { try insert.bind(4, file.bytes) }
    try insert.run()
  }

  /// Saves the newest version, with the totals of a log whose rows are all at this version or before it.
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

  static func save(indexState: Int64, in database: Database) throws {
    try database.update("UPDATE server_state SET index_state = ? WHERE id = 1", .integer(indexState))
  }
}
