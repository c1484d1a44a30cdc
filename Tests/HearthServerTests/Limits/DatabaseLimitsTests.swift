import HearthModel
import HearthWire
import TestSupport
import Testing

@testable import HearthServer

@Suite("Limits of databases")
struct DatabaseLimitsTests {
  private static func limits(_ change: (inout DatabaseLimits) -> Void) -> DatabaseLimits {
    var limits = DatabaseLimits()
    change(&limits)
    return limits
  }

  private static func backend(
    _ limits: DatabaseLimits, clock: ServerClock = .system, log: LogRecorder = LogRecorder()
  ) throws -> EmbeddedBackend {
    try EmbeddedBackend(location: .memory, limits: limits, clock: clock, logger: log.logger)
  }

  @Test("one database more than are allowed is refused when it is created, and those that are open go on")
  func databases() async throws {
    let log = LogRecorder()
    let backend = try Self.backend(Self.limits { $0.databases = 2 }, log: log)
    func create(_ name: String) async throws {
      let database = try await backend.database(DatabaseID(projectID: name))
      _ = try await database.storage.commit(CommitRequest(mutations: [.set(key("a/b"), [:])]))
    }
    try await create("one")
    try await create("two")
    let refusal = await #expect(throws: StatusError.self) { try await create("three") }
    #expect(refusal?.code == .resourceExhausted)
    #expect(
      refusal?.message == "2 databases are open, the most that one server serves (hearth serve --max-databases). Clear "
        + "those of tests that are over (DELETE /emulator/v1/projects/PROJECT/databases/DATABASE/documents), or raise the limit"
    )
    await #expect(throws: StatusError.self) { try await create("four") }
    #expect(
      log.lines.filter { $0.contains("--max-databases") }
        == ["warning databases are open, as many as --max-databases allows; calls for others are refused allowed=2"])
    try await create("two")
    await backend.close()
  }

  @Test("a database in memory that was cleared makes room for another one; those that hold something stay")
  func cleared() async throws {
    let clock = ManualClock()
    let backend = try Self.backend(Self.limits { $0.databases = 4 }, clock: clock.clock)
    func create(_ name: String, _ label: RequestLabel? = nil) async throws {
      let database = try await backend.database(DatabaseID(projectID: name))
      let mutations = [Mutation.set(key("a/b"), ["name": Value.string(name)])]
      _ = try await database.storage.commit(CommitRequest(mutations: mutations, label: label))
    }
    func storage(_ name: String) async throws -> any ServerStorage {
      try await backend.database(DatabaseID(projectID: name)).storage
    }
    for name in ["full", "cleared", "locked"] { try await create(name) }
    let batch = BatchLabel(cacheID: "client", identity: BatchIdentity(high: 0, low: 1))
    try await create("answered", RequestLabel(batch, mutations: [], database: DatabaseID(projectID: "answered")))
    _ = try await storage("answered").commit(CommitRequest(mutations: [.delete(key("a/b"))]))
    for name in ["cleared", "locked"] { try await storage(name).clear(ResourcePath()) }
    let locked = try await backend.database(DatabaseID(projectID: "locked"))
    _ = try await locked.transactions.begin(.pessimistic, repeating: [], at: nil)
    await #expect(throws: StatusError.self) { try await create("new") }
    clock.advance(seconds: 11)
    try await waitUntil { (try? await create("new")) != nil }
    clock.advance(seconds: 301)
    await backend.closeIdle()
    #expect(Set(try await backend.names().map(\.projectID)) == ["full", "locked", "answered", "new"])
    for name in ["full", "new"] {
      let found = try await storage(name).documents(for: [key("a/b")], at: nil).documents
      #expect(try found.first?.fields.value(at: field("name")) == Value.string(name))
    }
    // The answers are forgotten with the documents.
    try await storage("answered").clear(ResourcePath())
    clock.advance(seconds: 301)
    await backend.closeIdle()
    #expect(try await !backend.names().map(\.projectID).contains("answered"))
    await backend.close()
  }

  @Test("transactions, their reads, and the parts of queries have limits that can be set")
  func transactionsAndQueries() async throws {
    let limits = Self.limits {
      ($0.transactions, $0.readsPerTransaction, $0.transactionReads) = (2, 4, 5)
      ($0.queryComponents, $0.queryDisjunctions) = (3, 2)
    }
    let registry = TransactionRegistry(limits: limits, clock: .system, locks: TransactionLocks(clock: .system))
    let first = try registry.begin(.pessimistic)
    let second = try registry.begin(.pessimistic)
    #expect(throws: StatusError.self) { try registry.begin(.pessimistic) }
    let version = SnapshotVersion(microseconds: 1)
    _ = try await registry.read(first, keys: [key("a/1"), key("a/2"), key("a/3")], latest: version)
    _ = try await registry.read(first, keys: [key("a/4")], latest: version)
    let invalid = await #expect(throws: StatusError.self) {
      try await registry.read(first, keys: [key("a/5")], latest: version)
    }
    #expect(invalid?.code == .invalidArgument)
    _ = try await registry.read(second, keys: [key("a/1")], latest: version)
    let exhausted = await #expect(throws: StatusError.self) {
      try await registry.read(second, keys: [key("a/3")], latest: version)
    }
    #expect(exhausted?.code == .resourceExhausted)

    func query(_ values: Int...) -> Query {
      Query(path: path("c")).with(filter: .field(field("n"), .in, .array(values.map(\.value))))
    }
    try QueryLimits.check(query(1, 2), limits: limits)
    #expect(throws: StatusError.self) { try QueryLimits.check(query(1, 2, 3), limits: limits) }
    let many = ["k", "l", "m"].reduce(query(1, 2)) { $0.with(filter: .field(field($1), .equal, 1.value)) }
    #expect(throws: StatusError.self) { try QueryLimits.check(many, limits: limits) }
  }

  @Test("a stream ends when it asks for one target more than are allowed")
  func targets() async throws {
    let fixture = try StorageFixture(limits: Self.limits { $0.targetsPerStream = 2 })
    var listener = Listener(fixture)
    for id in [1, 2] as [TargetID] { _ = try await listener.add(Query(path: path("c")), id: id) }
    let refusal = await #expect(throws: StatusError.self) { try await listener.add(Query(path: path("c")), id: 3) }
    #expect(refusal?.code == .resourceExhausted)
  }
}
