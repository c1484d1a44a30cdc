internal import HearthModel
internal import HearthStore

/// The changes of recent commits: the source of incremental listens, of resumption and of reads in the past.
///
/// The log stores each changed document in its state before the commit. So the state of a document at version `v` is the oldest entry that
/// is younger than `v`, or the present document if there is none.
///
/// Confined to its owner, like the `Database` it works on; every method that writes runs inside the owner's transaction.
final class ChangeLog {
  /// The log was cut because of its size.
  struct Cut {
    /// The size before the cut.
    var bytes: Int64
    var limitBytes: Int64
    /// The age of the history that is left, and the age that was wanted.
    var keptSeconds: Int64
    var wantedSeconds: Int64
  }

  private let database: Database
  private let retention: HistoryRetention
  private let collections: LoggedCollections
  /// Called at most once a minute.
  private let warn: (Cut) -> Void
  /// Called for each cut.
  private let noteCut: () -> Void

  /// The totals of the tables, known without reading them.
  struct Totals {
    /// The log is complete after this version.
    var start: SnapshotVersion
    /// The size of the log, see ``HistoryRetention/bytes``.
    var bytes: Int64 = 0
    /// The newest commit that this log was given.
    var latestVersion: SnapshotVersion = .none
    /// There may be rows beyond the limits. They may have aged while the database was closed.
    var isBehind = true
    fileprivate var rowsSinceTrim = 0
    fileprivate var bytesSinceTrim: Int64 = 0
    fileprivate var rowsSinceSave = 0
  }

  private(set) var totals: Totals

  var start: SnapshotVersion { totals.start }
  var bytes: Int64 { totals.bytes }
  var latestVersion: SnapshotVersion { totals.latestVersion }
  /// True if rows beyond the limits may be left; ``trimMore(now:)`` removes them.
  var isBehind: Bool { totals.isBehind }
  private var lastWarning: Int64?

  init(
    database: Database, retention: HistoryRetention, state: ServerState, noteCut: @escaping () -> Void = {},
    warn: @escaping (Cut) -> Void
  ) throws {
    self.noteCut = noteCut
    self.database = database
    self.retention = retention
    self.collections = LoggedCollections(database: database)
    self.warn = warn
    totals = Totals(start: state.logStart, bytes: try Self.size(of: state, in: database))
  }

  /// The size of the log: what was saved with the state, and the rows behind that.
  private static func size(of state: ServerState, in database: Database) throws -> Int64 {
    guard try database.prepare("SELECT 1 FROM server_changes LIMIT 1").step() else { return 0 }
    let rest = try database.prepare("SELECT coalesce(sum(\(rowBytes)), 0) FROM server_changes WHERE version > ?")
    try rest.bind(1, state.countedVersion.microseconds)
    _ = try rest.step()
    return state.logBytes + (try rest.int64(at: 0))
  }

  /// Goes back to what was known before a transaction that was rolled back. It reads nothing, so that it cannot fail where the
  /// transaction has failed.
  func rollBack(to totals: Totals) {
    self.totals = totals
    collections.forget()
  }

  /// The size of a row and of its entries in the indexes. The length of a text ends at its first U+0000, that of a blob does not
  /// (https://www.sqlite.org/lang_corefunc.html#length).
  static let rowBytes = "(coalesce(length(old_fields), 0) + 2 * length(CAST(id AS BLOB)) + \(minimumRowBytes))"
  private static let minimumRowBytes: Int64 = 64

  /// Returns true if the log holds every change after `version`.
  func reaches(_ version: SnapshotVersion) -> Bool { version >= start }

  /// Logs one commit, and counts the documents of its collections.
  func append(version: SnapshotVersion, _ transitions: [DocumentTransition]) throws {
    let insert = try database.prepare(
      """
      INSERT INTO server_changes (version, collection, id, is_delete, old_version, old_create_time, old_fields)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """)
    try insert.bind(1, version.microseconds)
    var growth: [Int64: Int64] = [:]
    var added: Int64 = 0
    for transition in transitions {
      let (before, key) = (transition.before, transition.key)
      let collection = try collections.number(ofNew: key.collectionPath)
      try insert.bind(2, collection)
      try insert.bind(3, key.id)
      try insert.bind(4, transition.after.isFound ? 0 : 1)
      try insert.bind(5, before.isFound ? before.version.microseconds : 0)
      try insert.bind(6, before.isFound ? before.createTime.microseconds : 0)
      try insert.bind(7, before.isFound ? before.fields.bytes : nil)
      try insert.run()
      added +=
        Int64(before.isFound ? before.fields.bytes.count : 0) + 2 * Int64(key.id.utf8.count) + Self.minimumRowBytes
      if before.isFound != transition.after.isFound { growth[collection, default: 0] += before.isFound ? -1 : 1 }
    }
    for (collection, change) in growth.sorted(by: { $0.key < $1.key }) where change != 0 {
      try collections.grow(collection, by: change)
    }
    totals.bytes += added
    totals.latestVersion = version
    totals.rowsSinceTrim += transitions.count
    totals.bytesSinceTrim += added
    totals.rowsSinceSave += transitions.count
  }
}

