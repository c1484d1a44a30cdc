internal import HearthModel
internal import HearthStore

/// The one row of counters and versions that belong to the cache as a whole.
///
/// Every value is read from the database and written to it at each use. So a failed transaction releases the numbers that it took, and
/// another process never sees a number twice.
struct CacheGlobals {
  let database: Database

  /// The name of this cache, empty until it was given one.
  func cacheID() throws -> String {
    try row("cache_id") { try $0.string(at: 0) }
  }

  func setCacheID(_ cacheID: String) throws {
    assert(database.isInWriteTransaction, "a counter changes outside of a write transaction")
    try database.update("UPDATE cache_globals SET cache_id = ?", .text(cacheID))
  }

  /// Takes the next batch id: one more than the highest ever used by any user.
  func takeBatchID() throws -> BatchID {
    try advance("highest_batch_id", by: 1, limit: CountedNumber.counters.upperBound)
  }

  /// Takes the next target id of a user's query: two more than the highest ever used
  /// (firebase-ios-sdk target_id_generator.cc).
  func takeTargetID() throws -> TargetID {
    let next = try advance("highest_target_id", by: 2, limit: Int64(TargetID.max))
    guard let targetID = TargetID(exactly: next) else {
      throw CacheError.exhausted(counter: "highest_target_id", highest: next)
    }
    return targetID
  }

  /// Takes the next number on the scale that says what was used last.
  func takeSequenceNumber() throws -> Int64 {
    try advance("highest_sequence_number", by: 1, limit: CountedNumber.counters.upperBound)
  }

  func highestSequenceNumber() throws -> Int64 {
    try row("highest_sequence_number") { try $0.int64(at: 0) }
  }

  func targetCount() throws -> Int64 {
    try row("target_count") { row in
      try row.counter(at: 0) { .corruptRecord(table: "cache_globals", row: "1", reason: $0) }
    }
  }

  func addToTargetCount(_ difference: Int64) throws {
    assert(database.isInWriteTransaction, "a counter changes outside of a write transaction")
    try database.update("UPDATE cache_globals SET target_count = target_count + ?", .integer(difference))
  }

  func lastRemoteSnapshotVersion() throws -> SnapshotVersion {
    try row("snapshot_seconds, snapshot_nanos") { try $0.version(at: 0, table: "cache_globals", row: "1") }
  }

  /// The next moment that the protocol can tell from the last snapshot. A document with this time of reading is new to queries that build on an
  /// earlier result.
  func timeAfterLastSnapshot() throws -> SnapshotVersion {
    SnapshotVersion(try lastRemoteSnapshotVersion().timestamp.next)
  }

  func setLastRemoteSnapshotVersion(_ version: SnapshotVersion) throws {
    assert(database.isInWriteTransaction, "a counter changes outside of a write transaction")
    try database.update(
      "UPDATE cache_globals SET snapshot_seconds = ?, snapshot_nanos = ?",
      .integer(version.timestamp.seconds), .integer(Int64(version.timestamp.nanoseconds)))
  }

  /// Goes on with the time by which kept rows age.
  ///
  /// - Parameter clock: The device's time.
  /// - Returns: The point on that scale, in seconds.
  func keepingTime(at clock: Timestamp) throws -> Int64 {
    let before = try keepingTime()
    var time = before
    time.read(clock)
    if time != before { try set(time) }
    return time.seconds
  }

  func keepingTime() throws -> KeepingTime {
    try row("keeping_seconds, last_reading, highest_reading") { row in
      let seconds = try row.counter(at: 0) { .corruptRecord(table: "cache_globals", row: "1", reason: $0) }
      return KeepingTime(seconds: seconds, lastReading: try row.int64(at: 1), highestReading: try row.int64(at: 2))
    }
  }

  func set(_ time: KeepingTime) throws {
    assert(database.isInWriteTransaction, "a counter changes outside of a write transaction")
    try database.update(
      "UPDATE cache_globals SET keeping_seconds = ?, last_reading = ?, highest_reading = ?", .integer(time.seconds),
      .integer(time.lastReading), .integer(time.highestReading))
  }

  /// Reads everything once and throws when the row is missing or holds what cannot be.
  func check() throws {
    _ = try cacheID()
    _ = try lastRemoteSnapshotVersion()
    _ = try keepingTime()
    let counters = try row("highest_batch_id, highest_target_id, highest_sequence_number, target_count") { row in
      try (0..<4).map { try row.int64(at: $0) }
    }
    guard counters.allSatisfy({ $0 >= 0 }) else {
      throw CacheError.corruptRecord(table: "cache_globals", row: "1", reason: "a counter is negative: \(counters)")
    }
  }

  /// The highest number of a batch in any table, in SQL. Numbers from which no counter is repaired do not count.
  static let highestUsedBatchID: String = {
    let used = ["cache_mutation_batches", "cache_unreadable_batches", "cache_rejected_batches"].map {
      "coalesce((SELECT max(batch_id) FROM \($0) WHERE batch_id < \(CountedNumber.bases.upperBound)), 0)"
    }
    return "max(\(used.joined(separator: ", ")))"
  }()

