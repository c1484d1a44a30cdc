internal import Foundation
package import HearthModel
internal import HearthStore

/// The result of checking every page and every row of a cache.
package struct CacheCheckReport: Equatable, Sendable {
  /// Damage, in words; empty for a cache in order. At most a hundred.
  package var problems: [String] = []
  /// Documents whose row could be read.
  package var readableDocumentCount = 0
  /// The pending writes that a recovery would save, of all users.
  package var saved = WriteCount()
  /// The refused writes that a recovery would save, of all users.
  package var savedRejected = WriteCount()
  /// Refused writes that a recovery would keep without being able to list them, or not find.
  package var unreadableRejectedBatchCount = 0
  /// False if there may be refused writes that could not be read.
  package var isRejectedComplete = true
  /// Batches that a recovery would keep for a release that can read them, or not find.
  package var unreadableBatchCount = 0
  /// False if a part of the outbox could not be looked through, so that more may be lost than was counted.
  package var isOutboxComplete = true

  package var isSound: Bool { problems.isEmpty }

  /// The result in a sentence or two, with what to do.
  package var summary: String {
    let documents = CountedText.of(readableDocumentCount, "document")
    guard !isSound else { return "The cache is in order: \(documents); waiting for the backend: \(saved)." }
    let places = problems.count == 1 ? "one place" : "\(problems.count) places"
    let unreadable = CountedText.of(unreadableBatchCount, "more batch", plural: "more batches")
    var lost = unreadableBatchCount > 0 ? "; \(unreadable) cannot be read and will be kept aside" : ""
    if !isOutboxComplete { lost += "; part of the outbox could not be looked through" }
    return
      "The cache is damaged, in \(places) or more; \(documents) can be read. Start the program that owns it: that repairs the "
      + "cache, and saves \(saved) that wait for the backend\(lost)."
  }

  package var json: JSONText {
    .object([
      ("isSound", .bool(isSound)), ("summary", .string(summary)), ("problems", .array(problems.map { .string($0) })),
      ("readableDocuments", .integer(readableDocumentCount)),
      (
        "outbox",
        .object([
          ("wouldBeSaved", .integer(saved.batches)), ("writesWouldBeSaved", .integer(saved.writes)),
          ("rejectedWouldBeSaved", .integer(savedRejected.batches)), ("unreadable", .integer(unreadableBatchCount)),
          ("rejectedUnreadable", .integer(unreadableRejectedBatchCount)), ("isComplete", .bool(isOutboxComplete)),
          ("areRejectedComplete", .bool(isRejectedComplete)),
        ])
      ),
    ])
  }
}

