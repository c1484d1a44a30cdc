import HearthModel
import HearthWire
import Synchronization
import Testing

@testable import HearthServer

@Suite("Reading ahead of a stream")
struct ReadAheadTests {
  /// The documents of a stream that were read and sent.
  private final class Balance: Sendable {
    private struct State {
      var read = 0
      var sent = 0
      var reads = 0
      /// The most documents that were read and not sent when another read began.
      var greatestRest = 0
    }

    private let state = Mutex(State())
    var reads: Int { state.withLock { $0.reads } }
    var sent: Int { state.withLock { $0.sent } }
    var greatestRest: Int { state.withLock { $0.greatestRest } }

    func beginRead() {
      state.withLock { state in
        state.reads += 1
        state.greatestRest = max(state.greatestRest, state.read - state.sent)
      }
    }

    func endRead(_ count: Int) { state.withLock { $0.read += count } }
    func send(_ count: Int) { state.withLock { $0.sent += count } }
  }

  private static func listen() async throws -> Balance {
    let (fixture, balance) = (try StorageFixture(), Balance())
    _ = try await fixture.storage.commit(
      CommitRequest(mutations: (0..<2_000).map { .set(key("c/d\($0)"), ["n": $0.value]) }))
    let observed = HostedDatabase(
      id: ServerFixture.database, storage: ObservedStorage(storage: fixture.storage, balance: balance),
      clock: fixture.clock.clock)
    let subscriber = fixture.storage.feed.subscribe {}
    var session = ListenSession(database: observed, subscriber: subscriber, isBehind: { true }) { messages in
      balance.send(
        try messages.flatMap { try $0.decoded }.count { response in
          if case .documentChange = response { true } else { false }
        })
    }
    let request = TargetRequest(
      targetID: 2, target: Query(path: path("c")).target, purpose: .listen, resumeToken: [], readTime: nil,
      expectedCount: nil)
    try await session.handle(ServerFixture.translator.encode(WatchRequest.addTarget(request)))
    return balance
  }

  @Test("a stream whose client is behind reads the next piece only when the one before is passed on")
  func behind() async throws {
    let balance = try await Self.listen()
    #expect(balance.sent == 2_000)
    #expect(balance.reads > 2)
    #expect(balance.greatestRest == 0)
  }

  /// Notes the pieces of results that are read.
  private final class ObservedStorage: ServerStorage {
    let storage: EmbeddedStorage
    let balance: Balance

    init(storage: EmbeddedStorage, balance: Balance) {
      self.storage = storage
      self.balance = balance
    }

    func page(
      of query: Query, after cursor: QueryCursor?, at version: SnapshotVersion?
    ) async throws(StatusError) -> QueryPage {
      balance.beginRead()
      let page = try await storage.page(of: query, after: cursor, at: version)
      balance.endRead(page.answer.documents.count)
      return page
    }

    var feed: ChangeFeed { storage.feed }
    var locks: TransactionLocks { storage.locks }
    var epochs: Epochs { storage.epochs }
    func use() -> StorageUse { storage.use() }
    func trimHistory() async { await storage.trimHistory() }

    func commit(_ request: CommitRequest) async throws(StatusError) -> CommitOutcome {
      try await storage.commit(request)
    }

    func documents(
      for keys: [DocumentKey], at version: SnapshotVersion?
    ) async throws(StatusError) -> QueryAnswer {
      try await storage.documents(for: keys, at: version)
    }

    func firstDocuments(
      of keys: ArraySlice<DocumentKey>, at version: SnapshotVersion?
    ) async throws(StatusError) -> QueryAnswer {
      try await storage.firstDocuments(of: keys, at: version)
    }

    func run(_ query: Query, at version: SnapshotVersion?) async throws(StatusError) -> QueryAnswer {
      try await storage.run(query, at: version)
    }

    func plan(of query: Query) async throws(StatusError) -> QueryAnswer { try await storage.plan(of: query) }

    func aggregate(
      _ aggregations: [Aggregation], over query: Query, skipping offset: Int, at version: SnapshotVersion?
    ) async throws(StatusError) -> AggregateAnswer {
      try await storage.aggregate(aggregations, over: query, skipping: offset, at: version)
    }

    func count(of query: Query, at version: SnapshotVersion) async throws(StatusError) -> Int {
      try await storage.count(of: query, at: version)
    }

    func changes(
      of source: WatchSource, after start: SnapshotVersion, through end: SnapshotVersion
    ) async throws(StatusError) -> LoggedDifference? {
      try await storage.changes(of: source, after: start, through: end)
    }

    func currentVersion() async throws(StatusError) -> SnapshotVersion { try storage.currentVersion() }

    func snapshot(at readTime: Timestamp) async throws(StatusError) -> SnapshotVersion {
      try await storage.snapshot(at: readTime)
    }

    func collectionIDs(
      under parent: ResourcePath, at version: SnapshotVersion?
    ) async throws(StatusError) -> [String] {
      try await storage.collectionIDs(under: parent, at: version)
    }

    func partitionPoints(
      of query: Query, count: Int, minimumSize: Int, at version: SnapshotVersion?
    ) async throws(StatusError) -> PartitionAnswer {
      try await storage.partitionPoints(of: query, count: count, minimumSize: minimumSize, at: version)
    }

    func declare(_ definitions: [IndexDefinition]) async { await storage.declare(definitions) }
    func close() async { await storage.close() }
  }
}
