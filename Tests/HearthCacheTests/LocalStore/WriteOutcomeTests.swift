import Foundation
import HearthModel
import HearthStore
import Testing

@testable import HearthCache

/// The knowledge of the cache about writes beyond their contents.
@Suite("Outcomes of writes")
struct WriteOutcomeTests {
  private let cancelled = StatusError(code: .cancelled, message: "cancelled")

  private func increment(_ by: Int64) -> Mutation {
    .patch(
      key("rooms/a"), [:], mask: .empty,
      transforms: [FieldTransform(path: field("n"), operation: .increment(.integer(by)))])
  }

  private func write(_ cache: TestCache, _ mutation: Mutation, _ number: UInt64) throws -> MutationBatch {
    let write = LocalWrite(
      mutations: [mutation], localWriteTime: time(1), identity: BatchIdentity(high: 7, low: number), keepsOutcome: true)
    return try #require(try cache.store.write(many: [write]).first).batch
  }

  @Test("increments behind a write that is taken back start from what is left", arguments: Backing.allCases)
  func baseValues(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    try cache.store.receive(found("rooms/a", 1, ["n": .integer(10)]), at: 1)
    let first = try cache.store.write(increment(5)).batchID
    try cache.store.write(increment(3))
    #expect(try cache.store.read("rooms/a").values?["n"] == .integer(18))
    _ = try cache.store.withdraw(first, evenIfSent: false, cancelled, at: time(2))
    #expect(try cache.store.read("rooms/a").values?["n"] == .integer(13))
    // The base value is in the queue, not only in the overlay.
    try cache.store.receive(found("rooms/a", 2, ["n": .integer(100)]), at: 2)
    #expect(try cache.store.read("rooms/a").values?["n"] == .integer(13))
    try cache.restart()
    #expect(try cache.store.read("rooms/a").values?["n"] == .integer(13))
  }

