internal import HearthModel
internal import HearthStore
internal import HearthWire

/// Repairs the rows of a cache in one transaction that reads the whole cache.
///
/// | rows | treatment of damaged ones |
/// |---|---|
/// | documents, collections | removed, and the tokens of the targets that hold them dropped: the backend sends them again |
/// | targets | removed; the next listen begins without a token |
/// | documents of targets | removed with the token of the target |
/// | uses of documents | rebuilt from what refers to the documents |
/// | users | removed if their key is damaged |
/// | batches | the owner is taken from `cache_batch_documents`; contents are never changed here |
/// | sent marks | all pending batches count as sent; marks of removed users apply to users who come later |
/// | refused batches | unreadable ones go to `cache_unreadable_batches`, without a user |
/// | refused batches, unreadable batches | kept without a user if that user is unknown |
/// | attempts, outcomes, resolved conflicts | removed |
/// | batches by document, overlays | rebuilt from the queue |
/// | indexes | emptied and filled again; definitions that cannot be read are removed |
/// | bundles, named queries, pinned queries | removed |
/// | counters | raised above the numbers in the rows |
/// | clients, notices, the lease | reset, see `ClientRepair` |
///
/// No batch is ever removed. ``Report`` counts lost rows and rows set aside.
struct CacheRepair {
  struct Report: CustomStringConvertible {
    var removedDocumentCount = 0
    var removedTargetCount = 0
    var removedKeyCount = 0
    var droppedTokenCount = 0
    /// Users whose key names none.
    var removedUserCount = 0
    /// Pending batches whose user is not known, with the number in their row.
    var setAsideBatches: [(batchID: BatchID, user: MutationQueue.UserRow)] = []
    /// Refused batches, and batches that were set aside before, whose user turned out to be unknown.
    var ownerlessBatchCount = 0
    /// Refused batches that cannot be read.
    var setAsideRejectedCount = 0
    var lostOutcomeCount = 0
    var lostConflictCount = 0
    var lostBundleCount = 0
    var lostNamedQueryCount = 0
    var lostPinCount = 0
    var lostBaseCount = 0
    /// True if the target of a client was removed from those in use.
    var hasRemovedUsedTargets = false

    /// True if a target has lost something that its listeners rely on.
    var concernsTargets: Bool {
      removedDocumentCount > 0 || removedTargetCount > 0 || removedKeyCount > 0 || droppedTokenCount > 0
        || hasRemovedUsedTargets
    }

    var description: String {
      let parts = [
        (removedDocumentCount, "documents removed"), (removedTargetCount, "targets removed"),
        (removedKeyCount, "entries of targets removed"), (droppedTokenCount, "resume tokens dropped"),
        (removedUserCount, "users with a damaged key removed"),
        (setAsideBatches.count, "pending batches of unknown users set aside"),
        (setAsideRejectedCount, "unreadable refused batches set aside"),
        (ownerlessBatchCount, "refused or set aside batches of unknown users kept"),
        (lostOutcomeCount, "outcomes of writes lost"),
        (lostConflictCount, "reports of resolved conflicts lost"),
        (lostBaseCount, "base documents of pending writes lost"),
        (lostPinCount, "pinned queries lost"), (lostBundleCount, "bundles lost"),
        (lostNamedQueryCount, "named queries lost"),
      ]
      let done = parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" } + ["overlays and indexes rebuilt"]
      return done.joined(separator: ", ")
    }
  }

  private let tables: CacheTables
  private let database: Database
  private var report = Report()

  private init(_ tables: CacheTables) {
    self.tables = tables
    database = tables.database
  }

  /// Inside a transaction.
  static func run(on transactions: CacheTransactions) throws -> Report {
    var repair = CacheRepair(transactions.tables)
    try repair.tables.queue.checkIndexOfUsers()
    try repair.tables.queue.checkIndexOfBatches()
    try repair.repairDocuments()
    try repair.repairTargets()
    try repair.repairTargetDocuments()
    try repair.repairBundles()
    try repair.repairQueue()
    try repair.repairOutcomes()
    if !transactions.isEager { try repair.repairUses() }
    try repair.tables.globals.repair()
    repair.report.lostConflictCount = try repair.tables.resolved.repair()
    try repair.repairClients(transactions.sharing)
    transactions.user.forgetRow()
    return repair.report
  }

