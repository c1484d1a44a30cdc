import HearthModel
import HearthStore
import Metrics
import MetricsTestKit
import Synchronization
import TestSupport
import Testing

@testable import HearthRPC
@testable import HearthServer

/// The metrics that databases report to a metrics backend.
@Suite("Metrics of databases", .timeLimit(.minutes(2)))
struct DatabaseMetricsTests {
  private let factory = TestMetrics()

  private func metrics() throws -> ServerMetrics {
    try #require(ServerMetrics(factory, allowed: ServerLimits().numbers(with: DatabaseLimits())))
  }

  private func exceeded(_ limit: ServerLimit) -> Int64 {
    factory.counterTotal(label: "hearth.server.limit.exceeded", dimensions: [("limit", limit.rawValue)])
  }

  private func used(_ limit: ServerLimit) throws -> Double? {
    try factory.expectGauge("hearth.server.limit.used", [("limit", limit.rawValue)]).lastValue
  }

  private static func limits(_ change: (inout DatabaseLimits) -> Void) -> DatabaseLimits {
    var limits = DatabaseLimits()
    change(&limits)
    return limits
  }

  @Test("a database that is one too many is counted")
  func databases() async throws {
    let backend = try EmbeddedBackend(
      location: .memory, limits: Self.limits { $0.databases = 1 }, clock: .system, metrics: metrics(),
      logger: ServerFixture.quietLogger)
    func create(_ name: String) async throws {
      let database = try await backend.database(DatabaseID(projectID: name))
      _ = try await database.storage.commit(CommitRequest(mutations: [.set(key("a/b"), [:])]))
    }
    try await create("one")
    #expect(exceeded(.databases) == 0)
    await #expect(throws: StatusError.self) { try await create("two") }
    #expect(exceeded(.databases) == 1)
    #expect(backend.openDatabases().settled == 1)
    await backend.close()
  }

  @Test("open transactions, their reads, and those that have expired are counted")
  func transactions() async throws {
    let clock = ManualClock()
    let limits = Self.limits { ($0.transactions, $0.readsPerTransaction, $0.transactionReads) = (2, 4, 5) }
    let registry = TransactionRegistry(
      limits: limits, clock: clock.clock, locks: TransactionLocks(clock: clock.clock), metrics: try metrics())
    let first = try registry.begin(.optimistic)
    let second = try registry.begin(.optimistic)
    #expect(throws: StatusError.self) { try registry.begin(.optimistic) }
    #expect(exceeded(.transactions) == 1)
    let version = SnapshotVersion(microseconds: 1)
    _ = try await registry.read(first, keys: (1...4).map { key("a/\($0)") }, latest: version)
    await #expect(throws: StatusError.self) { try await registry.read(first, keys: [key("a/5")], latest: version) }
    #expect(exceeded(.readsPerTransaction) == 1)
    _ = try await registry.read(second, keys: [key("a/1")], latest: version)
    await #expect(throws: StatusError.self) { try await registry.read(second, keys: [key("a/3")], latest: version) }
    #expect(exceeded(.transactionReads) == 1)
    let use = registry.use()
    #expect(use.transactions == 2)
    #expect(use.reads == 5)
    #expect(use.greatestReads == 4)
    clock.advance(seconds: 300)
    _ = try registry.begin(.optimistic)
    #expect(exceeded(.transactionTime) == 2)
    #expect(registry.use().transactions == 1)
  }

  @Test("a query with too many parts is counted, and the parts of every query are recorded")
  func queries() throws {
    let metrics = try metrics()
    let limits = Self.limits { ($0.queryComponents, $0.queryDisjunctions) = (3, 2) }
    func query(_ values: Int...) -> Query {
      Query(path: path("c")).with(filter: .field(field("n"), .in, .array(values.map(\.value))))
    }
    try QueryLimits.check(query(1, 2), limits: limits, metrics: metrics)
    #expect(exceeded(.queryComponents) == 0)
    #expect(throws: StatusError.self) { try QueryLimits.check(query(1, 2, 3), limits: limits, metrics: metrics) }
    #expect(exceeded(.queryDisjunctions) == 1)
    let many = ["k", "l", "m"].reduce(query(1, 2)) { $0.with(filter: .field(field($1), .equal, 1.value)) }
    #expect(throws: StatusError.self) { try QueryLimits.check(many, limits: limits, metrics: metrics) }
    #expect(exceeded(.queryComponents) == 1)
    #expect(try factory.expectRecorder("hearth.server.query.components").values == [1, 1, 4])
    #expect(try factory.expectRecorder("hearth.server.query.disjunctions").values == [2, 3])
  }

  @Test("a target that is one too many is counted")
  func targets() async throws {
    let metrics = try metrics()
    let fixture = try StorageFixture(limits: Self.limits { $0.targetsPerStream = 2 }, metrics: metrics)
    var listener = Listener(fixture)
    for id in [1, 2] as [TargetID] { _ = try await listener.add(Query(path: path("c")), id: id) }
    #expect(exceeded(.targetsPerStream) == 0)
    await #expect(throws: StatusError.self) { try await listener.add(Query(path: path("c")), id: 3) }
    #expect(exceeded(.targetsPerStream) == 1)
    #expect(metrics.targetsPerStream.sumAndGreatest() == (2, 2))
  }

