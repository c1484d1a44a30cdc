internal import HearthModel
internal import HearthStore
internal import HearthWire

/// The pending writes that can still be read in a damaged cache file.
///
/// Damage hits pages, so a table can be unreadable in the middle while the rest is intact. The queue is read from its beginning. Where that
/// breaks off, it is read backward from its end, and the batches in between are looked up by every number that an index or the list of
/// documents still names. If interior pages of the table are damaged, the leaf pages are read directly. Then only batches that an index
/// names count, because a page may also hold batches that were answered long ago.
///
/// Even a readable table may hold answered batches, if the write of one of its pages was lost. So a batch with an outcome or a refusal does
/// not count as pending. A batch that neither the index nor the list of documents names is set aside if both can be read completely.
struct SalvagedOutbox {
  struct Entry: Equatable {
    var userKey: String
    var batch: MutationBatch
  }

  /// A batch that is kept and not sent: it does not have the form that this release writes, or its owner is unknown.
  struct SetAsideEntry {
    var batchID: BatchID
    /// Nil if the user is not known.
    var userKey: String?
    var bytes: [UInt8]
    var reason: String
  }

  /// A readable row of the refused batches. Nothing in it is sent, so it is taken unchanged.
  struct RejectedRow {
    var batchID: BatchID
    /// Nil if the user is not known.
    var userKey: String?
    var batch: [UInt8]
    var code: Int64
    var message: String
    var seconds: Int64
    var nanoseconds: Int64
    /// By the cache's own scale.
    var keptAt: Int64
  }

  /// In order of batch id.
  var batches: [Entry] = []
  /// Pending batches that are kept and not sent.
  var setAside: [SetAsideEntry] = []
  /// The number of pending batches that were seen and could not be kept.
  var lostBatchCount = 0
  /// False when the reading of pending batches broke off somewhere.
  var isComplete = true

  var rejected: [RejectedRow] = []
  /// Refused batches whose rows are damaged.
  var setAsideRejected: [SetAsideEntry] = []
  /// The number of refused batches that were seen and could not be kept.
  var lostRejectedCount = 0
  /// False when the reading of refused batches broke off somewhere.
  var isRejectedComplete = true

  /// The identities of those that can be read.
  var rejectedIdentities: Set<BatchIdentity> = []
  /// By their numbers in the table.
  var outcomes: [Int64: OutcomeRow] = [:]
  /// The base documents of the oldest batches, by the row of their user.
  var bases: [UserRow: [DocumentKey: BaseDocument]] = [:]
  /// True if the file still says where the outbox lies.
  private(set) var hasTables = true
  /// Empty when it could not be read. Then the new cache gets another name, and batch ids may start over: the backend
  /// knows each batch by its own identity, which is saved with it.
  private(set) var cacheID = ""
  private(set) var highestBatchID: BatchID = 0
  private(set) var keepingTime = KeepingTime()
  /// The last batches that may have been sent, by the rows of their users.
  private var sentMarks: [UserRow: BatchID] = [:]
  var userKeys: [UserRow: String] = [:]
  /// True if the table of users and its index could be read, and agree.
  var areUsersComplete = false
  /// For each batch that the index of the queue or the list of documents names.
  var witnesses: [BatchID: Witnesses] = [:]
  /// True if both could be read.
  var areWitnessesComplete = false
  /// The batches that were found in the queue.
  var seen: Set<BatchID> = []
  /// The rows of `cache_unreadable_batches` that hold what such a row can hold.
  var setAsideRowCount = 0
  let databaseID: DatabaseID

  /// Pending batches that were seen and will not be sent.
  var unreadableBatchCount: Int { setAside.count + lostBatchCount }
  /// Refused batches that were seen and cannot be listed.
  var unreadableRejectedCount: Int { setAsideRejected.count + lostRejectedCount }
  /// True if both hold the same batches, pending, refused and set aside, and number the next one alike, and no batch that may have been sent
  /// counts as one that was not in the other. False if the tables of one are lost.
  func holdsSame(as other: SalvagedOutbox) -> Bool {
    func numbers(_ outbox: SalvagedOutbox) -> [[BatchID]] {
      [
        outbox.rejected.map(\.batchID), outbox.setAside.map(\.batchID), outbox.setAsideRejected.map(\.batchID),
        [outbox.highestBatchID],
      ]
    }
    return hasTables && other.hasTables && batches == other.batches && numbers(self) == numbers(other)
      && sentMarks.allSatisfy { $1 <= other.sentMarks[$0] ?? 0 }
  }

  /// The number of rows that only the tables of an outbox can have.
  var foundCount: Int { batches.count + rejected.count + setAsideRowCount }

