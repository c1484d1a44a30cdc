#if PostgreSQL
  import Foundation
  import HearthModel
  import HearthPostgres
  import PostgresSupport
  import Synchronization
  import TestSupport
  import Testing

  @testable import HearthServer

  @Suite(
    "A cluster in trouble", .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"),
    .timeLimit(.minutes(5)))
  struct ClusterTroubleTests {
    /// A commit whose connection is cut after so many bytes of its second round trip, or of the answer to that.
    private struct Cut: CustomTestStringConvertible, Sendable {
      var direction: FaultyProxy.Direction
      var bytes: Int

      var testDescription: String { "\(direction) after \(bytes) bytes" }
      static let all =
        [0, 1, 40, 400].map { Cut(direction: .toServer, bytes: $0) }
        + [0, 1, 30].map { Cut(direction: .toClient, bytes: $0) }
    }

    @Test("a commit whose connection is cut is answered as it was stored, and stored once", arguments: Cut.all)
    private func cutCommit(cut: Cut) async throws {
      try await ClusterFixture.withCluster { cluster in
        let other = try await cluster.node().storage()
        try await other.set("c/a", ["n": 0.value])
        let proxy = try FaultyProxy(to: cluster.server.port)
        defer { proxy.close() }
        let isArmed = Atomic(false)
        let node = try await cluster.node(
          port: proxy.port,
          hooks: .init(betweenRoundTrips: {
            // Once: the look-up of the outcome must get through.
            guard isArmed.exchange(false, ordering: .relaxed) else { return }
            proxy.plan(.cut, cut.direction, afterBytes: cut.bytes)
          }))
        let storage = try await node.storage()
        #expect(try await storage.number("c/a") == 0)
        isArmed.store(true, ordering: .relaxed)
        var isStored = false
        do {
          try await storage.commit(increment("c/a"))
          isStored = true
        } catch let error as StatusError {
          #expect(error.code == .unavailable)
        }
        proxy.clearPlans()
        #expect(try await other.number("c/a") == (isStored ? 1 : 0))
        try await storage.commit(increment("c/a"))
        #expect(try await other.number("c/a") == (isStored ? 2 : 1))
      }
    }

    @Test(
      "while a node stands still between its round trips, another one goes on, and the node reports nothing as stored")
    func stoppedNode() async throws {
      try await ClusterFixture.withCluster { cluster in
        let other = try await cluster.node().storage()
        try await other.set("c/a", ["n": 0.value])
        let isArmed = Atomic(true)
        let gate = Gate()
        let stopped = try await cluster.node(
          hooks: .init(betweenRoundTrips: {
            guard isArmed.exchange(false, ordering: .relaxed) else { return }
            gate.block()
          })
        ).storage()
        let commit = Task { try await stopped.commit(increment("c/a")) }
        await gate.reached()
        let start = ContinuousClock.now
        try await other.commit(increment("c/a"))
        // The server ends a session that is idle in a transaction for two seconds.
        #expect(ContinuousClock.now - start < .seconds(20))
        gate.open()
        // Nothing was stored, so it is repeated, or refused.
        let result = await commit.result
        let isStored = (try? result.get()) != nil
        #expect(try await other.number("c/a") == (isStored ? 2 : 1))
      }
    }

    @Test("after a restart of the server commits and reads go on, and what was acknowledged is there")
    func restart() async throws {
      let server = try await PostgresServer.start(isDurable: true)
      try await ClusterFixture.withCluster(on: server) { cluster in
        let storages = try await cluster.storages(2)
        for number in 0..<10 { try await storages[number % 2].set("c/\(number)") }
        try await server.stop(.immediate)
        let failed = await failure { try await storages[0].set("c/down") }
        #expect(failed?.code == .unavailable)
        try await server.start()
        for number in 0..<10 {
          let document = try await retried { try await storages[0].document("c/\(number)") }
          #expect(document.isFound)
        }
        try await retried { try await storages[1].set("c/up") }
        #expect(try await storages[0].document("c/up").isFound)
        #expect(try await storages[0].document("c/down").isMissing)
      }
      try await server.stop()
    }

    @Test("no acknowledged commit is lost, and none is doubled, while connections are cut again and again")
    func repeatedCuts() async throws {
      try await ClusterFixture.withCluster { cluster in
        let proxy = try FaultyProxy(to: cluster.server.port)
        defer { proxy.close() }
        let storages = [try await cluster.node(port: proxy.port).storage(), try await cluster.node().storage()]
        try await storages[1].set("c/first")
        let cutting = Task {
          while !Task.isCancelled {
            proxy.cutAll()
            try await Task.sleep(for: .milliseconds(40))
          }
        }
        let acknowledged = await withTaskGroup(of: [String].self) { group in
          for writer in 0..<4 {
            group.addTask {
              var stored: [String] = []
              for number in 0..<20 {
                let path = "c/w\(writer)n\(number)"
                // A request that is refused, or whose outcome stays unknown, is not repeated.
                if (try? await storages[writer % 2].commit(increment(path))) != nil { stored.append(path) }
              }
              return stored
            }
          }
          return await group.reduce(into: []) { $0 += $1 }
        }
        cutting.cancel()
        #expect(!acknowledged.isEmpty)
        for path in acknowledged { #expect(try await storages[1].number(path) == 1) }
        let doubled = try await cluster.execute(
          "SELECT 1 FROM hearth_changes WHERE is_delete = false GROUP BY collection, id HAVING count(*) > 1")
        #expect(doubled.isEmpty)
      }
    }

    private func failure(_ body: () async throws -> Void) async -> StatusError? {
      do {
        try await body()
        return nil
      } catch {
        return error as? StatusError
      }
    }
  }

  /// Blocks a thread until it is opened.
  private final class Gate: Sendable {
    private let (isReached, reach) = AsyncStream<Void>.makeStream()
    private let condition = Mutex(false)

    func block() {
      reach.finish()
      while !condition.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.005) }
    }

    func reached() async { for await _ in isReached {} }
    func open() { condition.withLock { $0 = true } }
  }
#endif
