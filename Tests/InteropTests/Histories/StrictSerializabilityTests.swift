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

  /// The servers of a cluster, and the connections of a client of the protocol itself.
  private static let nodes = 3

  private func withServers(
    over storage: ServedStorage = .embedded, _ body: (_ port: Int, HistoryRun.Connections) async throws -> Void
  ) async throws {
    let folder = TemporaryFolder()
    try await storage.withServers(nodes: Self.nodes, location: .folder(path: folder.url.path)) {
      // Locks of killed clients must become free within the run.
      $0.databaseLimits.transactionIdleTime = .milliseconds(500)
      $0.databaseLimits.lockWait = .seconds(5)
    } _: { port in
      try await HistoryRun.withConnections(storage == .cluster ? Self.nodes : 1, to: port) {
        try await body(port, $0)
      }
    }
  }

  @Test(
    "is strictly serialisable, on one server and on three over PostgreSQL: the protocol itself, Hearth, and Google's clients, with kills",
    .timeLimit(.minutes(20)), arguments: ServedStorage.available)
  func manyClients(storage: ServedStorage) async throws {
    let run = await HistoryRun(duration: Self.duration)
    try await withServers(over: storage) { port, connections in
      try await run.record(through: connections, port: port)
    }
    try await run.judge("\(storage)")
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
      let database = DatabaseID(projectID: HistoryRun.project)
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
        try await history.close(plans, by: reader)
        found = Set(HistoryChecker.findings(in: await history.transactions).map(\.anomaly))
      }
      #expect(!found.isDisjoint(with: expected))
    }
  }
}
