import HearthModel
import HearthStore
import Synchronization
import TestSupport
import Testing

@testable import HearthServer

@Suite("Pessimistic transactions", .everyStorage, .timeLimit(.minutes(10)))
struct PessimisticTransactionTests {
  private func begin(_ fixture: some ListenedFixture, repeating id: [UInt8] = []) async throws -> [UInt8] {
    try await fixture.database.transactions.begin(.pessimistic, repeating: id, at: nil)
  }

  private func read(
    _ fixture: some ListenedFixture, _ paths: [String], _ query: HearthModel.Query? = nil, in transaction: [UInt8]
  ) async throws {
    let version = try await fixture.database.transactions.read(
      transaction, keys: paths.map { key($0) }, query: query)
    #expect(version == nil, "the present is read")
  }

  private func commit(
    _ fixture: some ListenedFixture, _ mutations: [Mutation], _ transaction: [UInt8] = []
  ) -> Task<StatusCode?, Never> {
    Task {
      do throws(StatusError) {
        _ = try await fixture.database.session.commit(mutations, endingTransaction: transaction)
        return nil
      } catch {
        return error.code
      }
    }
  }

  private func number(_ fixture: some ListenedFixture, _ path: String) async throws -> Value? {
    try await fixture.database.storage.documents(for: [key(path)], at: nil).documents.first?.fields.value(
      at: field("n"))
  }

  private static let large = HearthModel.Query(path: path("c")).with(filter: .field(field("n"), .greaterThan, 5.value))

  @Test(
    "a write from outside waits for the transaction that has read the document, its absence, or the range; others do not",
    arguments: ["c/a", "c/new", "c/b"])
  func writesWait(to written: String) async throws {
    let fixture = try await TestedDatabase()
    for path in ["c/a", "c/b", "c/free"] { try await fixture.set(path, ["n": 1.value]) }
    let transaction = try await begin(fixture)
    try await read(fixture, ["c/a", "c/new"], Self.large, in: transaction)
    let write = commit(fixture, [.set(key(written), ["n": 6.value])])
    try await waitUntil { fixture.waitingCount == 1 }
    try await fixture.set("c/free", ["n": 2.value])
    #expect(try await number(fixture, written) != 6.value)
    #expect(await commit(fixture, [.set(key(written), ["n": 9.value])], transaction).value == nil)
    #expect(await write.value == nil)
    #expect(try await number(fixture, written) == 6.value)
    #expect(fixture.waitingCount == 0)
  }