  @Test("a wait for locks has a duration, and one that is too long is counted")
  func locks() async throws {
    let metrics = try metrics()
    let locks = TransactionLocks(clock: .system, maximumWait: .milliseconds(100), metrics: metrics)
    let registry = TransactionRegistry(clock: .system, locks: locks, metrics: metrics)
    let version = SnapshotVersion(microseconds: 1)
    let holder = try registry.begin(.pessimistic)
    _ = try await registry.read(holder, keys: [key("c/a")], latest: version)
    let ticket = try #require(
      try locks.admit(
        [
          DocumentTransition(
            before: .missing(key("c/a"), version: version), after: .missing(key("c/a"), version: version))
        ],
        by: nil, ticket: nil))
    #expect(locks.ticketCount == 1)
    await #expect(throws: StatusError.self) { try await locks.turn(of: ticket) }
    #expect(exceeded(.lockWait) == 1)
    #expect(try factory.expectTimer("hearth.server.lock.wait.duration").values.count == 1)
  }

  @Test(
    "commits that a full disk refuses and those that the storage fails are counted, and a database that takes no more after a failed sync"
  )
  func disk() async throws {
    let failure = Mutex<StoreError?>(nil)
    let fixture = try StorageFixture(fillsIndexes: false, metrics: try metrics()) { point in
      point == .commit ? failure.withLock { $0 } : nil
    }
    func counts() -> [Int64] {
      ["disk.full", "disk.failed", "storage.failures"].map { factory.counterTotal(label: "hearth.server.\($0)") }
    }
    try await fixture.set("c/a")
    #expect(counts() == [0, 0, 0])
    failure.withLock { $0 = StoreError(kind: .full, message: "database or disk is full", sqliteCode: 13) }
    for _ in 0..<2 { await #expect(throws: StatusError.self) { try await fixture.set("c/a") } }
    #expect(counts() == [2, 0, 0])
    // As on a file system that has become read-only.
    failure.withLock { $0 = StoreError(kind: .io, message: "disk I/O error", sqliteCode: 778) }
    await #expect(throws: StatusError.self) { try await fixture.set("c/a") }
    #expect(counts() == [2, 0, 1])
    // SQLITE_IOERR_FSYNC
    failure.withLock { $0 = StoreError(kind: .io, message: "disk I/O error", sqliteCode: 1034) }
    for _ in 0..<3 { await #expect(throws: StatusError.self) { try await fixture.set("c/a") } }
    #expect(counts() == [2, 1, 2], "only the first one was tried")
  }

  @Test("a transaction whose commit conflicts counts as aborted, one that commits does not")
  func aborted() async throws {
    let fixture = try StorageFixture(metrics: try metrics())
    let registry = fixture.database.registry
    for (isDisturbed, count) in [(false, 0), (true, 1)] as [(Bool, Int64)] {
      let version = try await fixture.set("c/a")
      let id = try registry.begin(.optimistic)
      _ = try await registry.read(id, keys: [key("c/a")], latest: version)
      if isDisturbed { try await fixture.set("c/a", ["n": 1]) }
      _ = try? await fixture.database.session.commit([.set(key("c/a"), ["n": 2])], endingTransaction: id)
      #expect(factory.counterTotal(label: "hearth.server.transactions.aborted") == count)
    }
  }

  @Test("history that is dropped before its time is counted at each cut, and its size is known")
  func history() async throws {
    let fixture = try StorageFixture(
      retention: HistoryRetention(bytes: 2000), metrics: try metrics())
    try await fixture.set("c/a", ["text": "x"])
    #expect(fixture.storage.use().historyBytes > 0)
    #expect(exceeded(.historyBytes) == 0)
    for index in 0..<10 {
      try await fixture.set("c/a", ["text": .string(String(repeating: "x", count: 1000 + index))])
    }
    #expect(exceeded(.historyBytes) > 1)
    #expect(factory.counterTotal(label: "hearth.server.commits") == 11)
  }

  @Test("what databases use is reported by the one with the most")
  func use() async throws {
    let clock = ManualClock()
    let metrics = try metrics()
    let backend = try EmbeddedBackend(
      location: .memory, clock: clock.clock, metrics: metrics, logger: ServerFixture.quietLogger)
    for (name, count) in [("one", 3), ("two", 1)] {
      let database = try await backend.database(DatabaseID(projectID: name))
      _ = try await database.storage.commit(CommitRequest(mutations: [.set(key("a/b"), [:])]))
      for index in 0..<count {
        let id = try database.registry.begin(.optimistic)
        let keys = (0...index).map { key("a/\($0)") }
        _ = try await database.registry.read(id, keys: keys, latest: SnapshotVersion(microseconds: 1))
      }
    }
    let calls = CallServer(
      services: [:], limits: ServerLimits(), metrics: metrics, authenticator: DevelopmentAuthenticator(),
      interceptor: nil,
      logger: ServerFixture.quietLogger)
    ServerSampler(
      metrics: metrics, calls: calls, connections: OpenConnections(), databases: backend,
      targets: TargetBudget(maximumBytes: 1)
    ).sample()
    #expect(try used(.databases) == 2)
    #expect(try used(.transactions) == 3)
    #expect(try used(.transactionReads) == 6)
    #expect(try used(.readsPerTransaction) == 3)
    #expect(try factory.expectGauge("hearth.server.transactions").lastValue == 4)
    #expect(try factory.expectGauge("hearth.server.locks.waiting").lastValue == 0)
    #expect(try factory.expectGauge("hearth.server.reads.waiting").lastValue == 0)
    await backend.close()
  }

  @Test("reads that wait for their turn are counted")
  func waitingReads() {
    var schedule = ReadSchedule(slots: 2, seats: 1)
    for read in 1...5 { _ = schedule.add(read, of: 0) }
    #expect(schedule.waitingCount(0) == 3)
    _ = schedule.finish(1)
    #expect(schedule.waitingCount(0) == 2)
  }
}
