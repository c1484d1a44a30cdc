internal import HearthModel
internal import HearthStore

/// The one row of `server_state`.
struct ServerState {
  var incarnation: [UInt8]
  var lastVersion: SnapshotVersion
  var logStart: SnapshotVersion
  /// The number of the indexes' state, see `IndexTable.use`.
  var indexState: Int64 = 0

  /// Reads the row, and writes it first when the database is new. The first version is the time of creation: listeners
  /// take a version of zero for "no version".
  static func load(from database: Database, now: Timestamp) throws -> ServerState {
    try database.transaction("load server state") {
      let select = try database.prepare(
        "SELECT incarnation, last_version, log_start, index_state FROM server_state WHERE id = 1")
      if try select.step() {
        return ServerState(
          incarnation: try select.bytes(at: 0),
          lastVersion: SnapshotVersion(microseconds: try select.int64(at: 1)),
          logStart: SnapshotVersion(microseconds: try select.int64(at: 2)), indexState: try select.int64(at: 3))
      }
      let incarnation = (0..<8).map { _ in UInt8.random(in: .min ... .max) }
      let version = SnapshotVersion(microseconds: max(now.microseconds, 1))
      let state = ServerState(incarnation: incarnation, lastVersion: version, logStart: version)
      try state.insert(into: database)
      return state
    }
  }

  /// Makes a new database the continuation of another one, of which nothing else is to be kept.
  func adopt(in database: Database) throws {
    try database.transaction("adopt server state") { try insert(into: database) }
  }

  private func insert(into database: Database) throws {
    let insert = try database.prepare(
      "INSERT INTO server_state (id, incarnation, last_version, log_start) VALUES (1, ?, ?, ?)")
    try insert.bind(1, incarnation)
    try insert.bind(2, lastVersion.microseconds)
    try insert.bind(3, logStart.microseconds)
    try insert.run()
  }

  static func save(lastVersion: SnapshotVersion, logStart: SnapshotVersion, in database: Database) throws {
    let update = try database.prepare("UPDATE server_state SET last_version = ?, log_start = ? WHERE id = 1")
    try update.bind(1, lastVersion.microseconds)
    try update.bind(2, logStart.microseconds)
    try update.run()
  }

  static func save(indexState: Int64, in database: Database) throws {
    try database.update("UPDATE server_state SET index_state = ? WHERE id = 1", .integer(indexState))
  }
}
