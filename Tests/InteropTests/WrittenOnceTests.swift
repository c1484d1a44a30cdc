import Foundation
import Hearth
import HearthCache
import HearthModel
import HearthServer
import HearthStore
import HearthTransport
import InteropSupport
import Logging
import TestSupport
import Testing

/// Every write that was acknowledged is at the backend, and none is there twice, whatever happens to the cache's folder and to the
/// answers.
@Suite("A write is committed once")
struct WrittenOnceTests {
  @Test("1,000 connections cut between commit and answer count each increment once", .timeLimit(.minutes(5)))
  func thousandCuts() async throws {
    try await WrittenOnceRun.with(seed: 1) { run in
      var device = try run.open("device")
      var written = 0
      var cuts = 0
      while cuts < 1000 {
        while try device.pending().count < 3 {
          written += 1
          device.write(
            [try run.increment("counters/a"), try run.increment("counters/b")], identity: run.identity())
        }
        if run.generator.chance(70) {
          try await device.loseAnswer()
          cuts += 1
        } else {
          try await device.takeAnswer()
        }
        if cuts.isMultiple(of: 100), run.generator.chance(50) {
          device.kill()
          device = try run.open("device")
        }
        try #require(device.problems == [])
      }
      try await device.drain()
      #expect(device.problems == [])
      #expect(device.sentLabels.allSatisfy { $0.flatMap(BatchLabel.init(parsing:)) != nil })
      device.kill()
      let stored = try await run.contents("counters")
      #expect(stored == ["a": Int64(written), "b": Int64(written)])
    }
  }

  static let seeds: [UInt64] =
    ProcessInfo.processInfo.environment["HEARTH_SEED"].flatMap { UInt64($0) }.map { [$0] } ?? Array(1...40)

  @Test(
    "folders put back, copied to other devices and salvaged lose no write and double none", .timeLimit(.minutes(5)),
    arguments: seeds)
  func histories(seed: UInt64) async throws {
    try await WrittenOnceRun.with(seed: seed) { run in
      try run.start()
      for _ in 1...60 { try await run.step() }
      try await run.finish()
    }
  }

  @Test(
    "an app whose cache folder was put back to an older state loses none of its new writes", .timeLimit(.minutes(2)))
  func restoredFolder() async throws {
    let folder = TemporaryFolder()
    let cache = folder.url.appendingPathComponent("restored")
    let backup = folder.url.appendingPathComponent("backup")
    let server = try await EmbeddedServer.start(storage: .memory, logger: quietLogger)
    for round in 1...3 {
      if round == 3 {
        try FileManager.default.removeItem(at: cache)
        try FileManager.default.copyItem(at: backup, to: cache)
      }
      let client = try InteropClient(port: server.port, project: "restored", cache: cache)
      for number in 1...20 {
        try await client.document("counters/a").setData(["n": FieldValue.increment(Int64(1))], merge: true)
        try await client.document("rounds/\(round)-\(number)").setData(["n": number])
      }
      if round == 3 {
        let counter = try await client.document("counters/a").getDocument(source: .server)
        #expect(counter.get("n") as? Int == 60)
        #expect(try await client.collection("rounds").getDocuments(source: .server).count == 60)
      }
      try await client.firestore.terminate()
      if round == 1 { try FileManager.default.copyItem(at: cache, to: backup) }
    }
    await server.shutdown()
  }
}

private var quietLogger: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }

/// One server, some devices, and copies of their folders, in an order that follows from a seed.
private final class WrittenOnceRun {
  var generator: SeededGenerator
  private let seed: UInt64
  private let folder: URL
  private let port: Int
  private let databaseID = DatabaseID(projectID: "once")
  private let transport: FirestoreTransport

  private var devices: [EngineDevice] = []
  private var copies: [URL] = []
  private var lastName = 0
  /// The batches that set a document of their own and increment a common counter, so that the backend shows how often they were applied.
  private var named: [BatchIdentity: String] = [:]
  /// Increments that look all the same.
  private var plain: Set<BatchIdentity> = []
  /// The writes that must be at the backend in the end.
  private var settled: Set<BatchIdentity> = []

  private init(seed: UInt64, folder: URL, port: Int) throws {
    generator = SeededGenerator(seed: seed)
    self.seed = seed
    self.folder = folder
    self.port = port
    transport = try FirestoreTransport(
      TransportConfiguration(
        host: "127.0.0.1", port: port, usesTLS: false, databaseID: databaseID, credentials: OwnerCredentials()))
  }

  static func with(seed: UInt64, _ body: (WrittenOnceRun) async throws -> Void) async throws {
    let folder = TemporaryFolder()
    let server = try await EmbeddedServer.start(storage: .memory, logger: quietLogger)
    let run = try WrittenOnceRun(seed: seed, folder: folder.url, port: server.port)
    let result: Result<Void, any Error>
    do {
      result = .success(try await body(run))
    } catch {
      result = .failure(error)
    }
    for device in run.devices { device.kill() }
    await run.transport.shutdown()
    await server.shutdown()
    try result.get()
  }

