import Foundation
import GRPCCore
import GRPCNIOTransportHTTP2
import HearthHistory
import HearthModel
import InteropSupport
import TestSupport
import Testing

/// Sixteen clients of several kinds that carry out transactions on the same lists at once, and the judgement of their history.
struct HistoryRun {
  /// The connections of the clients of the protocol itself.
  typealias Connections = [GRPCClient<HTTP2ClientTransport.Posix>]

  static let project = "histories"
  private static let clientCount = 16

  private let duration: Duration
  private let seed: UInt64
  private let plans: ListPlanner
  private let history = ListHistory()
  private let hasPython: Bool
  private let hasJavaScript = JavaScriptSDK.isInstalled

  /// Runs `body` with connections to a port.
  static func withConnections(_ count: Int, to port: Int, _ body: (Connections) async throws -> Void) async throws {
    guard count > 0 else { return try await body([]) }
    try await QueryBackend.withConnection(port: port) { connection in
      try await withConnections(count - 1, to: port) { try await body($0 + [connection]) }
    }
  }

  /// `HEARTH_SEED` in the environment repeats the choices of a run.
  init(duration: Duration) async {
    self.duration = duration
    seed = ProcessInfo.processInfo.environment["HEARTH_SEED"].flatMap { UInt64($0) } ?? .random(in: 1..<1_000_000)
    plans = ListPlanner(seed: seed)
    hasPython = await PythonClient.isInstalled()
  }

  /// Lets the clients work for the duration of the run.
  ///
  /// - Parameters:
  ///   - connections: The connections of the clients of the protocol itself.
  ///   - port: The port for all other clients.
  ///   - trouble: Makes faults until an instant, and leaves nothing broken.
  func record(
    through connections: Connections, port: Int,
    trouble: (@Sendable (_ end: ContinuousClock.Instant) async throws -> Void)? = nil
  ) async throws {
    let database = DatabaseID(projectID: Self.project)
    var clients: [any ListClient] = (0..<6).map {
      RawListClient(
        name: "raw\($0)", database: database, clients: connections, isOptimistic: $0 % 3 == 2,
        expectsFailures: trouble != nil)
    }
    clients += try processes(port: port, expectsFailures: trouble != nil)
    while clients.count < Self.clientCount {
      clients.append(
        HearthListClient(
          name: "hearth\(clients.count)", port: port, project: Self.project, expectsFailures: trouble != nil))
    }
    let end = ContinuousClock.now.advanced(by: duration)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for client in clients {
        group.addTask { [history, plans] in
          try await history.record(client, plans: plans, killPercent: 2, until: end)
        }
      }
      if let trouble { group.addTask { try await trouble(end) } }
      try await group.waitForAll()
    }
    let reader = RawListClient(name: "reader", database: database, clients: connections)
    // A connection may be about to wait before its next attempt.
    for _ in connections { try await waitUntil { (try? await reader.read(["x"])) != nil } }
    try await history.close(plans, by: reader)
  }

  private func processes(port: Int, expectsFailures: Bool) throws -> [any ListClient] {
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
          arguments: [script, JavaScriptSDK.folder.path, "127.0.0.1:\(port)", Self.project]
            + (expectsFailures ? ["failing"] : []))
      }
    }
    return clients
  }

  /// Expects one order of all transactions, and that each kind of client has got through.
  ///
  /// - Parameter servers: A name of the servers, for the line that is printed.
  func judge(_ servers: String) async throws {
    let transactions = await history.transactions
    let findings = HistoryChecker.findings(in: transactions)
    #expect(findings.isEmpty, "seed \(seed): \(findings.prefix(5))")
    let kinds = Dictionary(grouping: transactions) { $0.client.filter(\.isLetter) }.mapValues { list in
      [ListTransaction.Outcome.committed, .failed, .unknown].map { outcome in list.count { $0.outcome == outcome } }
    }
    let texts = kinds.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.map(String.init).joined(separator: "/"))" }
    print(
      "histories: seed \(seed), \(servers), Python: \(hasPython), JavaScript: \(hasJavaScript); "
        + "committed/failed/unknown: \(texts.joined(separator: ", "))")
    let committed = transactions.filter { $0.outcome == .committed }
    // Each kind of client has got through, and so have writes of lists that it had read.
    #expect(Set(committed.map { $0.client.filter(\.isLetter) }).count == kinds.count)
    #expect(committed.contains { !$0.reads.isEmpty && !$0.appends.isEmpty })
  }
}

extension ListHistory {
  /// Writes all lists, which nobody has locked any more, and reads them, so that a number that was lost is missed.
  ///
  /// Without a transaction: that would end on a machine that does not come to it for half a second.
  func close(_ plans: ListPlanner, by reader: RawListClient) async throws {
    for epoch in 0..<(await plans.epochs) {
      let plan = await plans.writingAll(of: epoch)
      #expect(try await record(plan, by: reader, isKilled: false) == .committed)
      let began = event()
      let reads = try await reader.read(plan.appends.map(\.list))
      add(ListTransaction(client: "last", began: began, ended: event(), outcome: .committed, reads: reads))
    }
  }
}
