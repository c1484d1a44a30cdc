import Foundation
import GRPCCore
import HearthModel
import HearthServer
import InteropSupport
import Logging
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

  private func withServer(_ body: (EmbeddedServer) async throws -> Void) async throws {
    let folder = TemporaryFolder()
    var limits = DatabaseLimits()
    // Locks of killed clients must become free within the run.
    limits.transactionIdleTime = .milliseconds(500)
    limits.lockWait = .seconds(5)
    let server = try await EmbeddedServer.start(
      host: "127.0.0.1", port: 0, storage: .folder(path: folder.url.path),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    ) {
      $0.databaseLimits = limits
    }
    do { try await body(server) } catch {
      await server.shutdown()
      throw error
    }
    await server.shutdown()
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
    "is strictly serialisable: the protocol itself, Hearth, and Google's clients, with kills", .timeLimit(.minutes(20)))
  func manyClients() async throws {
    let seed =
      ProcessInfo.processInfo.environment["HEARTH_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1..<1_000_000)
    let (plans, history) = (ListPlanner(seed: seed), ListHistory())
    let hasPython = await PythonClient.isInstalled()
    let hasJavaScript = JavaScriptSDK.isInstalled
    try await withServer { server in
      try await QueryBackend.withConnection(port: server.port) { connection in
        let database = DatabaseID(projectID: Self.project)
        var clients: [any ListClient] = (0..<6).map {
          RawListClient(name: "raw\($0)", database: database, client: connection, isOptimistic: $0 % 3 == 2)
        }
        clients += try processes(hasPython: hasPython, hasJavaScript: hasJavaScript, port: server.port)
        while clients.count < 16 {
          clients.append(HearthListClient(name: "hearth\(clients.count)", port: server.port, project: Self.project))
        }
        let end = ContinuousClock.now.advanced(by: Self.duration)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for client in clients {
            group.addTask { try await history.record(client, plans: plans, killPercent: 2, until: end) }
          }
          try await group.waitForAll()
        }
        let reader = RawListClient(name: "reader", database: database, client: connection)
        try await close(history, plans, by: reader)
      }
    }
    try await judge(history, seed: seed, clients: "Python: \(hasPython), JavaScript: \(hasJavaScript)")
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
    try await withServer { server in
      try await QueryBackend.withConnection(port: server.port) { connection in
        let database = DatabaseID(projectID: Self.project)
        var found: Set<HistoryChecker.Anomaly> = []
        var round = 0
        while found.isDisjoint(with: expected) {
          try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<8 {
              let client = RawListClient(
                name: "raw\(round)-\(index)", database: database, client: connection, mistake: mistake)
              let end = ContinuousClock.now.advanced(by: .milliseconds(500))
              group.addTask { try await history.record(client, plans: plans, killPercent: 0, until: end) }
            }
            try await group.waitForAll()
          }
          round += 1
          let reader = RawListClient(name: "reader", database: database, client: connection)
          try await close(history, plans, by: reader)
          found = Set(HistoryChecker.findings(in: await history.transactions).map(\.anomaly))
        }
        #expect(!found.isDisjoint(with: expected))
      }
    }
  }
}
