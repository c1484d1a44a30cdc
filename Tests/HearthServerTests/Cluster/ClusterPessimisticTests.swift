#if PostgreSQL
  import HearthModel
  import HearthPostgres
  import PostgresSupport
  import TestSupport
  import Testing

  @testable import HearthServer

  @Suite(
    "Pessimistic transactions in a cluster",
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"), .timeLimit(.minutes(5)))
  struct ClusterPessimisticTests {
    private static let all = Query(path: path("c"))

    /// Commits, and gives the code of a failure.
    private func commit(
      _ mutations: [Mutation], ending id: [UInt8]? = nil, on node: ClusterTransactions
    ) -> Task<StatusCode?, Never> {
      Task {
        do throws(StatusError) {
          let request = CommitRequest(mutations: mutations)
          if let id {
            _ = try await node.commit(request, ending: id)
          } else {
            _ = try await node.storage.commit(request)
          }
          return nil
        } catch {
          return error.code
        }
      }
    }

    private func begin(_ node: ClusterTransactions, repeating former: [UInt8] = []) async throws -> [UInt8] {
      try await node.begin(.pessimistic, repeating: former, at: nil)
    }

    private func read(_ id: [UInt8], _ path: String, on node: ClusterTransactions) async throws -> Document {
      #expect(try await node.read(id, keys: [key(path)], query: nil) == nil, "the present is read")
      return try await node.storage.document(path)
    }

    private func failure(of body: () async throws -> Void) async -> StatusCode? {
      do {
        try await body()
        return nil
      } catch {
        return (error as? StatusError)?.code
      }
    }

    private func awaitWaiting(_ count: Int, on node: ClusterTransactions) async throws {
      try await waitUntil { node.use().waitingRequests == count }
    }

    @Test(
      "a transaction that one node has begun is read on another and committed on a third, and others wait everywhere")
    func anyNode() async throws {
      try await ClusterFixture.withCluster { cluster in
        let nodes = try await cluster.transactions(3)
        try await nodes[0].storage.set("c/a", ["n": 1.value])
        let id = try await begin(nodes[0])
        _ = try await read(id, "c/a", on: nodes[1])
        let write = commit([.set(key("c/a"), ["n": 5.value])], on: nodes[1])
        try await awaitWaiting(1, on: nodes[1])
        #expect(try await nodes[2].read(id, keys: [], query: Self.all) == nil)
        let outcome = try await nodes[2].commit(CommitRequest(mutations: [increment("c/a")]), ending: id)
        #expect(await write.value == nil)
        #expect(try await nodes[0].storage.number("c/a") == 5)
        // A client whose answer was lost repeats the commit anywhere.
        #expect(try await nodes[1].commit(CommitRequest(mutations: [increment("c/a")]), ending: id) == outcome)
        #expect(try await nodes[0].storage.number("c/a") == 5)
        #expect(try await cluster.execute("SELECT 1 FROM hearth_reads").isEmpty)
      }
    }

    @Test("a write outside of transactions waits for an older one, and ends a younger one, on whatever nodes")
    func writesOutside() async throws {
      try await ClusterFixture.withCluster { cluster in
        let nodes = try await cluster.transactions(3)
        try await nodes[0].storage.set("c/a", ["n": 1.value])
        let old = try await begin(nodes[0])
        _ = try await read(old, "c/a", on: nodes[0])
        let write = commit([increment("c/a")], on: nodes[1])
        try await awaitWaiting(1, on: nodes[1])
        let young = try await begin(nodes[2])
        #expect(try await read(young, "c/a", on: nodes[2]).isFound)
        // The write does not end it as long as it waits itself.
        _ = try await read(young, "c/b", on: nodes[0])
        #expect(await commit([.set(key("c/a"), ["n": 10.value])], ending: old, on: nodes[0]).value == nil)
        #expect(await write.value == nil)
        #expect(try await nodes[2].storage.number("c/a") == 11)
        #expect(await failure { _ = try await read(young, "c/b", on: nodes[0]) } == .aborted)
        #expect(await commit([increment("c/x")], ending: young, on: nodes[1]).value == .aborted)
        // Its next attempt is older than later writes.
        let again = try await begin(nodes[1], repeating: young)
        _ = try await read(again, "c/a", on: nodes[1])
        let later = commit([increment("c/a")], on: nodes[2])
        try await awaitWaiting(1, on: nodes[2])
        #expect(await commit([increment("c/a")], ending: again, on: nodes[0]).value == nil)
        #expect(await later.value == nil)
        #expect(try await nodes[2].storage.number("c/a") == 13)
      }
    }

    @Test(
      "a write waits exactly if it changes what the transaction has read", arguments: ClusterTransactionTests.Case.all)
    func reads(of test: ClusterTransactionTests.Case) async throws {
      guard !test.between.isEmpty else { return }
      try await ClusterFixture.withCluster { cluster in
        let nodes = try await cluster.transactions(2)
        try await nodes[0].storage.commit(.set(key("c/small"), ["n": 1.value]), .set(key("c/large"), ["n": 20.value]))
        let id = try await begin(nodes[0])
        #expect(try await nodes[0].read(id, keys: test.keys, query: test.query) == nil)
        let write = commit(test.between, on: nodes[1])
        if test.isConflict { try await awaitWaiting(1, on: nodes[1]) } else { #expect(await write.value == nil) }
        #expect(await commit([.set(key("out/x"), [:])], ending: id, on: nodes[0]).value == nil)
        #expect(await write.value == nil)
      }
    }

    @Test("what a transaction has read of a database that does not exist yet is kept when another node creates it")
    func newDatabase() async throws {
      try await ClusterFixture.withCluster { cluster in
        let nodes = try await cluster.transactions(2)
        let id = try await begin(nodes[0])
        #expect(try await !read(id, "c/a", on: nodes[0]).isFound)
        let write = commit([increment("c/a")], on: nodes[1])
        try await awaitWaiting(1, on: nodes[1])
        try await nodes[1].storage.set("c/b")
        // Now under another lock.
        #expect(try await read(id, "c/b", on: nodes[0]).isFound)
        let other = commit([increment("c/b")], on: nodes[1])
        try await awaitWaiting(2, on: nodes[1])
        #expect(await commit([.set(key("c/a"), ["n": 4.value])], ending: id, on: nodes[0]).value == nil)
        #expect(await write.value == nil)
        #expect(await other.value == nil)
        #expect(try await nodes[0].storage.number("c/a") == 5)
      }
    }

    @Test("an optimistic transaction and one without writes take part: they wait, are ended, and leave nothing behind")
    func others() async throws {
      try await ClusterFixture.withCluster { cluster in
        let nodes = try await cluster.transactions(2)
        try await nodes[0].storage.set("c/a", ["n": 1.value])
        let reader = try await begin(nodes[0])
        _ = try await read(reader, "c/a", on: nodes[0])
        let optimistic = try await nodes[1].begin(.optimistic, repeating: [], at: nil)
        #expect(try await nodes[1].read(optimistic, keys: [key("c/a")], query: nil) != nil)
        let write = commit([increment("c/a")], ending: optimistic, on: nodes[1])
        try await awaitWaiting(1, on: nodes[1])
        #expect(await commit([], ending: reader, on: nodes[1]).value == nil)
        #expect(await write.value == nil)
        #expect(try await nodes[0].storage.number("c/a") == 2)
        // One that was ended has no consistent reads.
        let old = try await begin(nodes[0])
        let young = try await begin(nodes[0])
        for id in [old, young] { _ = try await read(id, "c/a", on: nodes[0]) }
        #expect(await commit([increment("c/a")], ending: old, on: nodes[0]).value == nil)
        #expect(await commit([], ending: young, on: nodes[0]).value == .aborted)
        #expect(try await cluster.execute("SELECT 1 FROM hearth_reads WHERE lock_key IS NOT NULL").isEmpty)
      }
    }

    @Test("clearing the database ends transactions, and lets those go on that wait for them")
    func clearing() async throws {
      try await ClusterFixture.withCluster { cluster in
        let nodes = try await cluster.transactions(2)
        try await nodes[0].storage.set("c/a", ["n": 1.value])
        let id = try await begin(nodes[0])
        _ = try await read(id, "c/a", on: nodes[0])
        let write = commit([increment("c/a")], on: nodes[1])
        try await awaitWaiting(1, on: nodes[1])
        try await nodes[0].storage.clear(ResourcePath())
        #expect(await write.value == nil)
        #expect(try await nodes[0].storage.number("c/a") == 1)
        #expect(await failure { _ = try await read(id, "c/a", on: nodes[1]) } == .aborted)
      }
    }

    // MARK: - Contention

    @Test("of counters that many transactions on three nodes increase none is lost, and all get through in the end")
    func counters() async throws {
      try await ClusterFixture.withCluster { cluster in
        let nodes = try await cluster.transactions(3)
        let (clients, rounds) = (6, 6)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for client in 0..<clients {
            group.addTask {
              for round in 0..<rounds { try await increase("c/n", on: nodes, from: client + round) }
            }
          }
          group.addTask {
            for round in 0..<rounds { try await nodes[round % 3].storage.commit(increment("c/n")) }
          }
          try await group.waitForAll()
        }
        #expect(try await nodes[1].storage.number("c/n") == Int64((clients + 1) * rounds))
        #expect(try await cluster.execute("SELECT 1 FROM hearth_reads").isEmpty)
      }
    }

    /// Reads a number and writes the next one, in transactions until one is not aborted. Each call is made at another node.
    private func increase(_ path: String, on nodes: [ClusterTransactions], from first: Int) async throws {
      var (former, number) = ([UInt8](), first)
      func next() -> ClusterTransactions {
        number += 1
        return nodes[number % nodes.count]
      }
      while true {
        let id = try await begin(next(), repeating: former)
        former = id
        do {
          let document = try await read(id, path, on: next())
          var count: Int64 = 0
          if case .integer(let known)? = try document.fields.decoded()["n"] { count = known }
          let write = Mutation.set(key(path), ["n": .integer(count + 1)])
          _ = try await next().commit(CommitRequest(mutations: [write]), ending: id)
          return
        } catch let error as StatusError where error.code == .aborted {
          continue
        }
      }
    }

    // MARK: - Dead nodes

    /// The end of a node in the middle of a transaction.
    enum Death: CaseIterable {
      case closedStorage
      case cutConnections
    }

    @Test("a node that dies holds nothing beyond the lease of its transactions", arguments: Death.allCases)
    func deadNode(death: Death) async throws {
      let clock = ManualClock()
      try await ClusterFixture.withCluster(clock: clock) { cluster in
        let proxy = try FaultyProxy(to: cluster.server.port)
        let dying = ClusterTransactions(
          of: try await cluster.node(port: proxy.port).storage(), limits: DatabaseLimits(), metrics: nil)
        let node = try await cluster.transactions(1)[0]
        try await node.storage.set("c/a", ["n": 1.value])
        let id = try await begin(dying)
        _ = try await read(id, "c/a", on: dying)
        switch death {
        case .closedStorage: await dying.storage.close()
        case .cutConnections: proxy.close()
        }
        clock.advance(seconds: 50)
        let write = commit([increment("c/a")], on: node)
        try await awaitWaiting(1, on: node)
        clock.advance(seconds: 11)
        #expect(await write.value == nil)
        // A client that goes on with the transaction hears of it.
        #expect(await failure { _ = try await read(id, "c/a", on: node) } == .invalidArgument)
        #expect(await commit([increment("c/a")], ending: id, on: node).value == .invalidArgument)
        #expect(try await node.storage.number("c/a") == 2)
        proxy.close()
      }
    }

    @Test("a transaction that is used all the time ends 270 seconds after its start")
    func age() async throws {
      let clock = ManualClock()
      try await ClusterFixture.withCluster(clock: clock) { cluster in
        let nodes = try await cluster.transactions(2)
        let id = try await begin(nodes[0])
        for _ in 0..<5 {
          clock.advance(seconds: 50)
          _ = try await read(id, "c/a", on: nodes[0])
        }
        clock.advance(seconds: 5)
        let write = commit([increment("c/a")], on: nodes[1])
        try await awaitWaiting(1, on: nodes[1])
        clock.advance(seconds: 14)
        _ = try await read(id, "c/a", on: nodes[0])
        #expect(nodes[1].use().waitingRequests == 1)
        clock.advance(seconds: 2)
        #expect(await write.value == nil)
        #expect(await failure { _ = try await read(id, "c/a", on: nodes[0]) } == .invalidArgument)
      }
    }

    @Test("a commit that waits keeps its transaction, however short the lease is")
    func waitingCommit() async throws {
      let clock = ManualClock()
      try await ClusterFixture.withCluster(clock: clock) { cluster in
        var limits = DatabaseLimits()
        limits.transactionIdleTime = .seconds(10)
        let nodes = try await cluster.transactions(2, limits: limits)
        let (old, young) = (try await begin(nodes[0]), try await begin(nodes[0]))
        for id in [old, young] { _ = try await read(id, "c/a", on: nodes[0]) }
        let waiting = commit([increment("c/a")], ending: young, on: nodes[0])
        try await awaitWaiting(1, on: nodes[0])
        for _ in 0..<2 {
          clock.advance(seconds: 6)
          _ = try await read(old, "c/b", on: nodes[1])
        }
        try await nodes[1].rollback(old)
        #expect(await waiting.value == nil)
        #expect(try await nodes[0].storage.number("c/a") == 1)
      }
    }

    @Test("a commit does not wait beyond its time, and its transaction is over then")
    func timeout() async throws {
      let clock = ManualClock()
      try await ClusterFixture.withCluster(clock: clock) { cluster in
        let nodes = try await cluster.transactions(2)
        let (old, young) = (try await begin(nodes[0]), try await begin(nodes[0]))
        for id in [old, young] { _ = try await read(id, "c/a", on: nodes[0]) }
        let waiting = commit([increment("c/a")], ending: young, on: nodes[1])
        try await awaitWaiting(1, on: nodes[1])
        clock.advance(seconds: 21)
        #expect(await waiting.value == .aborted)
        #expect(await failure { _ = try await read(young, "c/a", on: nodes[0]) } == .invalidArgument)
        #expect(await commit([increment("c/a")], ending: old, on: nodes[0]).value == nil)
      }
    }

    @Test("a write is not older than a transaction that was begun before it, however slow its node is")
    func slowNode() async throws {
      let clock = ManualClock()
      try await ClusterFixture.withCluster(clock: clock) { cluster in
        let other = try await cluster.transactions(1)[0]
        try await other.storage.set("c/a", ["n": 1.value])
        var hooks = ClusterEngine.Hooks()
        hooks.betweenRoundTrips = { clock.advance(seconds: 1) }
        let slow = ClusterTransactions(
          of: try await cluster.node(hooks: hooks).storage(), limits: DatabaseLimits(), metrics: nil)
        let id = try await begin(other)
        _ = try await read(id, "c/a", on: other)
        clock.advance(milliseconds: 1)
        let write = commit([increment("c/a")], on: slow)
        try await awaitWaiting(1, on: slow)
        #expect(await commit([.set(key("c/a"), ["n": 5.value])], ending: id, on: other).value == nil)
        #expect(await write.value == nil)
        #expect(try await other.storage.number("c/a") == 6)
      }
    }

    @Test("only so many writes wait because of one document")
    func crowd() async throws {
      try await ClusterFixture.withCluster { cluster in
        var limits = DatabaseLimits()
        limits.waitingWritesPerDocument = 2
        let storage = try await cluster.node().storage(limits: limits)
        let node = ClusterTransactions(of: storage, limits: limits, metrics: nil)
        let id = try await begin(node)
        _ = try await read(id, "c/a", on: node)
        let writes = (0..<2).map { _ in commit([increment("c/a")], on: node) }
        try await awaitWaiting(2, on: node)
        #expect(await commit([increment("c/a")], on: node).value == .aborted)
        #expect(await commit([increment("c/b")], on: node).value == nil)
        try await node.rollback(id)
        for write in writes { #expect(await write.value == nil) }
        #expect(try await storage.number("c/a") == 2)
      }
    }

    @Test("a restart of the server aborts open transactions, whose reads it may have lost")
    func restart() async throws {
      let server = try await PostgresServer.start()
      try await ClusterFixture.withCluster(on: server) { cluster in
        let node = try await cluster.transactions(1)[0]
        try await node.storage.set("c/a")
        let id = try await begin(node)
        _ = try await read(id, "c/a", on: node)
        try await server.stop(.immediate)
        try await server.start()
        try await waitUntil { (try? await node.storage.currentVersion()) != nil }
        #expect(await commit([increment("c/a")], ending: id, on: node).value == .aborted)
        try await node.storage.commit(increment("c/a"))
        #expect(try await node.storage.number("c/a") == 1)
      }
      try await server.stop()
    }
  }
#endif
