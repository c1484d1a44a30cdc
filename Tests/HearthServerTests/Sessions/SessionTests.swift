import HearthModel
import HearthWire
import Synchronization
import Testing

@testable import HearthServer

@Suite("Sessions")
struct SessionTests {
  private static let denied = StatusError(code: .permissionDenied, message: "not this")

  /// Refuses some kinds of access, and counts what it is asked.
  private final class SomeAccess: AccessGuard {
    private let refuses: @Sendable (Access) -> Bool
    private let questions = Mutex(0)

    init(refuses: @escaping @Sendable (Access) -> Bool = { _ in true }) {
      self.refuses = refuses
    }

    var questionCount: Int { questions.withLock { $0 } }

    func check(_ access: Access, by caller: Caller, in database: DatabaseID) throws(StatusError) -> RuleCheck? {
      questions.withLock { $0 += 1 }
      if refuses(access) { throw SessionTests.denied }
      return nil
    }

    func checkListing(by caller: Caller) {}
    func checkOpening(_ database: DatabaseID, by caller: Caller) {}
    func tellsCallersApart(in database: DatabaseID) -> Bool { true }
    var release: Int { 0 }
  }

  private typealias Attempt = @Sendable (Session) async throws -> Void

  private static let query = Query(path: path("c"))
  private static let count = Aggregation(alias: "n", operation: .count(upTo: nil))

  /// Every way in which a call reads, writes or follows what is in a database.
  private static let attempts: [(name: String, attempt: Attempt)] = [
    ("documents", { _ = try await $0.documents(for: [key("c/a")], at: nil) }),
    ("first documents", { _ = try await $0.firstDocuments(of: [key("c/a")], at: nil) }),
    ("a piece", { _ = try await $0.page(of: query, after: nil, at: nil) }),
    ("a plan", { _ = try await $0.plan(of: query) }),
    ("a sum", { _ = try await $0.aggregate([count], over: query, skipping: 0, at: nil) }),
    ("collections", { _ = try await $0.collectionIDs(under: path("c/a"), after: nil, limit: 1, at: nil) }),
    ("parts", { _ = try await $0.partitionPoints(of: query, count: 1, minimumSize: 1, at: nil) }),
    ("a transaction", { _ = try await $0.beginTransaction(.pessimistic) }),
    ("a commit", { _ = try await $0.commit(CommitRequest(mutations: [.delete(key("c/a"))])) }),
    ("a commit of a call", { _ = try await $0.commit([.delete(key("c/a"))], endingTransaction: []) }),
    ("clearing", { try await $0.clear(path("c")) }),
    ("a target", { _ = try await $0.grant(.query(query), at: $0.feed.latestVersion, sharing: RuleEffort()) }),
    ("the size of a target", { _ = try await $0.count(of: query, at: $0.feed.latestVersion) }),
    (
      "a difference",
      {
        let now = $0.feed.latestVersion
        _ = try await $0.difference(of: .query(query), after: now, through: now, from: nil, edges: nil)
      }
    ),
    (
      "the size of a difference",
      {
        let now = $0.feed.latestVersion
        _ = try await $0.changeCount(of: query, after: now, through: now, upTo: 1)
      }
    ),
  ]

  @Test("each access asks the guard first, and what it refuses is not done", arguments: attempts.indices)
  func refused(index: Int) async throws {
    let fixture = try StorageFixture()
    try await fixture.set("c/a", ["n": 1.value])
    let access = SomeAccess()
    let session = Session(fixture.database, of: .owner, accessGuard: access, seal: CallerSeal())
    let (name, attempt) = Self.attempts[index]
    let error = await #expect(throws: StatusError.self, "\(name)") { try await attempt(session) }
    #expect(error == Self.denied, "\(name)")
    #expect(access.questionCount == 1, "\(name)")
    let documents = try await fixture.storage.documents(for: [key("c/a")], at: nil).documents
    #expect(documents.map(\.isFound) == [true])
    #expect(!fixture.database.registry.hasOpen)
  }

  @Test("each access that is allowed is done", .everyStorage, arguments: attempts.indices)
  func allowed(index: Int) async throws {
    let fixture = try await TestedDatabase()
    try await fixture.set("c/a")
    try await Self.attempts[index].attempt(fixture.database.session)
  }

  /// The reads that a transaction can make.
  private static let reads: [(name: String, access: Access)] = [
    ("documents", .get([key("c/a")])), ("a result", .list(query)), ("a sum", .aggregate([], over: query)),
  ]

  @Test(
    "a read in a transaction asks the guard before it locks or records anything", .timeLimit(.minutes(1)),
    arguments: reads.indices, [TransactionIsolation.pessimistic, .optimistic])
  func refusedInTransaction(index: Int, isolation: TransactionIsolation) async throws {
    let fixture = try StorageFixture()
    let access = SomeAccess { if case .beginTransaction = $0 { false } else { true } }
    let session = Session(fixture.database, of: .owner, accessGuard: access, seal: CallerSeal())
    let transaction = try await session.beginTransaction(isolation)
    let (name, read) = Self.reads[index]
    let error = await #expect(throws: StatusError.self, "\(name)") { try await session.read(read, in: transaction) }
    #expect(error == Self.denied, "\(name)")
    #expect(access.questionCount == 2, "\(name)")
    #expect(fixture.database.registry.use().reads == 0, "\(name)")
    // Waits for nobody.
    try await fixture.set("c/a")
    // Its end is nothing that a guard could refuse.
    try await session.rollback(transaction)
    #expect(!fixture.database.registry.hasOpen)
    // Allowed, it keeps what it reads.
    let allowed = fixture.database.session
    _ = try await allowed.read(read, in: allowed.beginTransaction(isolation))
    #expect(fixture.database.registry.use().reads == 1, "\(name)")
  }

  @Test("a call that opens a transaction for a read that is refused leaves none behind", arguments: reads.indices)
  func refusedWithNewTransaction(index: Int) async throws {
    let fixture = try StorageFixture()
    let access = SomeAccess { if case .beginTransaction = $0 { false } else { true } }
    let session = Session(fixture.database, of: .owner, accessGuard: access, seal: CallerSeal())
    let (name, read) = Self.reads[index]
    let error = await #expect(throws: StatusError.self, "\(name)") {
      try await ReadPlan.prepare(.newTransaction(.init()), for: read, in: session)
    }
    #expect(error == Self.denied, "\(name)")
    #expect(!fixture.database.registry.hasOpen)
  }

  @Test("a target that a caller may not watch ends; the other targets of its stream go on", .everyStorage)
  func watching() async throws {
    let fixture = try await TestedDatabase()
    try await fixture.set("c/a")
    let access = SomeAccess { access in
      if case .watch(.query(let query)) = access { query.path == path("secret") } else { false }
    }
    var listener = Listener(fixture, accessGuard: access)
    #expect(try await listener.add(Query(path: path("secret")), id: 2) == ["add 2", "remove 2 (7: not this)"])
    #expect(try await listener.add(Self.query, id: 4).contains("c/a in 4"))
    try await fixture.set("secret/a")
    try await fixture.set("c/b")
    let news = try await listener.catchUp()
    #expect(news.contains("c/b in 4") && !news.contains { $0.hasPrefix("secret") }, "\(news)")
  }
}
