import Foundation
import HearthModel
import HearthStore
import TestSupport
import Testing

@testable import HearthCache

/// Batches that cannot be sent and belong to no user are kept if their bytes are left, and counted if not.
@Suite("Batches that are kept and not sent")
struct SetAsideTests {
  /// Five batches: a waiting one, one that was set aside without a user, a refused one that is sound, one that is damaged, and one of a user
  /// whose row is gone.
  private func makeCache() throws -> TestCache {
    let cache = try TestCache(.file)
    let ids = try (1...5).map { try cache.store.write(.set(key("rooms/\($0)"), ["n": .integer(Int64($0))])).batchID }
    #expect(ids == [1, 2, 3, 4, 5])
    for id in ids[2...] { _ = try cache.store.reject(cache.store.batch(id), at: time(1)) }
    for statement in [
      """
      INSERT INTO cache_unreadable_batches (batch_id, user_id, batch, reason)
      SELECT batch_id, -1, batch, 'its user is not known' FROM cache_mutation_batches WHERE batch_id = 2
      """,
      "DELETE FROM cache_mutation_batches WHERE batch_id = 2",
      "DELETE FROM cache_batch_documents WHERE batch_id = 2",
      "UPDATE cache_rejected_batches SET batch = X'0801FF' WHERE batch_id = 4",
      "UPDATE cache_rejected_batches SET user_id = 77 WHERE batch_id = 5",
    ] { try cache.database.execute(statement) }
    return cache
  }

  private func rows(_ database: Database, _ table: String) throws -> [String] {
    var rows: [String] = []
    try database.forEachRow(
      "SELECT batch_id || ' ' || user_id || ' ' || length(batch) FROM \(table) ORDER BY batch_id"
    ) {
      rows.append(try $0.string(at: 0))
      return true
    }
    return rows
  }

  private func listed(_ folder: TemporaryFolder) throws -> (outbox: [String], rejected: [String]) {
    try CacheInspection.read(folder: folder.path) { cache in
      var (outbox, rejected): ([String], [String]) = ([], [])
      try cache.forEachPendingBatch {
        outbox.append("\($0.batchID) \($0.owner.inWords)\($0.isSetAside ? " set aside" : "")")
        return true
      }
      try cache.forEachRejectedBatch {
        rejected.append("\($0.batchID) \($0.owner.inWords)")
        return true
      }
      return (outbox, rejected)
    }
  }