// MARK: - Trimming

extension ChangeLog {
  /// The number of rows that are written between two trims.
  private static let rowsPerRound = 64
  /// The number of rows that are added up when a database is opened.
  private static let uncountedRows = 10_000
  private static let microsecondsBetweenWarnings: Int64 = 60_000_000

  /// The maximum that one trim removes.
  private struct Budget {
    var rows: Int
    /// The row that reaches it still goes.
    var bytes: Int64

    /// A step between two commits: some milliseconds.
    static let step = Budget(rows: 1_000, bytes: 8 << 20)
  }

  /// Removes rows beyond the limits in the transaction of a commit: at least as much as was added since the last trim, so that the
  /// log stays at its size however large the commits are, and no commit pays for more than a multiple of what it has written.
  ///
  /// - Returns: True if ``start`` and ``bytes`` must be saved.
  func trim(now: Timestamp) throws -> Bool {
    let isTooLarge = bytes > retention.bytes
    guard isTooLarge || isBehind || totals.rowsSinceTrim >= Self.rowsPerRound else { return false }
    let added = (rows: totals.rowsSinceTrim, bytes: totals.bytesSinceTrim)
    var budget = Budget(
      rows: max(added.rows, min(2 * added.rows, Budget.step.rows)), bytes: max(2 * added.bytes, Budget.step.bytes))
    if isTooLarge {
      // So many rows have at least the bytes that were added, however small they are.
      budget.rows = max(budget.rows, Budget.step.rows, Int(clamping: added.bytes / Self.minimumRowBytes + 1))
    }
    return try trim(within: budget, now: now)
  }

  /// Removes a few more rows beyond the limits, between two commits. ``isBehind`` says afterwards if that was not all.
  ///
  /// - Returns: True if ``start`` and ``bytes`` must be saved.
  func trimMore(now: Timestamp) throws -> Bool {
    try trim(within: .step, now: now)
  }

  private func trim(within budget: Budget, now: Timestamp) throws -> Bool {
    let bytesBefore = bytes
    totals.rowsSinceTrim = 0
    totals.bytesSinceTrim = 0
    let isTrimmed = try removeOldest(budget, until: now.microseconds - retention.microseconds)
    if bytesBefore > retention.bytes, isTrimmed {
      noteCut()
      warnOfCut(bytesBefore, now: now.microseconds)
    }
    guard isTrimmed || totals.rowsSinceSave >= Self.uncountedRows else { return false }
    totals.rowsSinceSave = 0
    return true
  }

  /// Removes rows that are not younger than `time`, and others until the log has the size it may have.
  private func removeOldest(_ budget: Budget, until time: Int64) throws -> Bool {
    let select = try database.prepare(
      "SELECT version, collection, id, \(Self.rowBytes) FROM server_changes ORDER BY version, collection, id LIMIT ?")
    try select.bind(1, budget.rows)
    var last: (version: Int64, collection: Int64, id: String)?
    var touched: Set<Int64> = []
    var removed: (rows: Int, bytes: Int64) = (0, 0)
    totals.isBehind = false
    while true {
      guard removed.rows < budget.rows, removed.bytes < budget.bytes else {
        totals.isBehind = true
        break
      }
      guard try select.step() else {
        // Nothing is left, so a sum that was wrong is right again.
        totals.bytes = removed.bytes
        break
      }
      let version = try select.int64(at: 0)
      guard version <= time || totals.bytes - removed.bytes > retention.bytes else { break }
      let collection = try select.int64(at: 1)
      last = (version, collection, try select.string(at: 2))
      touched.insert(collection)
      removed.rows += 1
      removed.bytes += try select.int64(at: 3)
    }
    select.reset()
    totals.bytes = max(totals.bytes - removed.bytes, 0)
    guard let last else { return false }
    let delete = try database.prepare(
      "DELETE FROM server_changes WHERE version <= ?1 AND (version, collection, id) <= (?1, ?2, ?3)")
    try delete.bind(1, last.version)
    try delete.bind(2, last.collection)
    try delete.bind(3, last.id)
    try delete.run()
    // Some rows of this commit may be left; the log is complete after it.
    totals.start = max(start, SnapshotVersion(microseconds: last.version))
    for collection in touched.sorted() { try collections.removeIfUnused(collection) }
    return true
  }

  private func warnOfCut(_ bytesBefore: Int64, now: Int64) {
    if let lastWarning, (0..<Self.microsecondsBetweenWarnings).contains(now - lastWarning) { return }
    lastWarning = now
    warn(
      Cut(
        bytes: bytesBefore, limitBytes: retention.bytes, keptSeconds: max(now - start.microseconds, 0) / 1_000_000,
        wantedSeconds: retention.microseconds / 1_000_000))
  }
}
