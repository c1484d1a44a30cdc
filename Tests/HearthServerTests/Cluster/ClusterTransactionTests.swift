#if PostgreSQL
  import HearthModel
  import HearthPostgres
  import PostgresSupport
  import TestSupport
  import Testing

  @testable import HearthServer

  @Suite(
    "Transactions in a cluster", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"),
    .timeLimit(.minutes(5)))
  struct ClusterTransactionTests {
    private static let all = Query(path: path("c"))
    private static let large = all.with(filter: .field(field("n"), .greaterThan, 10.value))

    private func failure(_ body: () async throws -> Void) async -> StatusCode? {
      do {
        try await body()
        return nil
      } catch {
        return (error as? StatusError)?.code
      }
    }

    @Test("a transaction that one node has begun is read on another and committed on a third")
    func anyNode() async throws {
      try await ClusterFixture.withCluster { cluster in
        let nodes = try await cluster.transactions(3)
        try await nodes[0].storage.set("c/a", ["n": 1.value])
        let id = try await nodes[0].begin(.optimistic, repeating: [], at: nil)
        let version = try await nodes[1].read(id, keys: [key("c/a")], query: nil)
        #expect(try await nodes[2].read(id, keys: [key("c/b")], query: Self.all) == version)
        let outcome = try await nodes[2].commit(CommitRequest(mutations: [increment("c/a")]), ending: id)
        #expect(try await nodes[0].storage.number("c/a") == 2)
        // A client whose answer was lost repeats the commit anywhere.
        #expect(try await nodes[1].commit(CommitRequest(mutations: [increment("c/a")]), ending: id) == outcome)
        #expect(try await nodes[0].storage.number("c/a") == 2)
        let other = await failure {
          _ = try await nodes[1].commit(CommitRequest(mutations: [increment("c/b")]), ending: id)
        }
        #expect(other == .invalidArgument)
      }
    }

    /// The changes between the read and the commit of a transaction, and whether they conflict with it.
    struct Case: CustomTestStringConvertible, Sendable {
      var testDescription: String
      var keys: [DocumentKey] = []
      var query: Query?
      var between: [Mutation]
      var isConflict: Bool

      static let all = [
        Case(testDescription: "nothing", keys: [key("c/small")], query: large, between: [], isConflict: false),
        Case(
          testDescription: "another document", keys: [key("c/small")], between: [increment("c/large")],
          isConflict: false),
        Case(testDescription: "an update", keys: [key("c/small")], between: [increment("c/small")], isConflict: true),
        Case(testDescription: "a delete", keys: [key("c/small")], between: [.delete(key("c/small"))], isConflict: true),
        Case(
          testDescription: "a creation", keys: [key("c/none")], between: [.set(key("c/none"), [:])], isConflict: true),
        Case(
          testDescription: "in a new collection", keys: [key("new/none")], between: [.set(key("new/none"), [:])],
          isConflict: true),
        Case(
          testDescription: "a document that does not match", query: large, between: [increment("c/small")],
          isConflict: false),
        Case(testDescription: "one that matches", query: large, between: [increment("c/large")], isConflict: true),
        Case(
          testDescription: "one that comes to match", query: large, between: [.set(key("c/small"), ["n": 30.value])],
          isConflict: true),
        Case(
          testDescription: "one that ceases to match", query: large, between: [.delete(key("c/large"))],
          isConflict: true),
        Case(
          testDescription: "another collection", query: large, between: [.set(key("d/large"), ["n": 30.value])],
          isConflict: false),
        Case(
          testDescription: "a collection of the group", query: Query(path: ResourcePath(), collectionGroup: "c"),
          between: [.set(key("x/y/c/z"), [:])], isConflict: true),
      ]
    }

    @Test(
      "an optimistic commit is refused exactly if what its transaction has read was changed on another node",
      arguments: Case.all)
    func conflicts(of test: Case) async throws {
      try await ClusterFixture.withCluster { cluster in
        let nodes = try await cluster.transactions(2)
        try await nodes[0].storage.commit(.set(key("c/small"), ["n": 1.value]), .set(key("c/large"), ["n": 20.value]))
        let id = try await nodes[0].begin(.optimistic, repeating: [], at: nil)
        _ = try await nodes[0].read(id, keys: test.keys, query: test.query)
        if !test.between.isEmpty {
          _ = try await nodes[1].storage.commit(CommitRequest(mutations: test.between))
        }
        let code = await failure {
          _ = try await nodes[0].commit(CommitRequest(mutations: [.set(key("out/x"), [:])]), ending: id)
        }
        #expect(code == (test.isConflict ? .aborted : nil))
        #expect(try await nodes[1].storage.document("out/x").isFound != test.isConflict)
        // It is over, either way.
        #expect(await failure { _ = try await nodes[1].read(id, keys: [key("c/a")], query: nil) } != nil)
      }
    }

    @Test("of counters that many transactions on two nodes increase none is lost")
    func counters() async throws {
      try await ClusterFixture.withCluster { cluster in
        let nodes = try await cluster.transactions(2)
        try await nodes[0].storage.set("c/n", ["n": 0.value])
        try await withThrowingTaskGroup(of: Void.self) { group in
          for writer in 0..<4 {
            group.addTask {
              for _ in 0..<8 { try await increase("c/n", on: nodes[writer % 2]) }
            }
          }
          try await group.waitForAll()
        }
        #expect(try await nodes[1].storage.number("c/n") == 32)
      }
    }

    /// Reads a number and writes the next one, in transactions until one is not aborted.
    private func increase(_ path: String, on node: ClusterTransactions) async throws {
      while true {
        let id = try await node.begin(.optimistic, repeating: [], at: nil)
        do {
          let version = try await node.read(id, keys: [key(path)], query: nil)
          let document = try await node.storage.documents(for: [key(path)], at: version).documents[0]
          guard case .integer(let number)? = try document.fields.decoded()["n"] else { return }
          let write = Mutation.set(key(path), ["n": .integer(number + 1)])
          _ = try await node.commit(CommitRequest(mutations: [write]), ending: id)
          return
        } catch let error as StatusError where error.code == .aborted {
          continue
        }
      }
    }

    @Test("all reads of a transaction show the state of its first one, and those of a read-only one too")
    func snapshots() async throws {
      try await ClusterFixture.withCluster { cluster in
        let nodes = try await cluster.transactions(2)
        try await nodes[0].storage.set("c/a", ["n": 1.value])
        for isolation in [TransactionIsolation.optimistic, .readOnly] {
          let id = try await nodes[0].begin(isolation, repeating: [], at: nil)
          let acknowledged = try await nodes[1].storage.commit(increment("c/a"))
          let version = try #require(try await nodes[0].read(id, keys: [key("c/a")], query: nil))
          #expect(version == acknowledged)
          try await nodes[1].storage.commit(increment("c/a"))
          #expect(try await nodes[1].read(id, keys: [], query: Self.all) == version)
          try await nodes[0].rollback(id)
          #expect(await failure { _ = try await nodes[1].read(id, keys: [], query: Self.all) } == .invalidArgument)
        }
      }
    }

    @Test("transactions of an ended era, which are over, count no more")
    func endedEra() async throws {
      try await ClusterFixture.withCluster(clock: ManualClock()) { cluster in
        var limits = DatabaseLimits()
        limits.transactions = 2
        limits.transactionReads = 3
        let node = try await cluster.transactions(1, limits: limits)[0]
        for number in 0..<2 {
          let id = try await node.begin(.optimistic, repeating: [], at: nil)
          _ = try await node.read(id, keys: [key("c/\(number)")], query: nil)
        }
        #expect(await failure { _ = try await node.begin(.optimistic, repeating: [], at: nil) } == .resourceExhausted)
        // As after a crash of PostgreSQL.
        try await cluster.execute("DELETE FROM hearth_era")
        let id = try await node.begin(.optimistic, repeating: [], at: nil)
        _ = try await node.read(id, keys: (0..<3).map { key("c/\($0)") }, query: nil)
      }
    }

    @Test("ids that are invented, or of another database, are refused, and times and limits end transactions")
    func limits() async throws {
      let clock = ManualClock()
      try await ClusterFixture.withCluster(clock: clock) { cluster in
        var limits = DatabaseLimits()
        limits.transactions = 2
        limits.readsPerTransaction = 3
        let node = try await cluster.transactions(1, limits: limits)[0]
        let id = try await node.begin(.optimistic, repeating: [], at: nil)
        var invented = id
        invented[10] ^= 1
        #expect(await failure { _ = try await node.read(invented, keys: [], query: nil) } == .invalidArgument)
        let other = try await cluster.node().storage(DatabaseID(projectID: "other"))
        let foreign = ClusterTransactions(of: other, limits: limits, metrics: nil)
        #expect(await failure { _ = try await foreign.read(id, keys: [], query: nil) } == .invalidArgument)

        _ = try await node.read(id, keys: (0..<3).map { key("c/\($0)") }, query: nil)
        #expect(await failure { _ = try await node.read(id, keys: [key("c/4")], query: nil) } == .invalidArgument)
        _ = try await node.begin(.optimistic, repeating: [], at: nil)
        #expect(await failure { _ = try await node.begin(.optimistic, repeating: [], at: nil) } == .resourceExhausted)
        clock.advance(seconds: 61)
        #expect(await failure { _ = try await node.read(id, keys: [], query: nil) } == .invalidArgument)
        let late = try await node.begin(.optimistic, repeating: [], at: nil)
        for _ in 0..<5 {
          clock.advance(seconds: 50)
          _ = try await node.read(late, keys: [], query: nil)
        }
        clock.advance(seconds: 50)
        #expect(
          await failure { _ = try await node.commit(CommitRequest(mutations: []), ending: late) } == .invalidArgument)
      }
    }

    @Test("a restart of the server aborts open transactions, whose reads it may have lost")
    func restart() async throws {
      let server = try await PostgresServer.start()
      try await ClusterFixture.withCluster(on: server, clock: ManualClock()) { cluster in
        let node = try await cluster.transactions(1)[0]
        try await node.storage.set("c/a")
        let id = try await node.begin(.optimistic, repeating: [], at: nil)
        _ = try await node.read(id, keys: [key("c/a")], query: nil)
        try await server.stop(.immediate)
        try await server.start()
        try await waitUntil { (try? await node.storage.currentVersion()) != nil }
        let code = await failure { _ = try await node.commit(CommitRequest(mutations: [increment("c/a")]), ending: id) }
        #expect(code == .aborted)
      }
      try await server.stop()
    }

    @Test(
      "a crash of one process of the server aborts open transactions, whose reads it may have lost, and nobody waits for them",
      arguments: [false, true])
    func crashOfProcess(keepsRows: Bool) async throws {
      let server = try await PostgresServer.start()
      try await ClusterFixture.withCluster(on: server, clock: ManualClock()) { cluster in
        let node = try await cluster.transactions(1)[0]
        try await node.storage.set("c/a", ["n": 1.value])
        var ids: [[UInt8]] = []
        for isolation in [TransactionIsolation.optimistic, .pessimistic] {
          let id = try await node.begin(isolation, repeating: [], at: nil)
          _ = try await node.read(id, keys: [key("c/a")], query: nil)
          ids.append(id)
        }
        // Takes with it to the disk what was written before.
        if keepsRows { try await node.storage.set("c/b") }
        let process = try await cluster.execute(
          "SELECT pid::bigint FROM pg_stat_activity WHERE application_name LIKE 'hearth%' LIMIT 1"
        ).only().int64(0)
        server.kill(session: Int32(process))
        try await waitUntil { (try? await cluster.execute("SELECT 1 FROM hearth_era"))?.isEmpty == true }
        try await waitUntil { (try? await node.storage.set("c/a", ["n": 2.value])) != nil }
        if keepsRows {
          #expect(try await cluster.execute("SELECT count(*) FROM hearth_transactions").only().int64(0) == 2)
        }
        for id in ids {
          #expect(await failure { _ = try await node.read(id, keys: [key("c/a")], query: nil) } == .aborted)
          let code = await failure {
            _ = try await node.commit(CommitRequest(mutations: [increment("c/a")]), ending: id)
          }
          #expect(code == .aborted)
        }
        let next = try await node.begin(.optimistic, repeating: [], at: nil)
        _ = try await node.read(next, keys: [key("c/a")], query: nil)
        _ = try await node.commit(CommitRequest(mutations: [increment("c/a")]), ending: next)
        #expect(try await node.storage.number("c/a") == 3)
      }
      try await server.stop()
    }

    @Test("an optimistic transaction is aborted if the history since its reads was removed")
    func trimmedHistory() async throws {
      try await ClusterFixture.withCluster { cluster in
        var limits = DatabaseLimits()
        limits.historyTime = .zero
        let storage = try await cluster.node().storage(limits: limits)
        let node = ClusterTransactions(of: storage, limits: limits, metrics: nil)
        try await storage.set("c/a", ["n": 1.value])
        let id = try await node.begin(.optimistic, repeating: [], at: nil)
        _ = try await node.read(id, keys: [], query: Query(path: path("c")))
        try await storage.set("c/a", ["n": 2.value])
        try await storage.set("d/a")
        await storage.trimHistory()
        let code = await failure { _ = try await node.commit(CommitRequest(mutations: [increment("c/a")]), ending: id) }
        #expect(code == .aborted)
      }
    }
  }

  extension ClusterFixture {
    /// The transactions of the same database on nodes of their own.
    func transactions(_ count: Int, limits: DatabaseLimits = DatabaseLimits()) async throws -> [ClusterTransactions] {
      try await storages(count).map { ClusterTransactions(of: $0, limits: limits, metrics: nil) }
    }
  }
#endif
