import ClusterSupport
import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2
import HearthHistory
import HearthModel
import HearthServer
import InteropSupport
import TestSupport
import Testing

/// Sixteen clients of several kinds carry out transactions on the same lists at once, and some are killed in the middle. One order of all
/// transactions has to explain what each has read (``HistoryChecker``).
///
/// `HEARTH_SECONDS` makes a run longer, and `HEARTH_SEED` repeats its choices.
@Suite("The history of many clients' transactions", .serialized)
struct StrictSerializabilityTests {
  static let duration = Duration.seconds(
    ProcessInfo.processInfo.environment["HEARTH_SECONDS"].flatMap { Int($0) } ?? 30)
  static let project = "histories"

  /// The servers of a cluster, and the connections of a client of the protocol itself.
  private static let nodes = 3

  private typealias Connections = [GRPCClient<HTTP2ClientTransport.Posix>]

  private func withServers(
    over storage: ServedStorage = .embedded, _ body: (_ port: Int, Connections) async throws -> Void
  ) async throws {
    let folder = TemporaryFolder()
    try await storage.withServers(nodes: Self.nodes, location: .folder(path: folder.url.path)) {
      // Locks of killed clients must become free within the run.
      $0.databaseLimits.transactionIdleTime = .milliseconds(500)
      $0.databaseLimits.lockWait = .seconds(5)
    } _: { port in
      try await withConnections(storage == .cluster ? Self.nodes : 1, to: port) { try await body(port, $0) }
    }
  }

  private func withConnections(
    _ count: Int, to port: Int, _ body: (Connections) async throws -> Void
  ) async throws {
    guard count > 0 else { return try await body([]) }
    try await QueryBackend.withConnection(port: port) { connection in
      try await withConnections(count - 1, to: port) { try await body($0 + [connection]) }
    }
  }

  /// Writes all lists, which nobody has locked any more, and reads them, so that a number that was lost is missed.
  ///
  /// Without a transaction: that would end on a machine that does not come to it for half a second.
  private func close(_ history: ListHistory, _ plans: ListPlanner, by reader: RawListClient) async throws {
    for epoch in 0..<(await plans.epochs) {
      let plan = await plans.writingAll(of: epoch)
      #expect(try await history.record(plan, by: reader, isKilled: false) == .committed)
      let began = await history.event()
      let reads = try await reader.read(plan.appends.map(\.list))
      await history.add(
        ListTransaction(client: "last", began: began, ended: await history.event(), outcome: .committed, reads: reads))
    }
  }

  @Test(
    "is strictly serialisable, on one server and on three over PostgreSQL: the protocol itself, Hearth, and Google's clients, with kills",
    .timeLimit(.minutes(20)), arguments: ServedStorage.available)
  func manyClients(storage: ServedStorage) async throws {
    let seed =
      ProcessInfo.processInfo.environment["HEARTH_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1..<1_000_000)
    let (plans, history) = (ListPlanner(seed: seed), ListHistory())
    let hasPython = await PythonClient.isInstalled()
    let hasJavaScript = JavaScriptSDK.isInstalled
    try await withServers(over: storage) { port, connections in
      let database = DatabaseID(projectID: Self.project)
      var clients: [any ListClient] = (0..<6).map {
        RawListClient(name: "raw\($0)", database: database, clients: connections, isOptimistic: $0 % 3 == 2)
      }
      clients += try processes(hasPython: hasPython, hasJavaScript: hasJavaScript, port: port)
      while clients.count < 16 {
        clients.append(HearthListClient(name: "hearth\(clients.count)", port: port, project: Self.project))
      }
      let end = ContinuousClock.now.advanced(by: Self.duration)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for client in clients {
          group.addTask { try await history.record(client, plans: plans, killPercent: 2, until: end) }
        }
        try await group.waitForAll()
      }
      let reader = RawListClient(name: "reader", database: database, clients: connections)
      try await close(history, plans, by: reader)
    }
    try await judge(history, seed: seed, clients: "\(storage), Python: \(hasPython), JavaScript: \(hasJavaScript)")
  }

  private func processes(hasPython: Bool, hasJavaScript: Bool, port: Int) throws -> [any ListClient] {
    var clients: [any ListClient] = []
    if hasPython, let python = Programs.find("python3") {
      let script = try #require(Bundle.module.url(forResource: "python_lists", withExtension: "py")).path
      clients += (0..<3).map {
        ProcessListClient(
          name: "python\($0)", queries: true, program: python, arguments: [script, "127.0.0.1:\(port)", Self.project])
      }
    }
    if hasJavaScript, let node = Programs.find("node") {
      let script = try #require(Bundle.module.url(forResource: "js_lists", withExtension: "mjs")).path
      clients += (0..<3).map {
        ProcessListClient(
          name: "js\($0)", queries: false, program: node,
          arguments: [script, JavaScriptSDK.folder.path, "127.0.0.1:\(port)", Self.project])
      }
    }
    return clients
  }

  private func judge(_ history: ListHistory, seed: UInt64, clients: String) async throws {
    let transactions = await history.transactions
    let findings = HistoryChecker.findings(in: transactions)
    #expect(findings.isEmpty, "seed \(seed): \(findings.prefix(5))")
    let kinds = Dictionary(grouping: transactions) { $0.client.filter(\.isLetter) }.mapValues { list in
      [ListTransaction.Outcome.committed, .failed, .unknown].map { outcome in list.count { $0.outcome == outcome } }
    }
    let texts = kinds.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.map(String.init).joined(separator: "/"))" }
    print("histories: seed \(seed), \(clients); committed/failed/unknown: \(texts.joined(separator: ", "))")
    let committed = transactions.filter { $0.outcome == .committed }
    // Each kind of client has got through, and so have writes of lists that it had read.
    #expect(Set(committed.map { $0.client.filter(\.isLetter) }).count == kinds.count)
    #expect(committed.contains { !$0.reads.isEmpty && !$0.appends.isEmpty })
  }

  @Test(
    "is found wanting when clients make mistakes that lose updates, skew writes, or read what is stale",
    .timeLimit(.minutes(5)), arguments: [RawListClient.Mistake.lostUpdate, .writeSkew, .staleRead])
  func mistakes(_ mistake: RawListClient.Mistake) async throws {
    let expected: Set<HistoryChecker.Anomaly> =
      switch mistake {
      case .lostUpdate: [.lostUpdate, .lostOrder]
      case .writeSkew: [.writeSkew]
      case .staleRead: [.staleRead]
      }
    let (plans, history) = (ListPlanner(seed: 1), ListHistory())
    try await withServers { _, connections in
      let database = DatabaseID(projectID: Self.project)
      var found: Set<HistoryChecker.Anomaly> = []
      var round = 0
      while found.isDisjoint(with: expected) {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for index in 0..<8 {
            let client = RawListClient(
              name: "raw\(round)-\(index)", database: database, clients: connections, mistake: mistake)
            let end = ContinuousClock.now.advanced(by: .milliseconds(500))
            group.addTask { try await history.record(client, plans: plans, killPercent: 0, until: end) }
          }
          try await group.waitForAll()
        }
        round += 1
        let reader = RawListClient(name: "reader", database: database, clients: connections)
        try await close(history, plans, by: reader)
        found = Set(HistoryChecker.findings(in: await history.transactions).map(\.anomaly))
      }
      #expect(!found.isDisjoint(with: expected))
    }
  }
}