  @Test(
    "a write that would have waited leaves no trace when the transaction of its group fails", .timeLimit(.minutes(5)),
    .embeddedOnly)
  func failedGroups() async throws {
    let fails = Mutex(false)
    let fixture = try StorageFixture(injecting: { point in
      guard point == .commit, fails.withLock({ $0 }) else { return nil }
      return StoreError(kind: .full, message: "database or disk is full", sqliteCode: 13)
    })
    try await fixture.set("hot/d", ["n": 1.value])
    let transaction = try await begin(fixture)
    try await read(fixture, ["hot/d"], in: transaction)
    fails.withLock { $0 = true }
    for _ in 0..<3 { #expect(await commit(fixture, [.set(key("hot/d"), ["n": 2.value])]).value != nil) }
    fails.withLock { $0 = false }
    try await waitUntil { fixture.waitingCount == 0 }
    try fixture.database.registry.rollback(transaction)
    let next = try await begin(fixture)
    try await read(fixture, ["hot/d"], in: next)
    #expect(await commit(fixture, [.set(key("hot/d"), ["n": 3.value])], next).value == nil)
    #expect(fixture.waitingCount == 0)
  }

  @Test(
    "a clock that is set back by an hour keeps no transaction and no waiting write alive", .timeLimit(.minutes(5)),
    .embeddedOnly)
  func clockSetBack() async throws {
    let wall = Mutex<Int64>(1_700_000_000_000_000)
    let elapsed = Mutex<Int64>(0)
    let clock = ServerClock(
      now: { Timestamp(microseconds: wall.withLock { $0 }) }, elapsed: { elapsed.withLock { $0 } }
    ).steady(logger: ServerFixture.quietLogger)
    let locks = TransactionLocks(clock: clock, maximumWait: .seconds(30))
    let registry = TransactionRegistry(clock: clock, locks: locks)
    let version = SnapshotVersion(microseconds: wall.withLock { $0 })
    _ = try await registry.read(registry.begin(.pessimistic), keys: [key("c/a")], latest: version)
    let write = DocumentTransition(
      before: .missing(key("c/a"), version: version),
      after: .found(key("c/a"), version: version, fields: EncodedFields(["n": 1.value])))
    let ticket = try #require(try locks.admit([write], by: nil, ticket: nil))
    wall.withLock { $0 -= 3_600_000_000 }
    elapsed.withLock { $0 += 31_000_000 }
    let waiting = await #expect(throws: StatusError.self) { try await locks.turn(of: ticket) }
    #expect(waiting?.code == .aborted)
    elapsed.withLock { $0 += DatabaseLimits().transactionIdleTime.microseconds }
    #expect(!registry.hasOpen)
  }

  @Test("what is read under a lock has every commit that did not wait for it")
  func freshReads() async throws {
    let fixture = try await TestedDatabase()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<25 {
            var last: [UInt8] = []
            while true {
              let transaction = try await begin(fixture, repeating: last)
              last = transaction
              do {
                try await read(fixture, ["c/n"], in: transaction)
              } catch let error as StatusError where error.code == .aborted {
                continue
              }
              let old = try await number(fixture, "c/n")
              let next: Value = if case .integer(let old)? = old { .integer(old + 1) } else { 1.value }
              let code = await commit(fixture, [.set(key("c/n"), ["n": next])], transaction).value
              #expect(code == nil || code == .aborted)
              if code == nil { break }
            }
          }
        }
        // Writes outside transactions, of the same document and of another one.
        group.addTask {
          for index in 0..<25 {
            try await fixture.commit(.set(key("c/other"), ["n": index.value]), .delete(key("c/none")))
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try await number(fixture, "c/n") == 200.value)
    #expect(fixture.waitingCount == 0)
  }

  @Test("of two transactions that have read what the other writes the younger is aborted, and may come again")
  func deadlock() async throws {
    let fixture = try await TestedDatabase()
    let (old, young) = (try await begin(fixture), try await begin(fixture))
    try await read(fixture, ["c/a"], in: old)
    try await read(fixture, ["c/a"], in: young)
    let waiting = commit(fixture, [.set(key("c/a"), ["n": 2.value])], young)
    try await waitUntil { fixture.waitingCount == 1 }
    #expect(await commit(fixture, [.set(key("c/a"), ["n": 1.value])], old).value == nil)
    #expect(await waiting.value == .aborted)
    #expect(try await number(fixture, "c/a") == 1.value)
    // It is as old as its first try.
    let younger = try await begin(fixture)
    let again = try await begin(fixture, repeating: young)
    try await read(fixture, ["c/a"], in: younger)
    try await read(fixture, ["c/a"], in: again)
    let other = commit(fixture, [.set(key("c/a"), ["n": 3.value])], younger)
    try await waitUntil { fixture.waitingCount == 1 }
    #expect(await commit(fixture, [.set(key("c/a"), ["n": 4.value])], again).value == nil)
    #expect(await other.value == .aborted)
    #expect(try await number(fixture, "c/a") == 4.value)
  }

  /// True if of two transactions that have read what the other writes the first is aborted.
  private func loses(
    _ first: [UInt8], against second: [UInt8], _ fixture: some ListenedFixture
  ) async throws -> Bool {
    try await read(fixture, ["c/a"], in: first)
    try await read(fixture, ["c/a"], in: second)
    // Other contents each time: a write that changes nothing does not wait.
    let waiting = commit(fixture, [.set(key("c/a"), ["by": .bytes(second)])], second)
    let hasEnded = Atomic(false)
    let end = Task {
      let code = await waiting.value
      hasEnded.store(true, ordering: .relaxed)
      return code
    }
    try await waitUntil { fixture.waitingCount == 1 || hasEnded.load(ordering: .relaxed) }
    let code = await commit(fixture, [.set(key("c/a"), ["by": .bytes(first)])], first).value
    #expect(code == nil || code == .aborted)
    #expect(await end.value == (code == nil ? .aborted : nil))
    return code == .aborted
  }

  @Test("the age of a transaction goes to one that repeats it, and only if it has ended without a commit")
  func successions() async throws {
    let fixture = try await TestedDatabase()
    let transactions = fixture.database.transactions
    let first = try await begin(fixture)
    let early = try await begin(fixture)
    // The first is still open.
    #expect(try await loses(begin(fixture, repeating: first), against: early, fixture))
    let (second, third) = (try await begin(fixture), try await begin(fixture))
    try await transactions.rollback(first)
    // It is given to the first that repeats it, however often others do, and goes on from there.
    let heir = try await begin(fixture, repeating: first)
    #expect(try await loses(begin(fixture, repeating: first), against: second, fixture))
    try await transactions.rollback(heir)
    let last = try await begin(fixture, repeating: heir)
    #expect(try await !loses(last, against: third, fixture))
    // It was committed.
    let fourth = try await begin(fixture)
    #expect(try await loses(begin(fixture, repeating: last), against: fourth, fixture))
  }

  @Test("ages are kept for two minutes, and not more than so many", .embeddedOnly)
  func keptSuccessions() {
    var successions = Successions()
    for number in 1...UInt64(Successions.maximumCount) + 10 {
      successions.add(LockTable.Owner(seniority: 1, number: number), at: 0)
    }
    #expect(successions.count == Successions.maximumCount)
    #expect(successions.take(from: 10, at: 0) == nil)
    #expect(successions.take(from: 11, at: 0) == 1)
    #expect(successions.take(from: 11, at: 0) == nil)
    #expect(successions.take(from: 12, at: Successions.microseconds) == 1)
    #expect(successions.take(from: 13, at: Successions.microseconds + 1) == nil)
    #expect(successions.count == 0)
  }

  @Test("a read overtakes writes that wait for its transaction through others; none of them is aborted", .embeddedOnly)
  func readersInACycle() async throws {
    let fixture = try StorageFixture()
    let (old, young) = (try await begin(fixture), try await begin(fixture))
    try await read(fixture, ["c/a"], in: old)
    try await read(fixture, ["c/b"], in: young)
    let writes = [commit(fixture, [.set(key("c/a"), [:])]), commit(fixture, [.set(key("c/b"), [:])])]
    try await waitUntil { fixture.waitingCount == 2 }
    let reading = Task { try await read(fixture, ["c/b"], in: old) }
    try await waitUntil { fixture.waitingCount == 3 }
    try await read(fixture, ["c/a"], in: young)
    #expect(await commit(fixture, [], young).value == nil)
    try await reading.value
    #expect(await commit(fixture, [], old).value == nil)
    for write in writes { #expect(await write.value == nil) }
  }

  @Test("a write waits 20 seconds at most, and not for a transaction whose time is over")
  func times() async throws {
    let fixture = try await TestedDatabase()
    let transaction = try await begin(fixture)
    try await read(fixture, ["c/a"], in: transaction)
    let tooLong = commit(fixture, [.set(key("c/a"), [:])])
    try await waitUntil { fixture.waitingCount == 1 }
    fixture.clock.advance(seconds: 21)
    #expect(await tooLong.value == .aborted)
    fixture.clock.advance(seconds: 35)
    let write = commit(fixture, [.set(key("c/a"), [:])])
    try await waitUntil { fixture.waitingCount == 1 }
    fixture.clock.advance(seconds: 5)
    #expect(await write.value == nil)
    #expect(await commit(fixture, [.set(key("c/a"), [:])], transaction).value == .invalidArgument)
  }

  @Test(
    "a transaction that waits for others is not idle, and from then on has all of its time", .embeddedOnly,
    arguments: [true, false])
  func waitIsNotIdle(isIdleAfterwards: Bool) async throws {
    var limits = DatabaseLimits()
    limits.transactionIdleTime = .seconds(10)
    let fixture = try StorageFixture(limits: limits)
    let (first, second) = (try await begin(fixture), try await begin(fixture))
    try await read(fixture, ["c/a"], in: first)
    let write = commit(fixture, [.set(key("c/a"), ["n": 1.value])])
    try await waitUntil { fixture.waitingCount == 1 }
    let reading = Task { try await read(fixture, ["c/a"], in: second) }
    try await waitUntil { fixture.waitingCount == 2 }
    for _ in 0..<2 {
      fixture.clock.advance(seconds: 6)
      try await read(fixture, ["c/b"], in: first)
    }
    #expect(await commit(fixture, [], first).value == nil)
    #expect(await write.value == nil)
    try await reading.value
    fixture.clock.advance(seconds: isIdleAfterwards ? 11 : 9)
    let outcome = await commit(fixture, [.set(key("c/a"), ["n": 2.value])], second).value
    #expect(outcome == (isIdleAfterwards ? .invalidArgument : nil))
    #expect(try await number(fixture, "c/a") == (isIdleAfterwards ? 1 : 2).value)
  }

  @Test("a cancelled write that waits is not carried out")
  func cancellation() async throws {
    let fixture = try await TestedDatabase()
    let transaction = try await begin(fixture)
    try await read(fixture, ["c/a"], in: transaction)
    let write = commit(fixture, [.set(key("c/a"), ["n": 1.value])])
    try await waitUntil { fixture.waitingCount == 1 }
    write.cancel()
    #expect(await write.value == .cancelled)
    #expect(fixture.waitingCount == 0)
    #expect(await commit(fixture, [.set(key("c/b"), [:])], transaction).value == nil)
    #expect(try await number(fixture, "c/a") == nil)
    try await fixture.set("c/a")
  }

  @Test("those behind a cancelled write go on", .embeddedOnly)
  func readBehindCancelled() async throws {
    let fixture = try StorageFixture()
    let transaction = try await begin(fixture)
    try await read(fixture, ["c/a"], in: transaction)
    let write = commit(fixture, [.set(key("c/a"), ["n": 1.value])])
    try await waitUntil { fixture.waitingCount == 1 }
    let other = try await begin(fixture)
    let reading = Task { try await read(fixture, ["c/a"], in: other) }
    try await waitUntil { fixture.waitingCount == 2 }
    write.cancel()
    #expect(await write.value == .cancelled)
    try await reading.value
    for transaction in [transaction, other] { try fixture.database.registry.rollback(transaction) }
    #expect(try await number(fixture, "c/a") == nil)
    try await fixture.set("c/a")
  }

  @Test("a commit that waits when the server stops is told so")
  func shutdown() async throws {
    let fixture = try await TestedDatabase()
    let transaction = try await begin(fixture)
    try await read(fixture, ["c/a"], in: transaction)
    let write = commit(fixture, [.set(key("c/a"), [:])])
    try await waitUntil { fixture.waitingCount == 1 }
    await fixture.database.storage.close()
    #expect(await write.value == .unavailable)
  }

  @Test("a commit that could not be made durable keeps its locks, and may be repeated", .embeddedOnly)
  func failedCommit() async throws {
    let fails = Mutex(false)
    let fixture = try StorageFixture { point in
      guard point == .commit, fails.withLock({ $0 }) else { return nil }
      return StoreError(kind: .full, message: "no space")
    }
    let transaction = try await begin(fixture)
    try await read(fixture, ["c/a"], in: transaction)
    fails.withLock { $0 = true }
    #expect(await commit(fixture, [.set(key("c/a"), ["n": 1.value])], transaction).value == .resourceExhausted)
    fails.withLock { $0 = false }
    let write = commit(fixture, [.set(key("c/a"), ["n": 2.value])])
    try await waitUntil { fixture.waitingCount == 1 }
    #expect(await commit(fixture, [.set(key("c/a"), ["n": 1.value])], transaction).value == nil)
    #expect(await write.value == nil)
  }
}

extension ListenedFixture {
  /// The requests that wait for transactions.
  fileprivate var waitingCount: Int { database.transactions.use().waitingRequests }
}