  func open(_ name: String) throws -> EngineDevice {
    try open(folder.appendingPathComponent(name))
  }

  private func open(_ folder: URL) throws -> EngineDevice {
    try EngineDevice(folder: folder, transport: transport, databaseID: databaseID)
  }

  func identity() -> BatchIdentity { .random(using: &generator) }

  func increment(_ path: String) throws -> Mutation {
    Mutation(
      key: try DocumentKey(parsing: path), operation: .patch(.empty, mask: .empty),
      transforms: [FieldTransform(path: try FieldPath(["n"]), operation: .increment(.integer(1)))])
  }

  private func name() -> String {
    lastName += 1
    return "\(lastName)"
  }

  // MARK: - Steps

  func start() throws {
    devices.append(try open(name()))
  }

  func step() async throws {
    let index = generator.below(devices.count)
    switch generator.below(20) {
    case 0..<9: try write(devices[index])
    case 9..<12: try await devices[index].takeAnswer()
    case 12..<15: try await devices[index].loseAnswer()
    case 15, 16: try copy(index)
    case 17: try putBack(index)
    case 18: try clone()
    default: try salvage(index)
    }
    try #require(devices.flatMap(\.problems) == [], "seed \(seed)")
    for device in devices { settled.formUnion(device.acknowledged) }
  }

  private func write(_ device: EngineDevice) throws {
    let identity = identity()
    if generator.chance(50) {
      plain.insert(identity)
      device.write([try increment("counters/plain")], identity: identity)
    } else {
      let name = name()
      named[identity] = name
      device.write(
        [.set(try DocumentKey(parsing: "named/\(name)"), ["n": .integer(1)]), try increment("counters/named")],
        identity: identity)
    }
  }

  /// Runs `body` while the device's process does not run.
  private func stopped(_ index: Int, _ body: (URL) throws -> Void) throws {
    let device = devices[index]
    device.kill()
    try body(device.folder)
    devices[index] = try open(device.folder)
  }

  private func copy(_ index: Int) throws {
    try stopped(index) { folder in
      let copy = self.folder.appendingPathComponent("copy-\(name())")
      try FileManager.default.copyItem(at: folder, to: copy)
      copies.append(copy)
    }
  }

  private func putBack(_ index: Int) throws {
    guard !copies.isEmpty else { return }
    let copy = generator.element(copies)
    try stopped(index) { folder in
      try FileManager.default.removeItem(at: folder)
      try FileManager.default.copyItem(at: copy, to: folder)
    }
  }

  /// A copy begins to live on another machine.
  private func clone() throws {
    guard !copies.isEmpty, devices.count < 3 else { return }
    let folder = self.folder.appendingPathComponent(name())
    try FileManager.default.copyItem(at: generator.element(copies), to: folder)
    devices.append(try open(folder))
  }

  /// The file is damaged, so that its outbox is taken over into a new one.
  private func salvage(_ index: Int) throws {
    try stopped(index) { folder in
      let database = try Database(.file(path: folder.appendingPathComponent("cache.sqlite").path))
      try database.execute("DROP TABLE cache_targets")
      database.close()
    }
    #expect(devices[index].recovery != nil)
  }

  // MARK: - The end

  /// Everything that still waits anywhere is sent; then the backend must have all of it, and nothing twice.
  func finish() async throws {
    for device in devices {
      settled.formUnion(try device.pending().compactMap(\.identity))
      try await device.drain()
      settled.formUnion(device.acknowledged)
    }
    #expect(devices.flatMap(\.problems) == [], "seed \(seed)")
    let stored = Set(try await contents("named").keys)
    let counters = try await contents("counters")
    let lost = settled.compactMap { named[$0] }.filter { !stored.contains($0) }
    #expect(lost == [], "seed \(seed): acknowledged, but not at the backend")
    #expect(counters["named", default: 0] == Int64(stored.count), "seed \(seed): each named write counts once")
    let settledPlain = Int64(plain.intersection(settled).count)
    // When a folder was put back, its newer writes were lost, but some of them had reached the backend.
    #expect((settledPlain...Int64(plain.count)).contains(counters["plain", default: 0]), "seed \(seed)")
  }

  /// The field `n` of each document, as the backend has it.
  func contents(_ collection: String) async throws -> [String: Int64] {
    let witness = try InteropClient(port: port, project: databaseID.projectID)
    let documents = try await witness.collection(collection).getDocuments(source: .server).documents
    try await witness.firestore.terminate()
    return Dictionary(uniqueKeysWithValues: documents.map { ($0.documentID, $0.get("n") as? Int64 ?? -1) })
  }
}