  private mutating func repairClients(_ sharing: ClientSharing) throws {
    let repair = ClientRepair(sharing)
    guard sharing.isShared, try repair.isNeeded() else { return }
    report.hasRemovedUsedTargets = try repair.run()
  }

  // MARK: Documents and targets

  private mutating func repairDocuments() throws {
    try tables.documents.indexes.startOver()
    let removed = try tables.documents.removeDamaged()
    report.removedDocumentCount = removed.count
    guard removed.count > 0 else { return }
    guard removed.areAllKnown else { return try dropTokens("TRUE") }
    for key in removed.keys.sorted() {
      try dropTokens(
        "target_id IN (SELECT target_id FROM cache_target_documents WHERE path = ?)", .text(key.canonicalString))
    }
  }

  /// Without a token the backend sends the whole result again, so the keys may stay.
  private mutating func dropTokens(_ condition: String, _ parameters: Statement.Parameter...) throws {
    try dropTokens(condition, parameters)
  }

  private mutating func dropTokens(_ condition: String, _ parameters: [Statement.Parameter]) throws {
    try database.update(
      """
      UPDATE cache_targets SET resume_token = x'', snapshot_seconds = 0, snapshot_nanos = 0,
        limbo_free_seconds = 0, limbo_free_nanos = 0
      WHERE \(condition)
      """, parameters)
    report.droppedTokenCount += database.changedRowCount
  }

  private mutating func repairTargets() throws {
    var damaged: [Int64] = []
    try tables.targets.forEachDamaged { damaged.append($0) }
    for number in damaged {
      try database.update("DELETE FROM cache_target_documents WHERE target_id = ?", .integer(number))
      try database.update("DELETE FROM cache_targets WHERE target_id = ?", .integer(number))
    }
    report.removedTargetCount = damaged.count
  }

  private mutating func repairTargetDocuments() throws {
    // Which target an entry without a number belonged to is not known.
    let isLost = "typeof(target_id) <> 'integer'"
    let lost = try database.firstRow("SELECT 1 FROM cache_target_documents WHERE \(isLost) LIMIT 1") { _ in true }
    if lost != nil { try dropTokens("TRUE") }
    try removeEntries(isLost)
    try removeEntries("typeof(path) <> 'text'")
    for path in try unreadablePaths(in: "cache_target_documents") {
      try removeEntries("path = CAST(? AS TEXT)", .blob(path))
    }
    try database.update(
      "UPDATE cache_target_documents SET sequence_number = 0 WHERE typeof(sequence_number) <> 'integer'")
    // Leftover keys of a target that is gone would keep their documents in the cache.
    try database.update(
      """
      DELETE FROM cache_target_documents WHERE target_id NOT IN (SELECT target_id FROM cache_targets)
        AND target_id NOT IN (SELECT target_id FROM cache_removed_targets)
      """)
  }

  private mutating func removeEntries(_ condition: String, _ parameters: Statement.Parameter...) throws {
    try dropTokens(
      "target_id IN (SELECT target_id FROM cache_target_documents WHERE \(condition))", parameters)
    try database.update("DELETE FROM cache_target_documents WHERE \(condition)", parameters)
    report.removedKeyCount += database.changedRowCount
  }

  /// The bytes of texts in the column `path` that are no path of a document.
  private func unreadablePaths(in table: String) throws -> Set<[UInt8]> {
    var paths: Set<[UInt8]> = []
    try database.forEachRow("SELECT path FROM \(table) WHERE typeof(path) = 'text'") { row in
      if (try? row.documentKey(at: 0, table: table)) == nil {
        try row.withUTF8(at: 0) { _ = paths.insert([UInt8]($0)) }
      }
      return true
    }
    return paths
  }

  private mutating func repairBundles() throws {
    var bundles: [String] = []
    try database.forEachRow("SELECT bundle_id FROM bundles WHERE typeof(bundle_id) = 'text'") {
      if let id = try? $0.string(at: 0) { bundles.append(id) }
      return true
    }
    for id in bundles where (try? tables.bundles.createTime(of: id)) == nil {
      try database.update("DELETE FROM bundles WHERE bundle_id = ?", .text(id))
      report.lostBundleCount += 1
    }
    var names: [String] = []
    try database.forEachRow("SELECT name FROM named_queries WHERE typeof(name) = 'text'") {
      if let name = try? $0.string(at: 0) { names.append(name) }
      return true
    }
    for name in names where (try? tables.bundles.query(named: name)) == nil {
      try database.update("DELETE FROM named_queries WHERE name = ?", .text(name))
      report.lostNamedQueryCount += 1
    }
    for number in try tables.pins.unreadable() {
      try database.update("DELETE FROM cache_pinned_queries WHERE pin_id = ?", .integer(number))
      report.lostPinCount += 1
    }
  }

