import Foundation
import Hearth
import HearthCache
import HearthModel
import HearthServer
import HearthStore
import HearthTransport
import Logging
import TestSupport
import Testing

/// A writing process is killed with SIGKILL again and again, online and offline; after each restart its cache must hold every
/// write that was reported as durable, once and in order, and must not send an acknowledged one again.
@Suite("A writing process that is killed")
struct CrashTests {
  static let kills = 50

  @Test(
    "50 kills lose no durable write, double none, miss no acknowledged one, and leave no token ahead of the data",
    .timeLimit(.minutes(10)))
  func killedFiftyTimes() async throws {
    let seed = UInt64(ProcessInfo.processInfo.environment["HEARTH_SEED"] ?? "") ?? UInt64.random(in: 1...999_999)
    let run = try await CrashRun(seed: seed)
    print("crash test: seed \(seed) (HEARTH_SEED=\(seed) repeats it)")
    for round in 1...Self.kills {
      try await run.round(round)
    }
    try await run.finish()
  }
}

/// One sequence of kills, from a seed.
private final class CrashRun {
  private let folder: URL
  private let server: EmbeddedServer
  private let project: String
  private let database: DatabaseID
  private let transport: FirestoreTransport
  private var generator: SeededGenerator
  private var durable = 0
  private var acknowledged: Set<Int> = []
  private var remoteVersions: [DocumentKey: SnapshotVersion] = [:]
  private var comparedTokens = 0

  init(seed: UInt64) async throws {
    generator = SeededGenerator(seed: seed)
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-crash-\(UUID().uuidString)")
    let logger = Logger(label: "crash-test") { _ in SwiftLogNoOpLogHandler() }
    server = try await EmbeddedServer.start(host: "127.0.0.1", port: 0, storage: .memory, logger: logger)
    project = "crash-\(seed)"
    database = DatabaseID(projectID: project)
    transport = try FirestoreTransport(
      TransportConfiguration(
        host: "127.0.0.1", port: server.port, usesTLS: false, databaseID: database, credentials: OwnerCredentials()))
  }

  /// Starts the writer, checks what it found, lets it write for a while, kills it, and checks the file it left behind.
  func round(_ number: Int) async throws {
    try await changeRemoteDocuments(number)
    let online = number % 3 != 0
    let writer = try LineProcess(
      Programs.product("CrashWriter"),
      ["127.0.0.1:\(server.port)", project, folder.path, online ? "online" : "offline"])
    let state = try #require(await writer.next(), "round \(number): the writer ended before it said what it found")
    try check(state, round: number)

    var linesLeft = Int.random(in: 1...40, using: &generator)
    while linesLeft > 0, let event = await writer.next() {
      try record(event, round: number)
      linesLeft -= 1
    }
    writer.killAtOnce()
    while let event = await writer.next() {
      try record(event, round: number)
    }
    _ = await writer.waitForExit()
    try checkFile(round: number)
  }

  /// Lets everything reach the backend and compares it, once and in order.
  func finish() async throws {
    let writer = try LineProcess(
      Programs.product("CrashWriter"), ["127.0.0.1:\(server.port)", project, folder.path, "drain"])
    let state = try #require(await writer.next())
    try check(state, round: CrashTests.kills + 1)
    let last = (state["numbers"] as? [Int])?.last ?? 0
    let drained = try #require(await writer.next())
    #expect(drained["event"] as? String == "drained")
    #expect(await writer.waitForExit() == 0)

    let key = try DocumentKey(parsing: "totals/all")
    let totals = try #require(try await transport.batchGetDocuments([key]).first)
    let fields = try totals.fields.decoded()
    #expect(fields["total"] == .integer(Int64(last)), "every increment arrived exactly once")
    #expect(fields["order"] == .array((1...last).map { .integer(Int64($0)) }), "and in order")
    #expect(comparedTokens > 0 && !acknowledged.isEmpty && durable > 0, "the rounds had something to check")
    await transport.shutdown()
    await server.shutdown()
    try FileManager.default.removeItem(at: folder)
  }

  private func record(_ event: [String: Any], round: Int) throws {
    let number = event["number"] as? Int ?? 0
    switch event["event"] as? String {
    case "durable": durable = max(durable, number)
    case "acked": acknowledged.insert(number)
    default: Issue.record("round \(round): \(event)")
    }
  }

  /// Checks the state that the writer found at its start, with the network off.
  private func check(_ state: [String: Any], round: Int) throws {
    try #require(state["event"] as? String == "state", "round \(round): \(state)")
    let numbers = try #require(state["numbers"] as? [Int])
    let last = numbers.last ?? 0
    #expect(numbers == Array(0...last).dropFirst().map { $0 }, "round \(round): the journal has a gap")
    #expect(last >= durable, "round \(round): write \(durable) was durable, the cache ends at \(last)")
    #expect(state["total"] as? Int == last, "round \(round): the local counter counts each write once")
    #expect(state["order"] as? [Int] ?? [] == numbers, "round \(round): the local order of the writes")
    let pending = try #require(state["pending"] as? [String]).compactMap { paths in
      paths.split(separator: " ").first { $0.hasPrefix("journal/") }.flatMap { Int($0.dropFirst("journal/".count)) }
    }
    #expect(pending == Array(pending.sorted()), "round \(round): the queue is in order")
    #expect(Set(pending).count == pending.count, "round \(round): a queued write is doubled")
    #expect(acknowledged.isDisjoint(with: pending), "round \(round): an acknowledged write is queued again")
    if let first = pending.first {
      #expect(pending == Array(first...last), "round \(round): the queue is the tail of the journal")
    }
  }

  /// Every remote document that the stored snapshot version covers must be in the cache.
  private func checkFile(round: Int) throws {
    guard let inner = cacheFolder() else { return }
    let cache = try CacheFile.open(folder: inner.path, databaseID: database)
    defer { cache.close() }
    let store = try LocalStore(
      database: cache.database, databaseID: database, garbageCollection: .leastRecentlyUsed(thresholdBytes: -1),
      user: nil,
      newCacheID: "unused")
    let target = HearthModel.Query(path: try ResourcePath(parsing: "remote")).target
    guard let data = try store.targetData(for: target), !data.resumeToken.isEmpty else { return }
    comparedTokens += 1
    let keys = try store.confirmedKeys(for: data.targetID)
    for (key, version) in remoteVersions where version <= data.snapshotVersion {
      let cached = try store.readDocument(key)
      #expect(
        cached.isFound && cached.version >= version && keys.contains(key),
        "round \(round): the token of version \(data.snapshotVersion) is ahead of \(key)")
    }
  }

  /// The folder inside the chosen one in which the writer's database lies; nil before there is one.
  private func cacheFolder() -> URL? {
    let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    return files?.compactMap { $0 as? URL }.first { $0.lastPathComponent == "cache.sqlite" }?
      .deletingLastPathComponent()
  }

  private func changeRemoteDocuments(_ round: Int) async throws {
    for index in 0..<3 {
      let key = try DocumentKey(parsing: "remote/document-\(round % 7)-\(index)")
      let mutation = Mutation.set(key, ["round": .integer(Int64(round))])
      let result = try await transport.commit([mutation])
      remoteVersions[key] = result.commitVersion
    }
  }
}
