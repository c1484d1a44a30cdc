#if PostgreSQL
  import Foundation
  import HearthServer
  import InteropSupport
  import PostgresSupport
  import TestSupport
  import Testing

  /// Three processes `hearth serve` over one PostgreSQL server, with the sixteen clients of ``StrictSerializabilityTests``. The processes are killed,
  /// or stopped for a time and left to go on, and PostgreSQL is killed and started again.
  ///
  /// `HEARTH_SECONDS` makes a run longer, and `HEARTH_SEED` repeats the choices of the clients.
  @Suite(
    "The history of many clients' transactions while nodes fail",
    .enabled(if: PostgresServer.isAvailable, "\(PostgresServer.skipReason)"), .serialized)
  struct NodeFailureTests {
    private static let duration = Duration.seconds(
      ProcessInfo.processInfo.environment["HEARTH_SECONDS"].flatMap { Int($0) } ?? 30)
    private static let nodeCount = 3

    @Test(
      "is strictly serialisable, no acknowledged write is missing, and none is there twice", .timeLimit(.minutes(30)))
    func nodesThatFail() async throws {
      let engine = try await PostgresServer.start()
      var location = ClusterLocation(url: try await engine.createDatabase())
      location.allowsUnsafeDurability = true
      try await ClusterSetup(location).create()
      let nodes = try (1...Self.nodeCount).map { try NodeProcess($0, url: location.url) }
      for node in nodes { try await node.start() }
      let run = await HistoryRun(duration: Self.duration)
      let balancer = try FaultyProxy(toEachOf: nodes.map(\.port))
      defer { balancer.close() }
      try await HistoryRun.withConnections(Self.nodeCount, to: balancer.port) { connections in
        try await run.record(through: connections, port: balancer.port) { end in
          try await Self.makeTrouble(nodes, engine, until: end)
        }
      }
      for node in nodes { await node.end() }
      try await engine.stop()
      try await run.judge("three nodes that fail")
    }

    private static func makeTrouble(
      _ nodes: [NodeProcess], _ engine: PostgresServer, until end: ContinuousClock.Instant
    ) async throws {
      var counts = (kills: 0, stops: 0, restarts: 0)
      while ContinuousClock.now < end {
        try await Task.sleep(for: .milliseconds(.random(in: 200...1_500)))
        let node = nodes[.random(in: nodes.indices)]
        switch Int.random(in: 0..<10) {
        case 0..<4:
          await node.kill()
          try await Task.sleep(for: .milliseconds(.random(in: 0...1_000)))
          try await node.start()
          counts.kills += 1
        case 4..<8:
          // Up to longer than the leases of its transactions.
          await node.stop(for: .milliseconds(.random(in: 50...4_000)))
          counts.stops += 1
        default:
          try engine.kill()
          try await engine.start()
          counts.restarts += 1
        }
      }
      print("histories: \(counts.kills) kills, \(counts.stops) stops, \(counts.restarts) restarts of PostgreSQL")
    }
  }

  /// A process `hearth serve` that comes back on the same port.
  private actor NodeProcess {
    nonisolated let port: Int
    private let arguments: [String]
    private var process: LineProcess?

    init(_ number: Int, url: String) throws {
      port = try Programs.freePort()
      arguments = [
        "serve", "--port", "\(port)", "--storage", url, "--node-name", "node\(number)", "--unsafe-durability",
        "--max-transaction-idle-seconds", "1", "--max-lock-wait-seconds", "5", "--log-level", "critical",
      ]
    }

    /// Starts the process, and waits until it serves.
    func start() async throws {
      let process = try LineProcess(Programs.product("hearth"), arguments)
      let line = await process.nextLine()
      #expect(line?.hasPrefix("Hearth is serving") == true, "the node says \(line ?? "nothing")")
      self.process = process
    }

    func kill() async {
      process?.killAtOnce()
      _ = await process?.waitForExit()
      process = nil
    }

    func stop(for time: Duration) async {
      process?.stop()
      try? await Task.sleep(for: time)
      process?.goOn()
    }

    func end() async {
      process?.askToEnd()
      _ = await process?.waitForExit()
    }
  }
#endif
