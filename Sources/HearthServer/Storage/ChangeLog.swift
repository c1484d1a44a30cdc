internal import HearthModel
internal import HearthStore

/// The changes of recent commits: the source of incremental listens, of resumption and of reads in the past.
///
/// Each changed document is logged as it was before the commit. The state of a document at version `v` is then the
/// oldest entry that is younger than `v`, or the present document when there is none.
///
/// Confined to its owner, like the `Database` it works on; every method that writes runs inside the owner's transaction.
final class ChangeLog {
  /// The limits of the log. When one is exceeded, the oldest commits are removed.
  struct Retention: Sendable {
    var microseconds: Int64 = 3_600_000_000
    var commitCount = 100_000
    var bytes: Int64 = 256 * 1024 * 1024
  }

  private let database: Database
  private let retention: Retention

  /// The log is complete after this version.
  private(set) var start: SnapshotVersion
  private var commitCount: Int
  private var bytes: Int64
  private var commitsSinceTrim = 0

  init(database: Database, retention: Retention, start: SnapshotVersion) throws {
    self.database = database
    self.retention = retention
    self.start = start
    (commitCount, bytes) = try Self.totals(in: database)
  }

  /// Reads the totals from the tables again, after a transaction was rolled back.
  func reload(start: SnapshotVersion) throws {
    (commitCount, bytes) = try Self.totals(in: database)
    self.start = start
  }

  private static func totals(in database: Database) throws -> (commitCount: Int, bytes: Int64) {
    let totals = try database.prepare("SELECT count(*), coalesce(sum(bytes), 0) FROM server_commits")
    _ = try totals.step()
    return (Int(try totals.int64(at: 0)), try totals.int64(at: 1))
  }

  /// Returns true if the log holds every change after `version`.
  func reaches(_ version: SnapshotVersion) -> Bool { version >= start }

  /// Logs one commit.
  func append(version: SnapshotVersion, documentsBefore: [Document]) throws {
    let insert = try database.prepare(
      """
      INSERT INTO server_changes (path, collection, collection_group, old_version, old_create_time, old_fields)
      VALUES (?, ?, ?, ?, ?, ?)
      """)
    var size: Int64 = 0
    for document in documentsBefore {
      let path = document.key.canonicalString
      try insert.bind(1, path)
      try insert.bind(2, document.key.collectionPath.canonicalString)
      try insert.bind(3, document.key.collectionGroup)
      try insert.bind(4, document.isFound ? document.version.microseconds : 0)
      try insert.bind(5, document.isFound ? document.createTime.microseconds : 0)
      try insert.bind(6, document.isFound ? document.fields.bytes : nil)
      try insert.run()
      size += Int64(2 * path.utf8.count + document.fields.bytes.count)
    }
    let mark = try database.prepare(
      """
      INSERT INTO server_commits (version, last_sequence, bytes)
      VALUES (?, (SELECT coalesce(max(sequence), 0) FROM server_changes), ?)
      """)
    try mark.bind(1, version.microseconds)
    try mark.bind(2, size)
    try mark.run()
    commitCount += 1
    bytes += size
  }
}

// MARK: - Trimming

extension ChangeLog {
  /// The maximum number of commits that one trim removes, so that no commit waits long for it.
  private static let commitsPerTrim = 1000

  /// Removes the oldest commits beyond the limits, at most ``commitsPerTrim`` per call.
  ///
  /// - Returns: the new ``start`` if it has moved.
  func trim(now: Timestamp) throws -> SnapshotVersion? {
    let isOverLimit = commitCount > retention.commitCount || bytes > retention.bytes
    commitsSinceTrim += 1
    guard isOverLimit || commitsSinceTrim >= 100 else { return nil }
    commitsSinceTrim = 0
    guard let end = try versionToTrimThrough(isOverLimit: isOverLimit, now: now) else { return nil }
    return try trim(through: end)
  }

  private func versionToTrimThrough(isOverLimit: Bool, now: Timestamp) throws -> Int64? {
    // Limits on size take a tenth off at once, so that not every commit trims.
    let wanted = isOverLimit ? min(Self.commitsPerTrim, max(1, commitCount / 10)) : Self.commitsPerTrim
    let oldest = isOverLimit ? Int64.max : now.microseconds - retention.microseconds
    let statement = try database.prepare(
      """
      SELECT max(version) FROM (SELECT version FROM server_commits WHERE version < ? ORDER BY version LIMIT ?)
      """)
    try statement.bind(1, oldest)
    try statement.bind(2, Int64(wanted))
    guard try statement.step(), !statement.isNull(at: 0) else { return nil }
    return try statement.int64(at: 0)
  }

  private func trim(through version: Int64) throws -> SnapshotVersion {
    let removeChanges = try database.prepare(
      """
      DELETE FROM server_changes WHERE sequence <= (SELECT last_sequence FROM server_commits WHERE version = ?)
      """)
    try removeChanges.bind(1, version)
    try removeChanges.run()
    let sum = try database.prepare("SELECT count(*), coalesce(sum(bytes), 0) FROM server_commits WHERE version <= ?")
    try sum.bind(1, version)
    _ = try sum.step()
    commitCount -= Int(try sum.int64(at: 0))
    bytes -= try sum.int64(at: 1)
    let removeCommits = try database.prepare("DELETE FROM server_commits WHERE version <= ?")
    try removeCommits.bind(1, version)
    try removeCommits.run()
    start = SnapshotVersion(microseconds: version)
    return start
  }
}
