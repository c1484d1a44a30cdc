#if PostgreSQL
  import HearthModel
  import HearthPostgres
  import PostgresSupport
  import Synchronization
  import TestSupport
  import Testing

  @testable import HearthServer

  @Suite(
    "Listeners in a cluster", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"),
    .timeLimit(.minutes(5)))
  struct ClusterListenerTests {
    private static let all = Query(path: path("c"))

    @Test("the first snapshot of a listener has what was acknowledged on another node before")
    func firstSnapshot() async throws {
      try await ClusterFixture.withCluster { cluster in
        let (one, two) = (try await cluster.served(), try await cluster.served())
        var blank = Listener(two)
        #expect(try await blank.add(Self.all, id: 1) == ["add 1", "current 1", "snapshot"])
        try await one.storage.set("c/a")
        var listener = Listener(two)
        #expect(try await listener.add(Self.all) == ["add 2", "c/a in 2", "current 2", "snapshot"])
        #expect(try await blank.catchUp() == ["c/a in 1", "snapshot"])
      }
    }

    @Test("a token of one node is resumed on another one")
    func tokens() async throws {
      try await ClusterFixture.withCluster { cluster in
        let (one, two) = (try await cluster.served(), try await cluster.served())
        try await one.storage.set("c/a")
        var first = Listener(one)
        _ = try await first.add(Self.all)
        try await two.storage.set("c/b")
        try await one.storage.commit(.delete(key("c/a")))
        var second = Listener(two)
        #expect(
          try await second.add(Self.all, token: first.token)
            == ["add 2", "c/a deleted 2", "c/b in 2", "current 2", "snapshot"])
      }
    }

    @Test("commits of one node reach the listeners of another, by hints or by polls alone", arguments: [true, false])
    func commitsOfOthers(hasHints: Bool) async throws {
      try await ClusterFixture.withCluster { cluster in
        var hooks = ClusterEngine.Hooks()
        hooks.sendsHints = hasHints
        let one = try await cluster.served(hooks: hooks)
        // A poll alone would be too late for the test.
        let two = try await cluster.served(hooks: hooks, polling: hasHints ? .seconds(3_600) : .milliseconds(20))
        try await one.storage.set("c/first")
        var listener = Listener(two)
        _ = try await listener.add(Self.all)
        for number in 0..<5 {
          try await one.storage.set("c/\(number)")
          let feed = two.feed
          let version = try await one.storage.currentVersion()
          try await waitUntil { feed.latestVersion >= version }
          #expect(try await listener.catchUp() == ["c/\(number) in 2", "snapshot"])
        }
      }
    }

    @Test("listeners of databases that do not exist hear of their first commits, which another node makes")
    func absentDatabases() async throws {
      try await ClusterFixture.withCluster { cluster in
        let ids = (0..<40).map { DatabaseID(projectID: "absent-\($0)") }
        var hooks = ClusterEngine.Hooks()
        hooks.sendsHints = false
        let served = try await cluster.served(ids, hooks: hooks)
        for one in served { _ = one.feed.join(.query(Self.all), by: one.feed.subscribe {}) }
        let other = try await cluster.node(hooks: hooks)
        for index in [3, 39, 17] {
          let feed = served[index].feed
          for mutation in [Mutation.set(key("c/a"), [:]), .delete(key("c/a"))] {
            let version = try await other.storage(ids[index]).commit(mutation)
            try await waitUntil { feed.latestVersion >= version }
          }
        }
        #expect(Set([3, 39, 17].map { served[$0].storage.known.number }) == [1, 2, 3])
      }
    }

    @Test("each commit of two nodes reaches the listeners of both, once and in order")
    func bothNodes() async throws {
      try await ClusterFixture.withCluster { cluster in
        let nodes = [try await cluster.served(), try await cluster.served()]
        try await nodes[0].storage.set("c/0")
        for node in nodes { try await node.storage.catchUpFeed(seen: nil) }
        let seen = try nodes.map { try SeenCommits($0.feed) }
        try await withThrowingTaskGroup(of: Void.self) { group in
          for writer in 0..<4 {
            group.addTask {
              for number in 0..<20 { try await nodes[writer % 2].storage.set("c/\(writer)-\(number)") }
            }
          }
          try await group.waitForAll()
        }
        let latest = try await nodes[0].storage.currentVersion()
        for node in nodes { try await node.storage.catchUpFeed(seen: nil) }
        let logged = try await cluster.execute("SELECT version FROM hearth_changes ORDER BY version")
          .map { SnapshotVersion(microseconds: try $0.int64(0)) }.dropFirst()
        for commits in seen {
          let versions = commits.versions
          #expect(versions == Array(logged))
          #expect(versions.last == latest)
        }
        // Nothing has raised a version for its own sake.
        let raised = try await cluster.execute(
          "SELECT version FROM hearth_commits WHERE database > 0 AND version NOT IN (SELECT version FROM hearth_changes)"
        )
        #expect(raised.isEmpty)
      }
    }

    @Test("a change with many documents, and one with large ones, reach the listeners of another node")
    func largeCommits() async throws {
      try await ClusterFixture.withCluster { cluster in
        let (one, two) = (try await cluster.served(), try await cluster.served())
        try await one.storage.set("c/first")
        var listener = Listener(two)
        _ = try await listener.add(Self.all)
        _ = try await one.storage.commit(
          CommitRequest(mutations: (0..<4_500).map { .set(key("c/d\($0)"), ["n": $0.value]) }))
        try await two.storage.catchUpFeed(seen: nil)
        #expect(try await listener.catchUp().count { $0.hasSuffix(" in 2") } == 4_500)
        let text = Value.string(String(repeating: "x", count: 900_000))
        for number in 0..<24 { try await one.storage.set("c/large\(number)", ["text": text]) }
        try await two.storage.catchUpFeed(seen: nil)
        #expect(try await listener.catchUp().count { $0.hasPrefix("c/large") } == 24)
      }
    }

    @Test("when the history of the server is another one, streams end, their tokens lead to a reset, and versions rise")
    func newHistory() async throws {
      try await ClusterFixture.withCluster { cluster in
        let node = try await cluster.served()
        try await node.storage.set("c/a")
        var listener = Listener(node)
        _ = try await listener.add(Self.all)
        let (token, latest) = (listener.token, try await node.storage.currentVersion())
        let former = node.storage.epochs.all.map(\.id)
        // As if the server were a promoted standby, or a restored backup, that lacks the newest commit.
        try await cluster.execute(
          """
          WITH former AS (UPDATE hearth_cluster SET timeline = timeline - 1)
          DELETE FROM hearth_commits WHERE version = \(latest.microseconds)
          """)
        let other = try await cluster.served()
        #expect(other.storage.epochs.all.map(\.id) != former)
        try await node.storage.catchUpFeed(seen: nil)
        #expect(node.storage.epochs.all.map(\.id) == other.storage.epochs.all.map(\.id))
        let error = await #expect(throws: StatusError.self) { try await listener.catchUp() }
        #expect(error?.code == .unavailable)
        #expect(try await other.storage.set("c/b") > latest)
        var next = Listener(node)
        #expect(try await next.add(Self.all, token: token).prefix(2) == ["add 2", "reset 2"])
      }
    }
  }

  /// The commits that a feed publishes for listeners of collection `c`.
  private final class SeenCommits: Sendable {
    private let feed: ChangeFeed
    private let subscriber: ChangeFeed.SubscriberID
    private let start: SnapshotVersion

    init(_ feed: ChangeFeed) throws {
      self.feed = feed
      start = feed.latestVersion
      subscriber = feed.subscribe {}
      _ = feed.join(.query(Query(path: path("c"))), by: subscriber)
    }

    /// The versions of the documents that have changed.
    var versions: [SnapshotVersion] {
      feed.match()
      return feed.take(after: start, by: subscriber).changes.flatMap { $0.changes.map(\.document.document.version) }
    }
  }

  /// A database of a node, and what brings the commits of others to its listeners.
  struct ServedDatabase: ListenedFixture {
    let storage: ClusterStorage
    let database: HostedDatabase
    let follower: ClusterFollower
    var feed: ChangeFeed { storage.feed }
  }

  extension ClusterFixture {
    func served(
      hooks: ClusterEngine.Hooks = .init(), polling: Duration = .milliseconds(20), port: Int? = nil
    ) async throws -> ServedDatabase {
      try await served([ServerFixture.database], hooks: hooks, polling: polling, port: port)[0]
    }

    /// Some databases of one node.
    func served(
      _ ids: [DatabaseID], hooks: ClusterEngine.Hooks = .init(), polling: Duration = .milliseconds(20), port: Int? = nil
    ) async throws -> [ServedDatabase] {
      let engine = try await node(port: port, polling: polling, hooks: hooks).engine
      var storages: [ClusterStorage] = []
      for id in ids { storages.append(try await ClusterStorage.open(id, in: engine)) }
      let follower = ClusterFollower(engine) { [storages] in storages }
      try follower.begin()
      follow(follower)
      return storages.map { storage in
        let transactions = ClusterTransactions(of: storage, limits: DatabaseLimits(), metrics: nil)
        return ServedDatabase(
          storage: storage,
          database: HostedDatabase(id: storage.databaseID, storage: storage, transactions: transactions),
          follower: follower)
      }
    }
  }
#endif
