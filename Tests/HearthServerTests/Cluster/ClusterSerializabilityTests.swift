#if PostgreSQL
  import Foundation
  import HearthHistory
  import HearthModel
  import HearthPostgres
  import PostgresSupport
  import Synchronization
  import TestSupport
  import Testing

  @testable import HearthServer

  /// Clients carry out transactions on the same lists at once, each call of a transaction at a node of its own. One order of all transactions
  /// has to explain what each has read (``HistoryChecker``).
  ///
  /// `HEARTH_SECONDS` makes a run longer, and `HEARTH_SEED` repeats its choices.
  @Suite(
    "The history of transactions in a cluster",
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"), .serialized, .timeLimit(.minutes(20)))
  struct ClusterSerializabilityTests {
    private static let duration = Duration.seconds(
      ProcessInfo.processInfo.environment["HEARTH_SECONDS"].flatMap { Int($0) } ?? 4)
    /// The faults that occur during the run.
    enum Trouble: CaseIterable {
      case none
      /// The connections of a node are cut again and again.
      case cutConnections
      /// The PostgreSQL server ends as in a crash, and is started again.
      case restarts
    }

    @Test("is strictly serialisable, whatever goes wrong in the meantime", arguments: Trouble.allCases)
    func history(trouble: Trouble) async throws {
      let seed =
        ProcessInfo.processInfo.environment["HEARTH_SEED"].flatMap { UInt64($0) } ?? .random(in: 1..<1_000_000)
      let server = try await PostgresServer.start()
      try await ClusterFixture.withCluster(on: server) { cluster in
        let proxy = try FaultyProxy(to: server.port)
        defer { proxy.close() }
        let nodes = [
          try await cluster.node().hosted(), try await cluster.node().hosted(),
          try await cluster.node(port: proxy.port).hosted(),
        ]
        let check = HistoryCheck(nodes: nodes, clients: 8)
        let end = ContinuousClock.now + Self.duration
        let faults = Task { try await Self.make(trouble, until: end, proxy, server) }
        // On a slow machine, longer.
        await check.run {
          SeededGenerator(seed: seed + UInt64($0))
        } until: {
          ContinuousClock.now >= end && $0 > 20
        }
        try await faults.value
        try await waitUntil { (try? await nodes[0].storage.currentVersion()) != nil }
        let findings = try await check.findings()
        #expect(findings.isEmpty, "seed \(seed): \(findings.prefix(5))")
        #expect(await check.history.committedCount > 20, "seed \(seed)")
        #expect(await check.history.transactions.last?.reads.values.contains { !$0.isEmpty } == true)
      }
      try await server.stop()
    }

    @Test("the check finds that nodes have databases of their own")
    func plantedMistake() async throws {
      try await ClusterFixture.withCluster { cluster in
        let node = try await cluster.node()
        let nodes = [try await node.hosted(), try await node.hosted(DatabaseID(projectID: "other"))]
        let check = HistoryCheck(nodes: nodes, clients: 2)
        await check.run {
          SeededGenerator(seed: UInt64($0))
        } until: {
          $0 > 20
        }
        #expect(try await !check.findings().isEmpty)
      }
    }

    private static func make(
      _ trouble: Trouble, until end: ContinuousClock.Instant, _ proxy: FaultyProxy, _ server: PostgresServer
    ) async throws {
      while ContinuousClock.now < end {
        switch trouble {
        case .none: return
        case .cutConnections:
          proxy.cutAll()
          try await Task.sleep(for: .milliseconds(60))
        case .restarts:
          try await Task.sleep(for: .milliseconds(700))
          try await server.stop(.immediate)
          try await server.start()
        }
      }
    }
  }
#endif
