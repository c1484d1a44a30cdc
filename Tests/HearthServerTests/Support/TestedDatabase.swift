import HearthModel
import HearthStore
import Testing

@testable import HearthServer

#if PostgreSQL
  import PostgresSupport
#endif

/// The kinds of storage that the tests of the contract run over.
enum TestedStorage: Sendable {
  case embedded
  /// A node of a cluster in PostgreSQL.
  case cluster

  /// The kind that the running test uses.
  @TaskLocal static var current = TestedStorage.embedded

  /// Where a server of the running test has its databases.
  ///
  /// - Parameter location: Where it has them if they are embedded. One that is not in memory stays.
  func location(inPlaceOf location: StorageLocation, clock: ServerClock) async throws -> StorageLocation {
    #if PostgreSQL
      if self == .cluster, location == .memory { return .cluster(try await ClusterFixture.make(clock: clock).location) }
    #endif
    return location
  }
}

/// Runs each test of a suite over every kind of storage that there is here.
struct EveryStorage: SuiteTrait, TestTrait, TestScoping {
  var isRecursive: Bool { true }

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await function()
    #if PostgreSQL
      guard PostgresServer.isAvailable, !test.traits.contains(where: { $0 is EmbeddedOnly }) else { return }
      try await TestedStorage.$current.withValue(.cluster) { try await function() }
    #endif
  }
}

/// Marks a test of a suite that runs over every storage, and needs what only the embedded one does: that reads wait for earlier writes, for
/// instance.
struct EmbeddedOnly: TestTrait {}

extension Trait where Self == EmbeddedOnly {
  static var embeddedOnly: EmbeddedOnly { EmbeddedOnly() }
}

extension Trait where Self == EveryStorage {
  static var everyStorage: EveryStorage { EveryStorage() }
}

/// The feed and the database that a listener in a test listens to.
protocol ListenedFixture: Sendable {
  var feed: ChangeFeed { get }
  var database: HostedDatabase { get }
}

extension StorageFixture: ListenedFixture {
  var feed: ChangeFeed { storage.feed }
}

/// A database without a server around it, in the storage of the running test.
final class TestedDatabase: ListenedFixture {
  let storage: any ServerStorage
  let database: HostedDatabase
  let clock: ManualClock
  private let end: @Sendable () async -> Void

  var feed: ChangeFeed { storage.feed }

  /// - Parameters:
  ///   - feedCapacity: The number of commits that the feed keeps in memory.
  ///   - feedEffort: The number of conditions that the feed evaluates at once.
  init(
    clock: ManualClock = ManualClock(), feedCapacity: Int = 4096, feedEffort: Int = 500_000,
    limits: DatabaseLimits = DatabaseLimits(),
    responseRetention: ResponseRetention = ResponseRetention()
  ) async throws {
    self.clock = clock
    #if PostgreSQL
      if TestedStorage.current == .cluster {
        let cluster = try await ClusterFixture.make(clock: clock.clock)
        let engine = try await cluster.node().engine
        let storage = try await ClusterStorage.open(
          ServerFixture.database, in: engine, limits: limits,
          feedSizes: .init(commits: feedCapacity, effort: feedEffort), responseRetention: responseRetention)
        self.storage = storage
        database = HostedDatabase(
          id: ServerFixture.database, storage: storage,
          transactions: ClusterTransactions(of: storage, limits: limits, metrics: nil), limits: limits)
        end = { await cluster.close() }
        return
      }
    #endif
    let fixture = try StorageFixture(
      clock: clock, feedCapacity: feedCapacity, feedEffort: feedEffort, windowBytes: limits.windowBytes,
      retention: HistoryRetention(limits), responseRetention: responseRetention, limits: limits)
    (storage, database) = (fixture.storage, fixture.database)
    end = {}
  }

  deinit { Task { [end] in await end() } }

  @discardableResult
  func commit(_ mutations: Mutation...) async throws -> SnapshotVersion {
    try await storage.commit(CommitRequest(mutations: mutations)).version
  }

  @discardableResult
  func set(_ path: String, _ fields: MapValue = [:]) async throws -> SnapshotVersion {
    try await commit(.set(key(path), fields))
  }
}

extension ServerStorage {
  /// Reads the whole result of a query.
  func run(_ query: Query, at version: SnapshotVersion?) async throws -> QueryAnswer {
    var page = try await self.page(of: query, after: nil, at: version)
    var documents = page.answer.documents
    while let next = page.next {
      page = try await self.page(of: query, after: next, at: page.answer.readVersion)
      documents += page.answer.documents
    }
    return QueryAnswer(documents: documents, readVersion: page.answer.readVersion, execution: page.answer.execution)
  }
}