  @Test(
    "a write that may have been sent is not taken back, also after a restart; later ones are",
    arguments: Backing.allCases)
  func sent(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    let first = try cache.store.write(.set(key("rooms/a"), ["n": .integer(1)])).batchID
    let second = try cache.store.write(.set(key("rooms/b"), ["n": .integer(2)])).batchID
    #expect(try cache.store.noteSending(first, reserving: 100) == (0, first + 100))
    #expect(try cache.store.noteSending(second, reserving: 100) == (first + 100, first + 100))
    #expect(throws: CacheError.batchMayBeSent(second)) {
      _ = try cache.store.withdraw(second, evenIfSent: false, cancelled, at: time(2))
    }
    try cache.store.noteSendingEnded(at: first, reserved: first + 100, of: .activeUser)
    try cache.restart()
    #expect(throws: CacheError.batchMayBeSent(first)) {
      _ = try cache.store.withdraw(first, evenIfSent: false, cancelled, at: time(2))
    }
    #expect(try cache.store.pendingBatchCount() == 2)
    _ = try cache.store.withdraw(second, evenIfSent: false, cancelled, at: time(2))
    #expect(try cache.store.pendingBatches().map(\.batchID) == [first])
    _ = try cache.store.withdraw(first, evenIfSent: true, cancelled, at: time(2))
    #expect(try cache.store.pendingBatchCount() == 0)
    #expect(throws: CacheError.unknownBatch(first, user: nil)) {
      _ = try cache.store.withdraw(first, evenIfSent: true, cancelled, at: time(2))
    }
  }

  @Test(
    "the outcome of a write with a receipt is found by its identity, after a restart too", arguments: Backing.allCases)
  func outcomes(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    let committed = try write(cache, increment(5), 1)
    let refused = try write(cache, .set(key("rooms/b"), [:]), 2)
    let withdrawn = try write(cache, .set(key("rooms/c"), [:]), 3)
    let plain = try cache.store.write(.set(key("rooms/d"), [:])).batchID
    let identities = [committed, refused, withdrawn].compactMap(\.identity)
    #expect(
      try identities.map(cache.store.outbox.fate) == [committed, refused, withdrawn].map { .pending($0.batchID) })
    let results = [MutationResult(version: version(5), transformResults: [.integer(15)])]
    _ = try cache.store.acknowledge(
      MutationBatchResult(batch: committed, commitVersion: version(5), results: results), at: time(9))
    _ = try cache.store.reject(refused, .rejected, at: time(9))
    _ = try cache.store.withdraw(withdrawn.batchID, evenIfSent: false, cancelled, at: time(9))
    try cache.restart()
    #expect(
      try identities.map(cache.store.outbox.fate) == [
        .ended(.committed(version(5), results)), .ended(.failed(.rejected)), .ended(.failed(cancelled)),
      ])
    #expect(try cache.store.pendingBatches().map(\.batchID) == [plain])
    #expect(try cache.store.outbox.fate(of: BatchIdentity(high: 8, low: 1)) == .unknown)
  }

  @Test("a receipt is found without a look through the outbox, for writes that wait, have ended, or were never made")
  func steps() throws {
    func steps(outbox count: UInt64) throws -> Int {
      let cache = try TestCache(.file)
      defer { cache.close() }
      for number in 1...count { _ = try write(cache, .set(key("rooms/\(number)"), [:]), number) }
      try cache.restart()
      var steps = 0
      cache.database.onProgress(everyInstructions: 1) {
        steps += 1
        return false
      }
      for number in [1, count, count + 1] {
        let fate = try cache.store.outbox.fate(of: BatchIdentity(high: 7, low: number))
        #expect(fate == (number > count ? .unknown : .pending(BatchID(number))))
      }
      return steps
    }
    #expect(try steps(outbox: 200) <= steps(outbox: 10) + 20)
  }

  @Test("a receipt is found again after its row was damaged, and after the outbox was saved from a damaged file")
  func damagedReceipts() throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    _ = try write(cache, .set(key("rooms/a"), [:]), 1)
    let identity = BatchIdentity(high: 7, low: 1)
    try cache.database.execute("UPDATE cache_receipts SET batch_id = 'x'")
    _ = try? cache.store.outbox.fate(of: identity)
    #expect(try cache.store.outbox.fate(of: identity) == .pending(1))
    let saved = SalvagedOutbox(reading: cache.folder.file("cache.sqlite"), databaseID: TestCache.databaseID)
    let copy = try Database(.memory)
    defer { copy.close() }
    try saved.save(to: copy, databaseID: TestCache.databaseID)
    let store = try LocalStore(
      database: copy, databaseID: TestCache.databaseID, garbageCollection: TestCache.lru, user: nil, newCacheID: "copy")
    #expect(try store.outbox.fate(of: identity) == .pending(1))
    #expect(store.reopening == nil)
  }

  @Test(
    "what became of a write is known after the outbox was saved from a damaged file",
    arguments: ["DROP TABLE cache_targets", "DROP TABLE cache_targets; DELETE FROM cache_globals"])
  func damagedFile(statements: String) throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    _ = try write(cache, increment(1), 1)
    try cache.store.acknowledgeNext(at: 10)
    try withdraw(cache, 2, at: 20)
    _ = try write(cache, increment(1), 3)
    // A row that cannot be read goes; it would be one of another write, or of none.
    try withdraw(cache, 4, at: 20)
    try cache.database.execute("UPDATE cache_write_outcomes SET identity = X'01' WHERE number = 4")
    let fates = try (1...3).map { try cache.store.outbox.fate(of: BatchIdentity(high: 7, low: $0)) }
    for statement in statements.split(separator: ";") { try cache.database.execute(String(statement)) }
    try cache.restart()
    #expect(FileManager.default.fileExists(atPath: cache.folder.file("cache.sqlite.corrupt")))
    #expect(try (1...3).map { try cache.store.outbox.fate(of: BatchIdentity(high: 7, low: $0)) } == fates)
    #expect(try cache.store.outbox.fate(of: BatchIdentity(high: 7, low: 4)) == .unknown)
    // They age as before.
    let day = KeepingTime.longestStep
    for number in 1...29 { try withdraw(cache, UInt64(1000 + number), at: 20 + Int64(number) * day) }
    try withdraw(cache, 256, at: 20 + 29 * day)
    #expect(try hasOutcome(cache, 2))
    for number in 30...31 { try withdraw(cache, UInt64(1000 + number), at: 20 + Int64(number) * day) }
    try withdraw(cache, 512, at: 20 + 31 * day + 50)
    #expect(try !hasOutcome(cache, 2))
  }

  @Test("a batch that leaves the outbox takes its receipt's row along")
  func receiptRows() throws {
    let cache = try TestCache(.memory)
    let batches = try (1...3).map { try write(cache, .set(key("rooms/\($0)"), [:]), $0) }
    _ = try cache.store.withdraw(batches[0].batchID, evenIfSent: false, cancelled, at: time(2))
    _ = try cache.store.reject(batches[1])
    try cache.database.execute("UPDATE cache_mutation_batches SET batch = X'FF'")
    _ = try cache.store.setAsideUnreadableBatches()
    let rows = try cache.database.firstRow("SELECT count(*) FROM cache_receipts") { try $0.int64(at: 0) }
    #expect(rows == 0)
  }

  private func withdraw(_ cache: TestCache, _ number: UInt64, at seconds: Int64) throws {
    let batch = try write(cache, .set(key("rooms/a"), [:]), number)
    _ = try cache.store.withdraw(batch.batchID, evenIfSent: false, cancelled, at: time(seconds))
  }

  private func hasOutcome(_ cache: TestCache, _ number: UInt64) throws -> Bool {
    try cache.store.outbox.fate(of: BatchIdentity(high: 7, low: number)) == .ended(.failed(cancelled))
  }

  @Test("outcomes are kept for 30 days")
  func trimming() throws {
    let cache = try TestCache(.memory)
    let day = KeepingTime.longestStep
    #expect(OutcomeTable.maximumAgeSeconds == 30 * day)
    try withdraw(cache, 1, at: 0)
    try withdraw(cache, 2, at: 100)
    // Keeps one outcome on each day. The last day looks for old ones.
    for number in 1...30 { try withdraw(cache, UInt64(1000 + number), at: Int64(number) * day) }
    try withdraw(cache, 256, at: 30 * day + 50)
    #expect(try [1, 2, 256].map { try hasOutcome(cache, $0) } == [false, true, true])
  }

  @Test("of too many outcomes for other clients the oldest go, also in a cache that is hours old")
  func tooManyBriefOutcomes() throws {
    let cache = try TestCache(.memory)
    let table = OutcomeTable(database: cache.database, databaseID: DatabaseID(projectID: "p"))
    let globals = CacheGlobals(database: cache.database)
    try cache.database.transaction("outcomes") {
      // The newer, the higher: what goes is not chosen by the numbers.
      for number in 1...OutcomeTable.maximumCount + 512 {
        try table.insert(
          .failed(cancelled), for: BatchIdentity(high: 1, low: UInt64(number)), at: time(number), isBrief: true,
          globals)
      }
    }
    func isKept(_ number: Int64) throws -> Bool {
      try table.outcome(of: BatchIdentity(high: 1, low: UInt64(number))) != nil
    }
    let last = OutcomeTable.maximumCount + 512
    #expect(try isKept(last) && isKept(last - 300) && !isKept(1))
  }

  @Test(
    "a clock that is wrong for a while removes neither outcomes nor refused batches",
    arguments: [
      // A device that begins in 1970 at each start, until the network has told the time.
      Array(repeating: [0, 40, 1_795_000_000, 1_795_000_600], count: 32).joined().map { $0 },
      // One that was ten years ahead.
      [1_795_000_000, 2_110_000_000, 2_110_000_100, 1_795_000_200, 1_795_000_300],
      // One that goes back and forth by some hours, as where the clock is in local time until the network corrects it.
      Array(repeating: [1_795_000_000, 1_795_000_000 + 23 * 3600], count: 40).joined().map { $0 },
      // One that jumps.
      [1_795_000_000, .max, .min, 0, 2_110_000_000, 1_795_000_200],
    ] as [[Int64]])
  func wrongClock(readings: [Int64]) throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    var number: UInt64 = 0
    for seconds in readings {
      number += 1
      try withdraw(cache, number * 256, at: seconds)
      number += 1
      let batch = try write(cache, .set(key("rooms/b"), [:]), number * 256)
      _ = try cache.store.reject(batch, .rejected, at: time(seconds))
      if number.isMultiple(of: 8) { try cache.restart() }
    }
    #expect(try cache.store.outbox.rejectedBatches(of: nil).map(\.rejectedAt.seconds) == readings)
    for odd in stride(from: 1, through: number, by: 2) { #expect(try hasOutcome(cache, odd * 256)) }
  }

  @Test("refused batches go after their age, also when the clock was ahead before or begins in 1970 at each start")
  func ordinaryAgeing() throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    let (start, day) = (Int64(1_795_000_000), KeepingTime.longestStep)
    var readings: [Int64] = [start, start + 10 * 365 * day, start + 60]
    for number in 1...31 { readings.append(start + Int64(number) * day) }
    for (index, seconds) in readings.enumerated() {
      let batch = try write(cache, .set(key("rooms/b"), [:]), UInt64(index))
      _ = try cache.store.reject(batch, .rejected, at: time(seconds))
      if index.isMultiple(of: 7) { try cache.restart() }
    }
    var kept = try cache.store.outbox.rejectedBatches(of: nil).map(\.rejectedAt.seconds)
    #expect(!kept.contains(start) && kept.count > 25)
    // Another 31 days, each with a start in 1970.
    for number in 32...62 {
      for (part, seconds) in [Int64(number), start + 3650 * day + Int64(number) * day].enumerated() {
        let batch = try write(cache, .set(key("rooms/b"), [:]), UInt64(1000 + 2 * number + part))
        _ = try cache.store.reject(batch, .rejected, at: time(seconds))
      }
    }
    kept = try cache.store.outbox.rejectedBatches(of: nil).map(\.rejectedAt.seconds)
    #expect(Set(readings).isDisjoint(with: kept) && kept.count > 50)
  }

  @Test("the time by which batches age is saved with them, and goes on from them where it is lost")
  func savedTime() throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    for (number, damage) in ["DROP TABLE cache_targets", "DELETE FROM cache_globals"].enumerated() {
      for day in 1...20 {
        let batch = try write(cache, .set(key("rooms/b"), [:]), UInt64(100 * number + day))
        let days = Int64(20 * number + day)
        _ = try cache.store.reject(batch, .rejected, at: time(1_795_000_000 + days * KeepingTime.longestStep))
      }
      if number == 0 { #expect(try cache.store.outbox.rejectedBatches(of: nil).count == 20) }
      try cache.database.execute(damage)
      try cache.restart()
    }
    // Those of the last 30 days, and the one from which the time begins again counts as a day.
    #expect((30...32).contains(try cache.store.outbox.rejectedBatches(of: nil).count))
    let batch = try write(cache, .set(key("rooms/b"), [:]), 1000)
    _ = try cache.store.reject(batch, .rejected, at: time(1_795_000_000 + 41 * KeepingTime.longestStep))
    #expect((29...32).contains(try cache.store.outbox.rejectedBatches(of: nil).count))
  }

  // MARK: - Rejected batches

  @Test("refused batches are kept for their user, within the limits", arguments: Backing.allCases)
  func rejected(_ backing: Backing) throws {
    let cache = try TestCache(backing, user: "anna")
    cache.store.rejectedBatchLimits = RejectedBatchLimits(count: 2, ageSeconds: 100)
    for (index, seconds) in [Int64(10), 50, 105, 130].enumerated() {
      let batch = try write(cache, .set(key("rooms/\(index)"), ["n": .integer(Int64(index))]), UInt64(index))
      _ = try cache.store.reject(batch, .rejected, at: time(seconds))
      if index == 1 { #expect(try cache.store.outbox.rejectedBatches(of: "anna").count == 2) }
    }
    try cache.restart(user: "otto")
    let kept = try cache.store.outbox.rejectedBatches(of: "anna")
    #expect(kept.map(\.rejectedAt) == [time(105), time(130)])
    #expect(kept.map(\.error) == [.rejected, .rejected])
    #expect(kept.last?.batch.mutations == [.set(key("rooms/3"), ["n": .integer(3)])])
    #expect(try cache.store.outbox.rejectedBatches(of: "otto").isEmpty)
  }

  @Test("a refused batch is queued again and leaves the list in one step, or nothing happens")
  func resubmission() throws {
    let cache = try TestCache(.file)
    let batch = try write(cache, increment(5), 1)
    _ = try cache.store.reject(batch, .rejected, at: time(1))
    func resubmit() throws -> MutationBatch? {
      try cache.store.write(
        many: [LocalWrite(mutations: [], localWriteTime: time(2), resubmits: batch.batchID)]
      ).first?.batch
    }
    #expect(throws: StoreError.self) {
      try cache.failing(at: .transaction("Locally write mutations")) { _ = try resubmit() }
    }
    #expect(try cache.store.outbox.rejectedBatches(of: nil).count == 1)
    let again = try #require(try resubmit())
    #expect(again.mutations == batch.mutations && again.batchID > batch.batchID)
    #expect(try cache.store.outbox.rejectedBatches(of: nil).isEmpty)
    #expect(throws: CacheError.unknownRejectedBatch(batch.batchID, user: nil)) { try resubmit() }
    #expect(try cache.store.pendingBatches() == [again])
  }

  @Test("discarding what is not in the list changes nothing")
  func discarding() throws {
    let cache = try TestCache(.memory)
    var ids: [BatchID] = []
    for number in 1...3 {
      let batch = try write(cache, .set(key("rooms/a"), [:]), UInt64(number))
      _ = try cache.store.reject(batch, .rejected, at: time(1))
      ids.append(batch.batchID)
    }
    #expect(throws: CacheError.unknownRejectedBatch(999, user: nil)) {
      try cache.store.discardRejected([ids[0], 999], of: nil)
    }
    #expect(try cache.store.outbox.rejectedBatches(of: nil).map(\.batch.batchID) == ids)
    try cache.store.discardRejected([ids[0]], of: nil)
    #expect(try cache.store.outbox.rejectedBatches(of: nil).map(\.batch.batchID) == Array(ids[1...]))
    try cache.store.discardRejected(nil, of: nil)
    #expect(try cache.store.outbox.rejectedBatches(of: nil).isEmpty)
  }

  @Test("failed attempts are counted for as long as the batch waits")
  func attempts() throws {
    let cache = try TestCache(.memory)
    let first = try cache.store.write(.set(key("rooms/a"), [:])).batchID
    let second = try cache.store.write(.set(key("rooms/b"), [:])).batchID
    let error = StatusError(code: .unavailable, message: "gone")
    try cache.store.noteFailedAttempt(at: [first, second], StatusError(code: .internal, message: "broken"))
    try cache.store.noteFailedAttempt(at: [first, 999], error)
    var attempts = try cache.store.outbox.state(of: nil).attempts
    #expect(attempts[first] == .init(count: 2, error: error))
    #expect(attempts[second]?.count == 1 && attempts[999] == nil)
    try cache.store.acknowledgeNext(at: 1)
    try cache.store.noteFailedAttempt(at: [second], error)
    attempts = try cache.store.outbox.state(of: nil).attempts
    #expect(attempts == [second: .init(count: 2, error: error)])
  }
}
