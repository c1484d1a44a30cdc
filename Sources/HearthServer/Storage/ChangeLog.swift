internal import HearthModel
internal import HearthStore

/// The changes of recent commits: the source of incremental listens, of resumption and of reads in the past.
///
/// Each changed document is logged as it was before the commit. The state of a document at version `v` is then the
/// oldest entry that is younger than `v`, or the present document when there is none.
///
/// Confined to its owner, like the `Database` it works on; every method that writes runs inside the owner's transaction.
final class ChangeLog {
  /// The limits of the log.
  struct Retention: Sendable {
    /// The age of the history that is kept, in microseconds of commit times.
    var microseconds: Int64 = 3_600_000_000
    /// The size of the documents in the log. Beyond it, history is dropped before its time.
    var bytes: Int64 = 1 << 30
  }

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
  private let retention: Retention
  private let collections: LoggedCollections
  /// Called at most once a minute.
  private let warn: (Cut) -> Void
  /// Called for each cut.
  private let noteCut: () -> Void

  /// The log is complete after this version.
  private(set) var start: SnapshotVersion
  /// The size of the log, see ``Retention/bytes``.
  private(set) var bytes: Int64 = 0
  /// The newest commit that this log was given.
  private(set) var latestVersion: SnapshotVersion = .none
  private var rowsSinceTrim = 0
  private var rowsSinceSave = 0
  private var lastWarning: Int64?

  init(
    database: Database, retention: Retention, state: ServerState, noteCut: @escaping () -> Void = {},
    warn: @escaping (Cut) -> Void
  ) throws {
    self.noteCut = noteCut
    self.database = database
    self.retention = retention
    self.collections = LoggedCollections(database: database)
    self.warn = warn
    start = state.logStart
    try reload(state)
  }

  /// Reads the totals from the tables again, after a transaction was rolled back.
  func reload(_ state: ServerState) throws {
    start = state.logStart
    latestVersion = .none
    collections.forget()
    let rest = try database.prepare("SELECT coalesce(sum(\(Self.rowBytes)), 0) FROM server_changes WHERE version > ?")
    try rest.bind(1, state.countedVersion.microseconds)
    _ = try rest.step()
    bytes = state.logBytes + (try rest.int64(at: 0))
  }

  /// The size of a row and of its entries in the indexes.
  private static let rowBytes = "(coalesce(length(old_fields), 0) + 2 * length(id) + 64)"

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
      bytes += Int64(before.isFound ? before.fields.bytes.count : 0) + 2 * Int64(key.id.unicodeScalars.count) + 64
      if before.isFound != transition.after.isFound { growth[collection, default: 0] += before.isFound ? -1 : 1 }
    }
    for (collection, change) in growth.sorted(by: { $0.key < $1.key }) where change != 0 {
      try collections.grow(collection, by: change)
    }
    latestVersion = version
    rowsSinceTrim += transitions.count
    rowsSinceSave += transitions.count
  }
}

// MARK: - Trimming

extension ChangeLog {
  /// The number of rows that are written between two trims.
  private static let rowsPerRound = 64
  /// The maximum number of rows that one trim removes, so that no commit waits long for it.
  private static let maximumTrim = 1000
  /// The number of rows that are added up when a database is opened.
  private static let uncountedRows = 10_000
  private static let microsecondsBetweenWarnings: Int64 = 60_000_000

  /// Removes rows beyond the limits: twice as many as were added since the last trim, so that the log shrinks, and few at a time.
  ///
  /// - Returns: True if ``start`` and ``bytes`` are to be saved.
  func trim(now: Timestamp) throws -> Bool {
    let isTooLarge = bytes > retention.bytes
    guard isTooLarge || rowsSinceTrim >= Self.rowsPerRound else { return false }
    let limit = isTooLarge ? Self.maximumTrim : min(2 * rowsSinceTrim, Self.maximumTrim)
    rowsSinceTrim = 0
    let bytesBefore = bytes
    let isTrimmed = try removeOldest(limit, until: now.microseconds - retention.microseconds)
    if isTooLarge, isTrimmed {
      noteCut()
      warnOfCut(bytesBefore, now: now.microseconds)
    }
    guard isTrimmed || rowsSinceSave >= Self.uncountedRows else { return false }
    rowsSinceSave = 0
    return true
  }

  /// Removes rows that are not younger than `time`, and others until the log has the size it may have.
  private func removeOldest(_ limit: Int, until time: Int64) throws -> Bool {
    let select = try database.prepare(
      "SELECT version, collection, id, \(Self.rowBytes) FROM server_changes ORDER BY version, collection, id LIMIT ?")
    try select.bind(1, limit)
    var last: (version: Int64, collection: Int64, id: String)?
    var touched: Set<Int64> = []
    while try select.step() {
      let version = try select.int64(at: 0)
      guard version <= time || bytes > retention.bytes else { break }
      let collection = try select.int64(at: 1)
      last = (version, collection, try select.string(at: 2))
      touched.insert(collection)
      bytes -= try select.int64(at: 3)
    }
    select.reset()
    guard let last else { return false }
    let delete = try database.prepare(
      "DELETE FROM server_changes WHERE version <= ?1 AND (version, collection, id) <= (?1, ?2, ?3)")
    try delete.bind(1, last.version)
    try delete.bind(2, last.collection)
    try delete.bind(3, last.id)
    try delete.run()
    // Of this commit some rows may be left; the log is complete after it.
    start = max(start, SnapshotVersion(microseconds: last.version))
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

extension ChangeLog.Retention {
  init(_ limits: DatabaseLimits) {
    let time = limits.historyTime.components
    self.init(
      microseconds: time.seconds * 1_000_000 + time.attoseconds / 1_000_000_000_000, bytes: Int64(limits.historyBytes))
  }
}