  /// Throws when the counter of batches is behind them. A number that is given again would make two batches one in the eyes of callers, and
  /// of the list of refused ones.
  func checkBatchCounter() throws {
    let isBehind = try row("highest_batch_id < \(Self.highestUsedBatchID)") { try $0.int64(at: 0) != 0 }
    guard isBehind else { return }
    throw CacheError.corruptRecord(
      table: "cache_globals", row: "1", reason: "the highest number of a batch is lower than that of one that is kept")
  }

  /// Where the counter is lost, the numbers of so many batches that are not there any more are not given again: callers may still name them.
  static let skippedBatchIDs: BatchID = 1 << 20

  /// Raises counters that are behind the rows they count, and brings back those that no use can have raised so far. Each of them can count on then.
  func repair() throws {
    assert(database.isInWriteTransaction, "a counter changes outside of a write transaction")
    let batches = Self.highestUsedBatchID
    let targets = """
      max(coalesce((SELECT max(target_id) FROM cache_targets WHERE target_id <= 2147483645), 0),
        coalesce((SELECT max(target_id) FROM cache_removed_targets WHERE target_id <= 2147483645), 0))
      """
    let isBase = CountedNumber.condition("sequence_number", in: CountedNumber.bases)
    let uses = """
      max(coalesce((SELECT max(sequence_number) FROM cache_targets WHERE \(isBase)), 0),
        coalesce((SELECT max(sequence_number) FROM cache_document_uses WHERE \(isBase)), 0))
      """
    func isNone(_ counter: String) -> String { "NOT (\(CountedNumber.condition(counter, in: CountedNumber.counters)))" }
    // Ids of targets are even: odd ones are those of limbo resolutions.
    try database.update(
      """
      UPDATE cache_globals SET
        highest_batch_id = CASE WHEN highest_batch_id < \(batches) OR \(isNone("highest_batch_id"))
          THEN \(batches) + \(Self.skippedBatchIDs) ELSE highest_batch_id END,
        highest_target_id = CASE WHEN highest_target_id < \(targets) OR highest_target_id > 2147483645
            OR highest_target_id & 1 OR typeof(highest_target_id) <> 'integer'
          THEN (\(targets) + 1) / 2 * 2 ELSE highest_target_id END,
        highest_sequence_number = CASE WHEN highest_sequence_number < \(uses) OR \(isNone("highest_sequence_number"))
          THEN \(uses) ELSE highest_sequence_number END,
        target_count = (SELECT count(*) FROM cache_targets)
      """)
    try repairKeepingTime()
  }

  /// Outcomes that were kept at a time ahead of the scale would never age.
  private func repairKeepingTime() throws {
    assert(database.isInWriteTransaction, "a counter changes outside of a write transaction")
    let tables = ["cache_rejected_batches", "cache_write_outcomes"]
    func isTime(_ column: String) -> String { CountedNumber.condition(column, in: CountedNumber.bases) }
    let kept = tables.map { "coalesce((SELECT max(kept_at) FROM \($0) WHERE \(isTime("kept_at"))), 0)" }
    try database.update(
      """
      UPDATE cache_globals SET
        keeping_seconds = CASE WHEN \(isTime("keeping_seconds")) THEN keeping_seconds
          ELSE max(\(kept.joined(separator: ", "))) END,
        last_reading = CASE typeof(last_reading) WHEN 'integer' THEN last_reading ELSE 0 END,
        highest_reading = CASE typeof(highest_reading) WHEN 'integer' THEN highest_reading ELSE 0 END
      """)
    for table in tables {
      try database.update(
        """
        UPDATE \(table) SET kept_at = (SELECT keeping_seconds FROM cache_globals)
        WHERE NOT (\(isTime("kept_at"))) OR kept_at > (SELECT keeping_seconds FROM cache_globals)
        """)
    }
  }

  /// Takes over the name and the batch counter of a cache whose outbox was saved.
  func restore(cacheID: String, highestBatchID: BatchID) throws {
    assert(database.isInWriteTransaction, "a counter changes outside of a write transaction")
    try database.update(
      "UPDATE cache_globals SET cache_id = ?, highest_batch_id = ?", .text(cacheID), .integer(highestBatchID))
  }

  private func advance(_ column: String, by step: Int64, limit: Int64) throws -> Int64 {
    assert(database.isInWriteTransaction, "a counter changes outside of a write transaction")
    let highest = try row(column) { try $0.int64(at: 0) }
    let (next, overflow) = highest.addingReportingOverflow(step)
    guard !overflow, next <= limit, highest >= 0 else {
      throw CacheError.exhausted(counter: column, highest: highest)
    }
    try database.update("UPDATE cache_globals SET \(column) = ?", .integer(next))
    return next
  }

  private func row<T>(_ columns: String, _ body: (Statement) throws -> T) throws -> T {
    guard let value = try database.firstRow("SELECT \(columns) FROM cache_globals WHERE id = 1", body: body) else {
      throw CacheError.corruptRecord(table: "cache_globals", row: "1", reason: "the row is missing")
    }
    return value
  }
}

extension Timestamp {
  /// The next moment that the protocol can tell from this one: a microsecond later.
  fileprivate var next: Timestamp {
    let nanoseconds = nanoseconds + 1000
    guard nanoseconds >= 1_000_000_000 else { return Timestamp(seconds: seconds, nanoseconds: nanoseconds) }
    let (second, overflow) = seconds.addingReportingOverflow(1)
    return overflow ? self : Timestamp(seconds: second, nanoseconds: nanoseconds - 1_000_000_000)
  }
}