  /// Reads everything that is readable. The file is not changed.
  ///
  /// - Parameter isImmutable: True for a file without a log that no process writes; then no files are created next to it either.
  init(reading path: String, databaseID: DatabaseID, isImmutable: Bool = false) {
    self.databaseID = databaseID
    var options = Database.Options()
    options.isReadOnly = true
    options.toleratesDamage = true
    options.isImmutable = isImmutable
    guard let database = try? Database(.file(path: path), options: options) else {
      (isComplete, hasTables, isRejectedComplete) = (false, false, false)
      finish(hasCounter: false)
      return
    }
    checkTables(database)
    let hasCounter = readGlobals(database)
    readWitnesses(database)
    readUsers(database, path)
    // They say which batches of the queue were answered.
    readOutcomes(database)
    readRejected(database)
    readQueue(database)
    readSetAside(database)
    readBases(database)
    database.close()
    readMissingBatches(of: path)
    finish(hasCounter: hasCounter)
  }

  // MARK: - Counters and bases

  private mutating func checkTables(_ database: Database) {
    let names = CacheSchema.outboxTables.map { "'\($0)'" }.joined(separator: ", ")
    let sql = "SELECT count(*) FROM sqlite_master WHERE name IN (\(names)) AND rootpage > 1"
    let count = try? database.firstRow(sql) { try $0.int64(at: 0) }
    hasTables = count == Int64(CacheSchema.outboxTables.count)
  }

  /// - Returns: True if the number of the last batch could be read.
  private mutating func readGlobals(_ database: Database) -> Bool {
    func sql(_ column: String) -> String { "SELECT \(column) FROM cache_globals WHERE id = 1" }
    cacheID = (try? database.firstRow(sql("cache_id")) { try $0.string(at: 0) }) ?? ""
    let highest = try? database.firstRow(sql("highest_batch_id")) { try $0.int64(at: 0) }
    if let highest, CountedNumber.counters.contains(highest) { highestBatchID = highest }
    if let time = try? CacheGlobals(database: database).keepingTime(), CountedNumber.bases.contains(time.seconds) {
      keepingTime = time
    }
    scan(database, "SELECT user_id, through FROM cache_sent_marks") { outbox, row in
      if let user = try? row.int64(at: 0), let batchID = try? row.int64(at: 1) { outbox.sentMarks[user] = batchID }
    }
    return highest.map(CountedNumber.counters.contains) ?? false
  }

  /// From the beginning of the table, and if that breaks off, from its end. The condition that a batch was sent under is in its own row.
  private mutating func readBases(_ database: Database) {
    for order in ["ASC", "DESC"] {
      let isWhole = scan(database, "\(BaseDocumentTable.select) ORDER BY hash \(order)") { outbox, row in
        guard let entry = try? BaseDocumentTable.entry(row) else { return }
        outbox.bases[entry.user, default: [:]][entry.key] = entry.base
      }
      if isWhole { return }
    }
  }

  private mutating func finish(hasCounter: Bool) {
    lostBatchCount += Set(witnesses.keys).subtracting(seen).count
    batches.sort { $0.batch.batchID < $1.batch.batchID }
    // Refused batches and those set aside keep their numbers as well.
    let kept = rejected.map(\.batchID) + (setAside + setAsideRejected).map(\.batchID)
    highestBatchID = [Array(seen), Array(witnesses.keys), kept].joined()
      .reduce(highestBatchID) { CountedNumber.bases.contains($1) ? max($0, $1) : $0 }
    if !hasCounter { highestBatchID += CacheGlobals.skippedBatchIDs }
    giveFreeNumbers()
    // Where it was lost, it goes on from the newest of them.
    let keptAt = (rejected.map(\.keptAt) + outcomes.values.map(\.keptAt)).max() ?? 0
    keepingTime.seconds = max(keepingTime.seconds, keptAt)
  }

  /// Two rows that are set aside under one number get two, so that neither takes the other's place.
  private mutating func giveFreeNumbers() {
    func number(_ wanted: BatchID, _ taken: inout Set<BatchID>) -> BatchID {
      if Self.isBatchID(wanted), taken.insert(wanted).inserted { return wanted }
      highestBatchID += 1
      taken.insert(highestBatchID)
      return highestBatchID
    }
    var taken: Set<BatchID> = []
    for index in setAside.indices { setAside[index].batchID = number(setAside[index].batchID, &taken) }
    for index in setAsideRejected.indices {
      setAsideRejected[index].batchID = number(setAsideRejected[index].batchID, &taken)
    }
  }

  /// Calls `body` with each row until one cannot be read.
  /// - Returns: True if all could be read.
  @discardableResult
  mutating func scan(
    _ database: Database, _ sql: String, _ body: (inout SalvagedOutbox, Statement) -> Void
  ) -> Bool {
    do {
      try database.forEachRow(sql) {
        body(&self, $0)
        return true
      }
      return true
    } catch {
      return false
    }
  }
}