  // MARK: The queue and what is derived from it

  private mutating func repairQueue() throws {
    report.removedUserCount = try tables.queue.removeUnreadableUsers()
    (report.setAsideBatches, report.ownerlessBatchCount) = try tables.queue.repairOwners()
    let overlaid = try tables.queue.rebuildDocuments()
    try database.update("DELETE FROM cache_overlays")
    for (user, keys) in overlaid.sorted(by: { $0.key < $1.key }) {
      _ = try tables.localDocuments.recalculate(tables.localDocuments.remoteDocuments(for: keys), user: user)
    }
  }

  private mutating func repairOutcomes() throws {
    // A mark is never lowered: a process with the connection may send up to it without another look. A mark that cannot be read was at most
    // one reservation ahead.
    try database.update(
      """
      INSERT OR REPLACE INTO cache_sent_marks (user_id, through)
      SELECT u.user_id, CASE
        WHEN m.through IS NULL THEN max(coalesce(max(b.batch_id), 0), coalesce(r.through, 0))
        WHEN \(CountedNumber.condition("m.through")) THEN max(m.through, coalesce(max(b.batch_id), 0))
        ELSE coalesce(max(b.batch_id), 0) + \(SentMarks.reservation) END
      FROM cache_users AS u
      LEFT JOIN cache_sent_marks AS m ON m.user_id = u.user_id
      LEFT JOIN cache_sent_marks AS r ON r.user_id = \(MutationQueue.unknownUser) AND \(CountedNumber.condition("r.through"))
      LEFT JOIN cache_mutation_batches AS b
        ON b.user_id = u.user_id AND b.batch_id < \(CountedNumber.limit)
      GROUP BY u.user_id
      """)
    try tables.sentMarks.inheritMarksOfRemovedUsers()
    if (try? tables.sentMarks.attempts()) == nil { try database.update("DELETE FROM cache_write_attempts") }
    for id in try tables.rejected.unreadable() {
      try tables.queue.setAside(
        id, from: "cache_rejected_batches", owner: MutationQueue.unknownUser, reason: RejectedBatchTable.damagedReason)
      report.setAsideRejectedCount += 1
    }
    for number in try tables.outcomes.unreadable() {
      try database.update("DELETE FROM cache_write_outcomes WHERE number = ?", .integer(number))
      report.lostOutcomeCount += 1
    }
    try tables.queue.rebuildReceipts()
    try database.update("DELETE FROM cache_base_documents WHERE typeof(path) <> 'text'")
    report.lostBaseCount += database.changedRowCount
    for path in try unreadablePaths(in: "cache_base_documents") {
      try database.update("DELETE FROM cache_base_documents WHERE path = CAST(? AS TEXT)", .blob(path))
      report.lostBaseCount += database.changedRowCount
    }
    report.lostBaseCount += try tables.bases.repair()
  }

  private func repairUses() throws {
    try database.update("DELETE FROM cache_document_uses WHERE typeof(path) <> 'text'")
    for path in try unreadablePaths(in: "cache_document_uses") {
      try database.update("DELETE FROM cache_document_uses WHERE path = CAST(? AS TEXT)", .blob(path))
    }
    try database.update(
      """
      UPDATE cache_document_uses SET sequence_number = 0
      WHERE typeof(sequence_number) <> 'integer' OR sequence_number < 0 OR sequence_number >= 1 << 62
      """)
    // A document without any mark would stay permanently.
    try database.update(
      """
      INSERT OR IGNORE INTO cache_document_uses (path, sequence_number, is_unneeded)
      SELECT c.path || '/' || d.id, 0, 0 FROM documents AS d JOIN collections AS c ON c.number = d.collection
      """)
    try database.update("UPDATE cache_document_uses SET is_unneeded = \(DocumentUses.isUnneeded)")
  }
}
