import Foundation
import HearthWire
import SwiftProtobuf
import Synchronization
import TestSupport

/// A server with sample data for one attack after the other. It is restarted when an attack has left much behind, so that each is held
/// against its own cost.
final class BoundsRun {
  private let folder: URL
  private var server: ServerProcess
  /// Bytes of the resident set of the server before any attack.
  private var idleBytes = 0
  /// The longest step of an honest client without an attack.
  private(set) var baseline = Duration.zero

  init() async throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-bounds-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    server = try await ServerProcess(folder: folder)
    let client = try await CallClient(port: server.port)
    try await SampleData.load(with: client)
    client.close()
    try await restart()
    let rounds = Mutex(20)
    let honest = try await HonestClient(of: server)
    await honest.run {
      rounds.withLock { rounds in
        rounds -= 1
        return rounds == 0
      }
    }
    baseline = honest.latencies.worstTime
    honest.close()
  }

  func end() async {
    await server.stop()
    try? FileManager.default.removeItem(at: folder)
  }

  private func restart() async throws {
    await server.stop()
    server = try await ServerProcess(folder: folder)
    try await warmUp()
    idleBytes = server.figures.residentBytes
  }

  /// Opens the readers and fills the caches that every server has after a while.
  private func warmUp() async throws {
    let port = server.port
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          let client = try await CallClient(port: port)
          try await client.answers(to: .query(.of("big")))
          client.close()
        }
      }
      try await group.waitForAll()
    }
    let honest = try await HonestClient(of: server)
    await honest.run { true }
    honest.close()
  }

  // MARK: - An attack

  func attack(_ kind: Kind, size: Int) async throws -> Outcome {
    var outcome = Outcome()
    let start = ContinuousClock.now
    let before = server.figures.processorTime
    try server.figures.forgetPeak()
    let honest = try await HonestClient(of: server)
    let isOver = Mutex(false)
    let attack = Attack(on: server, size: size)
    async let end: Void = honest.run { isOver.withLock { $0 } }
    do {
      try await kind.attack(attack)
    } catch {
      outcome.failures.append("\(error)")
    }
    let files = server.fileBytes
    outcome.descriptors = server.figures.descriptors
    isOver.withLock { $0 = true }
    await end
    outcome.honest = honest.latencies
    honest.close()
    outcome.failures += attack.failures
    outcome.answer = attack.slowestAnswer
    outcome.memoryMiB = max(0, server.figures.peakResidentBytes - idleBytes) >> 20
    outcome.walMiB = files.logs >> 20
    outcome.filesMiB = files.others >> 20
    outcome.work = server.figures.processorTime - before
    outcome.duration = ContinuousClock.now - start
    if let bytes = try? await server.metric(limit: "history_bytes") { outcome.historyMiB = Int(bytes) >> 20 }
    attack.end()
    if await !isFit() { try await restart() }
    return outcome
  }

  /// True if the server has come back to what it was: it answers, its connections are gone, and so is most of the memory.
  private func isFit() async -> Bool {
    guard let client = try? await CallClient(port: server.port),
      (try? await client.answers(to: .get("\(HonestClient.collection)/1"), seconds: 2)) != nil
    else { return false }
    client.close()
    return server.figures.residentBytes - idleBytes < 8 << 20
  }
}
