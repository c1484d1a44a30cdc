import Foundation
import Hearth
import HearthServer
import InteropSupport
import Logging
import TestSupport
import Testing

/// Two clients write, lose the network, are closed and reopened, and the backend is restarted under them, in an order that follows from a
/// seed. In the end everybody must agree, and every increment must count once.
@Suite("Clients and backend after any sequence of interruptions")
struct ConvergenceTests {
  static let seeds: [UInt64] =
    ProcessInfo.processInfo.environment["HEARTH_SEED"].flatMap { UInt64($0) }.map { [$0] } ?? [1, 2, 3, 4]

  @Test("agree, with every increment counted once", .timeLimit(.minutes(5)), arguments: seeds)
  func converge(seed: UInt64) async throws {
    let run = try await ConvergenceRun(seed: seed)
    for _ in 1...120 {
      try await run.step()
    }
    try await run.finish()
  }
}

private final class ConvergenceRun {
  private let folder = TemporaryFolder()
  private let seed: UInt64
  private let port: Int
  private var generator: SeededGenerator
  private var server: EmbeddedServer
  private var clients: [InteropClient] = []
  private var logs: [EventLog] = []
  /// The value that each counter must have in the end.
  private var expected: [String: Int] = [:]

  init(seed: UInt64) async throws {
    self.seed = seed
    generator = SeededGenerator(seed: seed)
    server = try await Self.start(folder.url, port: 0)
    port = server.port
    for index in 0..<2 {
      try await clients.append(open(index))
      logs.append(listen(clients[index]))
    }
  }

  /// One random action.
  func step() async throws {
    let index = Int.random(in: 0..<clients.count, using: &generator)
    let client = clients[index]
    switch Int.random(in: 0..<20, using: &generator) {
    case 0..<12: write(client)
    case 12..<15: try await client.firestore.disableNetwork()
    case 15..<18: try await client.firestore.enableNetwork()
    case 18: try await reopen(index)
    default: try await restartServer()
    }
  }

  /// Network on, everything delivered, everybody compared.
  func finish() async throws {
    for client in clients {
      try await client.firestore.enableNetwork()
      try await client.firestore.waitForPendingWrites()
    }
    let witness = try InteropClient(port: port, project: project)
    let stored = try await witness.collection("counters").getDocuments(source: .server)
    #expect(counts(stored) == expected, "seed \(seed): the backend")
    for (index, log) in logs.enumerated() {
      let expected = expected
      try await log.newest("seed \(seed): client \(index) shows what the backend has") { snapshot in
        !snapshot.metadata.isFromCache && !snapshot.metadata.hasPendingWrites && counts(snapshot) == expected
      }
      log.remove()
      #expect(try await clients[index].firestore.pendingWrites().isEmpty)
      try await clients[index].firestore.terminate()
    }
    try await witness.firestore.terminate()
    await server.shutdown()
  }

  private var project: String { "convergence-\(seed)" }

  private func write(_ client: InteropClient) {
    let batch = client.firestore.batch()
    for _ in 0...Int.random(in: 0..<3, using: &generator) {
      let name = "counter-\(Int.random(in: 0..<6, using: &generator))"
      batch.setData(
        ["n": FieldValue.increment(Int64(1))], forDocument: client.document("counters/\(name)"), merge: true)
      expected[name, default: 0] += 1
    }
    batch.commit(completion: nil)
  }

  private func reopen(_ index: Int) async throws {
    logs[index].remove()
    _ = try await clients[index].firestore.pendingWrites()
    try await clients[index].firestore.terminate()
    clients[index] = try await open(index)
    logs[index] = listen(clients[index])
  }

  private func restartServer() async throws {
    await server.shutdown()
    server = try await Self.start(folder.url, port: port)
  }

  private func open(_ index: Int) async throws -> InteropClient {
    try InteropClient(port: port, project: project, cache: folder.url.appendingPathComponent("client-\(index)-\(seed)"))
  }

  private func listen(_ client: InteropClient) -> EventLog {
    EventLog(client.collection("counters"))
  }

  private func counts(_ snapshot: QuerySnapshot) -> [String: Int] {
    Dictionary(uniqueKeysWithValues: snapshot.documents.map { ($0.documentID, $0.get("n") as? Int ?? 0) })
  }

  private static func start(_ folder: URL, port: Int) async throws -> EmbeddedServer {
    try await EmbeddedServer.start(
      host: "127.0.0.1", port: port, storage: .folder(path: folder.appendingPathComponent("backend").path),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }
}