/// Checks a cache for damage, and determines what a recovery would save. Changes nothing.
package enum CacheCheck {
  package enum Step: String, Sendable {
    case pages = "Checking pages"
    case documents = "Reading documents"
    case outbox = "Reading the outbox"
  }

  private static let problemLimit = 100
  private static let documentsPerReport = 1_000

  /// - Parameter progress: called with the step, what is done of it and, if it is known, how much there is.
  /// - Throws: ``CacheInspectionError`` for a folder without a cache, or one of another release or without permission; damage is
  ///   part of the result instead.
  package static func run(
    folder: String, progress: (_ step: Step, _ done: Int, _ total: Int?) -> Void = { _, _, _ in }
  ) throws -> CacheCheckReport {
    let files = CacheFiles(folder: folder)
    var report = CacheCheckReport()
    var databaseID: DatabaseID?
    let log = files.damagedLog
    do {
      (report, databaseID) = try CacheInspection.read(folder: folder) { try check($0, progress) }
    } catch CacheInspectionError.damaged(_, let reason) {
      report.problems = [reason]
    } catch CacheInspectionError.unfinished where log != nil {
      // Its tables lie behind the damage.
    }
    if let reason = files.markedDamage { report.problems.append("A client has found damage: \(reason)") }
    if let log { report.problems.append(log.reason) }
    report.problems = report.problems.prefix(problemLimit).map(CacheInspectionError.withoutAdvice)
    progress(.outbox, 0, nil)
    try addOutbox(of: files, databaseID, to: &report)
    // SQLite reads nothing of what lies behind the damage.
    if log != nil { (report.isOutboxComplete, report.isRejectedComplete) = (false, false) }
    return report
  }

  private static func check(
    _ cache: CacheInspection, _ progress: (Step, Int, Int?) -> Void
  ) throws -> (CacheCheckReport, DatabaseID?) {
    var report = CacheCheckReport()
    func note(_ body: () throws -> Void) throws {
      do { try body() } catch {
        guard let damage = CacheDamage(error) else { throw error }
        if report.problems.count < problemLimit { report.problems.append(damage.reason) }
      }
    }
    progress(.pages, 0, nil)
    try note {
      // SQLite puts many faults into one text.
      report.problems += try cache.database.integrityProblems().flatMap { $0.split(separator: "\n").map(String.init) }
        .filter { !$0.hasPrefix("*** in database") }
    }
    try note { try cache.globals.check() }
    let everything = CollectionScope.everything(under: ResourcePath())
    var total: Int?
    try note { total = try cache.documents.estimatedDocumentCount(in: everything) }
    var looked = 0
    try note {
      try cache.documents.forEach(in: everything) { stored in
        looked += 1
        if looked.isMultiple(of: documentsPerReport) { progress(.documents, looked, total) }
        try note {
          _ = try stored.document()
          report.readableDocumentCount += 1
        }
        return true
      }
    }
    try note {
      try cache.database.forEachRow("SELECT target_id FROM cache_targets ORDER BY target_id") { row in
        try note {
          let number = try row.int64(at: 0)
          guard let targetID = TargetID(exactly: number) else {
            throw CacheError.corruptRecord(table: "cache_targets", row: "\(number)", reason: "a target id has 32 bits")
          }
          _ = try cache.targets.targetData(targetID)
        }
        return true
      }
    }
    try note {
      try cache.forEachPendingBatch { entry in
        if case .unreadable(let reason) = entry.contents, report.problems.count < problemLimit {
          report.problems.append("Batch \(entry.batchID) of the outbox cannot be read: \(reason)")
        }
        return true
      }
    }
    try note {
      guard let databaseID = cache.databaseID else { return }
      let conflicts = ResolvedConflictTable(database: cache.database, databaseID: databaseID)
      for row in try conflicts.unreadable() where report.problems.count < problemLimit {
        report.problems.append("Row \(row) of cache_resolved_conflicts cannot be read.")
      }
    }
    return (report, cache.databaseID)
  }

  /// Reads the outbox like a recovery, which looks into every page where the tables are damaged.
  private static func addOutbox(of files: CacheFiles, _ known: DatabaseID?, to report: inout CacheCheckReport) throws {
    guard let databaseID = try known ?? databaseID(in: files) else {
      // A sound cache without a name has no writes.
      (report.isOutboxComplete, report.isRejectedComplete) = (report.isSound, report.isSound)
      return
    }
    let hasLog = FileManager.default.fileExists(atPath: files.main + "-wal")
    let outbox = SalvagedOutbox(reading: files.main, databaseID: databaseID, isImmutable: !hasLog)
    report.saved = WriteCount(outbox.batches.map(\.batch))
    report.savedRejected = WriteCount(outbox.rejected, in: databaseID)
    report.unreadableRejectedBatchCount = outbox.unreadableRejectedCount
    report.isRejectedComplete = outbox.isRejectedComplete
    report.unreadableBatchCount = outbox.unreadableBatchCount
    report.isOutboxComplete = outbox.isComplete && outbox.hasTables
  }

  private static let chunkBytes = 1 << 20
  /// More than the name of a project and a database take.
  private static let nameBytes = 1_000

  /// Looks for the name of a document in the whole file.
  private static func databaseID(in files: CacheFiles) throws -> DatabaseID? {
    guard let file = try? FileHandle(forReadingFrom: URL(fileURLWithPath: files.main)) else { return nil }
    defer { try? file.close() }
    let beginning = Data("projects/".utf8)
    var rest = Data()
    while let chunk = try? file.read(upToCount: chunkBytes), !chunk.isEmpty {
      let bytes = rest + chunk
      var place = bytes.startIndex
      while let found = bytes.range(of: beginning, in: place..<bytes.endIndex) {
        if let id = CacheInspection.databaseID(in: Array(bytes[found.lowerBound...].prefix(nameBytes))) { return id }
        place = found.upperBound
      }
      // A name may lie across two chunks.
      rest = Data(bytes.suffix(nameBytes))
    }
    return nil
  }
}
