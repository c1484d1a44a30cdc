import HearthModel
import HearthStore
import Testing

@testable import HearthCache

/// A counter from which nothing can be counted on is repaired once, whatever the rows say.
@Suite("Counters that have come to their end")
struct DamagedCounterTests {
  private static let numbers: [Int64] = [1 << 61 - 1, 1 << 61, 3 << 60 - 1, 3 << 60, 1 << 62 - 2, 1 << 62 - 1]

  /// Writes one batch before the file is changed and two after each of two restarts.
  ///
  /// - Returns: The numbers of the latter.
  private func write(in cache: TestCache, after statement: String, _ isSalvaged: Bool) throws -> Set<BatchID> {
    try cache.store.write(.set(key("rooms/0"), [:]))
    try cache.database.execute(statement)
    if isSalvaged { try cache.database.execute("DROP TABLE cache_targets") }
    var written: Set<BatchID> = []
    for _ in 1...2 {
      try cache.restart()
      for room in 1...2 { written.insert(try cache.store.write(.set(key("rooms/\(room)"), [:])).batchID) }
      #expect(cache.store.reopening == nil)
    }
    return written
  }

  @Test("batches get numbers behind a kept row with any number", arguments: numbers, [false, true])
  func batches(number: Int64, isSalvaged: Bool) throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    let statement = "INSERT INTO cache_unreadable_batches VALUES (\(number), -1, X'00', 'kept')"
    let written = try write(in: cache, after: statement, isSalvaged)
    #expect(written.count == 4 && !written.contains(number))
    #expect(try cache.store.pendingBatches().map(\.batchID) == [1] + written.sorted())
  }

  @Test("batches get numbers behind a counter with any number", arguments: numbers, [false, true])
  func batchCounter(number: Int64, isSalvaged: Bool) throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    let written = try write(in: cache, after: "UPDATE cache_globals SET highest_batch_id = \(number)", isSalvaged)
    #expect(try written.count == 4 && Set(cache.store.pendingBatches().map(\.batchID)) == written.union([1]))
    // None of them is taken for damage in a recovery either.
    try cache.database.execute("DROP TABLE cache_targets")
    try cache.restart()
    #expect(try Set(cache.store.pendingBatches().map(\.batchID)) == written.union([1]))
  }

  @Test(
    "the scale of uses goes on", arguments: numbers,
    [
      "UPDATE cache_globals SET highest_sequence_number = ?",
      "UPDATE cache_document_uses SET sequence_number = ?; UPDATE cache_globals SET highest_sequence_number = -1",
    ])
  func uses(number: Int64, statements: String) throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    try cache.store.receive(found("rooms/a", 3, [:]), at: 3)
    for statement in statements.split(separator: ";") {
      try cache.database.execute(String(statement).replacing("?", with: "\(number)"))
    }
    for round in 4...6 { try cache.store.receive(found("rooms/\(round)", Int64(round), [:]), at: Int64(round)) }
    #expect(cache.store.reopening == nil)
  }

  @Test("the time by which kept rows age goes on, and nothing is repaired again and again", arguments: [false, true])
  func keepingTime(isSalvaged: Bool) throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    for number in 1...2 { try withdraw(cache, number) }
    for statement in [
      "UPDATE cache_globals SET keeping_seconds = 4611686018427387903",
      "UPDATE cache_write_outcomes SET kept_at = 4611686018427387903 WHERE number = 1",
    ] { try cache.database.execute(statement) }
    if isSalvaged { try cache.database.execute("DROP TABLE cache_targets") }
    try cache.restart()
    var repairs = 0
    cache.store.repaired = { _ in repairs += 1 }
    for number in 3...6 { try withdraw(cache, number) }
    #expect(repairs == (isSalvaged ? 0 : 1))
    #expect(cache.store.reopening == nil)
    for number in 1...6 {
      guard case .ended = try cache.store.outbox.fate(of: identity(number)) else {
        Issue.record("the outcome of write \(number) is lost")
        continue
      }
    }
  }

  private func identity(_ number: Int) -> BatchIdentity { BatchIdentity(high: 7, low: UInt64(number)) }

  /// Makes a write with a receipt and takes it back in the hour with this number.
  private func withdraw(_ cache: TestCache, _ number: Int) throws {
    let write = LocalWrite(
      mutations: [.set(key("rooms/\(number)"), [:])], localWriteTime: time(1), identity: identity(number),
      keepsOutcome: true)
    let batchID = try #require(try cache.store.write(many: [write]).first).batch.batchID
    _ = try cache.store.withdraw(batchID, evenIfSent: true, .rejected, at: time(Int64(number) * 3600))
  }
}