  @Test("are saved from a damaged file as often as it is damaged, counted in the report, and listed")
  func salvage() throws {
    let cache = try makeCache()
    let before = try rows(cache.database, "cache_unreadable_batches")
    #expect(before.count == 1)
    for round in 1...3 {
      try cache.database.execute("DROP TABLE cache_targets")
      cache.close()
      let opened = try CacheFile.open(folder: cache.folder.path, databaseID: TestCache.databaseID)
      let recovery = try #require(opened.recovery)
      #expect(recovery.savedBatchCount == 1 && recovery.isOutboxComplete && recovery.areRejectedComplete)
      #expect(recovery.lostBatchCount == 0 && recovery.lostRejectedBatchCount == 0)
      #expect(recovery.setAsideBatchCount == (round == 1 ? 1 : 2), "\(recovery)")
      #expect(recovery.savedRejectedBatchCount == 2 && recovery.setAsideRejectedBatchCount == (round == 1 ? 1 : 0))
      #expect(recovery.description.contains("`hearth cache outbox`"))
      opened.close()
      try cache.restart()
      #expect(try rows(cache.database, "cache_unreadable_batches") == before + ["4 -1 3"])
      #expect(try rows(cache.database, "cache_rejected_batches").map { String($0.prefix(4)) } == ["3 1 ", "5 -1"])
      #expect(try cache.store.pendingBatches().map(\.batchID) == [1])
      #expect(try cache.store.outbox.rejectedBatches(of: nil).map(\.batch.batchID) == [3])
    }
    #expect(try cache.store.write(.set(key("rooms/new"), [:])).batchID == 6)
    cache.close()
    let (outbox, rejected) = try listed(cache.folder)
    #expect(
      outbox == ["1 (signed out)", "6 (signed out)", "2 (unknown) set aside", "4 (unknown) set aside"], "\(outbox)")
    #expect(rejected == ["3 (signed out)", "5 (unknown)"])
    #expect(try CacheInspection.read(folder: cache.folder.path) { try $0.overview().setAsideBatchCount } == 2)
  }

  @Test("are counted as lost in the report where nothing of them is left")
  func lost() throws {
    let cache = try makeCache()
    for statement in [
      "UPDATE cache_unreadable_batches SET batch = NULL", "UPDATE cache_rejected_batches SET batch = X''",
      "DROP TABLE cache_targets",
    ] { try cache.database.execute(statement) }
    cache.close()
    let opened = try CacheFile.open(folder: cache.folder.path, databaseID: TestCache.databaseID)
    defer { opened.close() }
    let recovery = try #require(opened.recovery)
    #expect(recovery.lostBatchCount == 1 && recovery.lostRejectedBatchCount == 3, "\(recovery)")
    #expect(recovery.description.contains("; lost: 1") && recovery.description.contains("; lost: 3"))
  }

  @Test("with the number of another one that is set aside get a number of their own")
  func sameNumber() throws {
    let cache = try makeCache()
    try cache.database.execute("UPDATE cache_unreadable_batches SET batch_id = 4")
    try cache.database.execute("DROP TABLE cache_targets")
    try cache.restart()
    #expect(try rows(cache.database, "cache_unreadable_batches").map { String($0.prefix(1)) } == ["4", "6"])
    #expect(try cache.store.write(.set(key("rooms/new"), [:])).batchID == 7)
    cache.close()
  }

  @Test("are found without the list of tables, also where nothing waits", arguments: [false, true])
  func withoutListOfTables(isRewritten: Bool) throws {
    let cache = try makeCache()
    _ = try cache.store.withdraw(1, evenIfSent: true, .rejected, at: time(1))
    if isRewritten { try cache.database.rewrite() }
    cache.close()
    // The rows of the list of tables, behind the header of the file.
    let handle = try #require(FileHandle(forWritingAtPath: cache.folder.file(CacheFile.fileName)))
    try handle.seek(toOffset: 100)
    try handle.write(contentsOf: Data(repeating: 0xAB, count: 8_000))
    try handle.close()
    try cache.restart()
    #expect(try rows(cache.database, "cache_unreadable_batches").map { String($0.prefix(4)) } == ["2 -1", "4 -1"])
    #expect(try rows(cache.database, "cache_rejected_batches").count == 2)
    cache.close()
  }

  @Test("are counted in the report of a repair, and no later user gets them")
  func repair() throws {
    let cache = try makeCache()
    defer { cache.close() }
    var reports: [String] = []
    cache.store.repaired = { reports.append($0) }
    for statement in [
      "INSERT INTO cache_write_outcomes VALUES (1, X'00', 0, 'x', '', X'')",
      "INSERT INTO cache_pinned_queries VALUES (9, X'FF', 0)",
      "UPDATE cache_globals SET highest_batch_id = 0",
    ] { try cache.database.execute(statement) }
    try cache.store.transactions.repairing { try cache.store.tables.globals.checkBatchCounter() }
    let report = try #require(reports.first)
    for part in [
      "1 unreadable refused batches set aside", "1 refused or set aside batches of unknown users kept",
      "1 outcomes of writes lost", "1 pinned queries lost",
    ] { #expect(report.contains(part), "\(report)") }
    #expect(try rows(cache.database, "cache_unreadable_batches").map { String($0.prefix(4)) } == ["2 -1", "4 -1"])
    #expect(try rows(cache.database, "cache_rejected_batches").map { String($0.prefix(4)) } == ["3 1 ", "5 -1"])
  }

  @Test("and belong to a user whose row is gone are not those of a new one who would get the number")
  func numberGivenAgain() throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    _ = try cache.store.changeUser("alice")
    let batchID = try cache.store.write(.set(key("rooms/a"), [:])).batchID
    _ = try cache.store.reject(cache.store.batch(batchID), at: time(1))
    try cache.database.execute("DELETE FROM cache_users")
    _ = try cache.store.changeUser("bob")
    #expect(throws: StoreError.self) { try cache.store.write(.set(key("rooms/b"), [:])) }
    guard case .fileIsDamaged? = cache.store.reopening else {
      Issue.record("\(String(describing: cache.store.reopening))")
      return
    }
    try cache.database.execute("DROP TABLE cache_targets")
    try cache.restart(user: "bob")
    try cache.store.write(.set(key("rooms/b"), [:]))
    #expect(try cache.store.outbox.rejectedBatches(of: "bob").isEmpty)
    #expect(try rows(cache.database, "cache_rejected_batches").map { String($0.prefix(4)) } == ["1 -1"])
  }

  @Test("keep a cache from being deleted without a flag")
  func clear() throws {
    let cache = try makeCache()
    _ = try cache.store.withdraw(1, evenIfSent: true, .rejected, at: time(1))
    cache.close()
    let refusal = try inspectionError {
      _ = try CacheMaintenance.clear(
        folder: cache.folder.path, discardsPendingWrites: false, discardsRejectedWrites: true)
    }
    #expect(
      refusal == .pendingWrites(folder: cache.folder.path, count: WriteCount(batches: 1, unreadableBatches: 1)))
    #expect(FileManager.default.fileExists(atPath: cache.folder.file(CacheFile.fileName)))
  }

  @Test("count as sent when a later release puts them back into the queue of a saved outbox")
  func mark() throws {
    let cache = try TestCache(.file)
    let batchID = try cache.store.write(.set(key("rooms/a"), [:])).batchID
    for statement in [
      "CREATE TABLE before AS SELECT batch FROM cache_mutation_batches",
      "UPDATE cache_mutation_batches SET batch = X'0801FF'",
    ] { try cache.database.execute(statement) }
    #expect(try cache.store.setAsideUnreadableBatches().batches.count == 1)
    let bytes = try #require(try cache.database.firstRow("SELECT hex(batch) FROM before") { try $0.string(at: 0) })
    try cache.database.execute("DROP TABLE cache_targets")
    try cache.restart()
    try cache.database.execute("UPDATE cache_unreadable_batches SET batch = X'\(bytes)'")
    try cache.restart()
    #expect(try cache.store.pendingBatches().map(\.batchID) == [batchID])
    #expect(throws: CacheError.batchMayBeSent(batchID)) {
      try cache.store.withdraw(batchID, evenIfSent: false, .rejected, at: time(1))
    }
    cache.close()
  }
}
