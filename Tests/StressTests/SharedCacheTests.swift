import Foundation
import HearthCache
import HearthModel
import HearthServer
import HearthStore
import InteropSupport
import Logging
import TestSupport
import Testing

/// Several processes on one cache. Random ones are killed or stopped, above all the one that has the streams.
@Suite("Processes that share a cache")
struct SharedCacheTests {
  /// 15 seconds, or as many as the environment says.
  static let duration = Duration.seconds(
    ProcessInfo.processInfo.environment["HEARTH_SECONDS"].flatMap { Int($0) } ?? 15)

  @Test(
    "agree with hearth serve after kills, stops and phases offline, and have written everything once",
    .timeLimit(.minutes(3)))
  func againstOwnServer() async throws {
    let logger = Logger(label: "shared-cache-test") { _ in SwiftLogNoOpLogHandler() }
    let server = try await EmbeddedServer.start(host: "127.0.0.1", port: 0, storage: .memory, logger: logger)
    let run = try SharedCacheRun(port: server.port, writesOnce: true)
    do { try await run.run(for: Self.duration) } catch { Issue.record("\(error)") }
    await run.end()
    await server.shutdown()
  }

  @Test("see each other's writes offline, and another process takes the streams over at once", .timeLimit(.minutes(1)))
  func handover() async throws {
    let logger = Logger(label: "shared-cache-test") { _ in SwiftLogNoOpLogHandler() }
    let server = try await EmbeddedServer.start(host: "127.0.0.1", port: 0, storage: .memory, logger: logger)
    let run = try SharedCacheRun(port: server.port, writesOnce: true)
    do { try await run.handOver() } catch { Issue.record("\(error)") }
    await run.end()
    await server.shutdown()
  }

  @Test(
    "leave a folder of regular files that any program can copy, running or killed, and the copy has everything",
    .timeLimit(.minutes(1)))
  func copies() async throws {
    try await withoutBackend { try await $0.copyFolder() }
  }

  private func withoutBackend(_ body: (SharedCacheRun) async throws -> Void) async throws {
    let run = try SharedCacheRun(port: 1, writesOnce: true)
    do { try await body(run) } catch { Issue.record("\(error)") }
    await run.end()
  }

  /// Two connections of one process: one reads, and the process gives up its locks of the files, as a copy of them does. Then it waits for a line.
  private static let copyingReader = """
    import os, signal, sqlite3, sys
    path = sys.argv[1]
    writer, reader = (sqlite3.connect(path, isolation_level=None) for _ in range(2))
    for statement in ("application_id = 1215460456", "journal_mode = WAL", "wal_autocheckpoint = 0"): writer.execute("PRAGMA " + statement)
    writer.execute("CREATE TABLE items (name)")
    writer.execute("INSERT INTO items VALUES ('one')")
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM items").fetchall()
    for ending in ("", "-shm", "-wal"): open(path + ending, "rb").close()
    print("ready", flush=True)
    sys.stdin.readline()
    for name in ("two", "three"): writer.execute("INSERT INTO items VALUES (?)", (name,))
    os.kill(os.getpid(), signal.SIGKILL)
    """

  @Test(
    "keep a log whole, when they close it, for one that has copied its folder and reads",
    .enabled(if: Programs.find("python3") != nil, "python3 is not installed"), .timeLimit(.minutes(1)))
  func keptLog() async throws {
    let folder = TemporaryFolder()
    try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
    let path = folder.url.appendingPathComponent("kept.sqlite").path
    let process = try LineProcess(
      try #require(Programs.find("python3")), ["-c", Self.copyingReader, path], takesInput: true)
    #expect(await process.nextLine() == "ready")
    let database = try Database(.file(path: path))
    try database.execute("INSERT INTO items VALUES ('ours')")
    database.keepLogAtClose()
    database.close()
    process.send("go on")
    _ = await process.waitForExit()
    let reopened = try Database(.file(path: path))
    defer { reopened.close() }
    var names: [String] = []
    try reopened.forEachRow("SELECT name FROM items") {
      names.append(try $0.string(at: 0))
      return true
    }
    #expect(names == ["one", "ours", "two", "three"])
  }

  @Test(
    "lose nothing of one that has copied its own folder, which gives up the locks of its database, when another one ends",
    .timeLimit(.minutes(1)))
  func ownCopies() async throws {
    try await withoutBackend { try await $0.copyOwnFolder() }
  }
}

@Suite(
  "Processes that share a cache, with Google's emulator", .enabled(if: Emulator.isInstalled, Emulator.hint), Emulator())
struct SharedCacheEmulatorTests {
  @Test(
    "agree with the backend after kills, stops and phases offline, and have lost nothing", .timeLimit(.minutes(3)))
  func againstEmulator() async throws {
    // It does not know labels: a batch whose answer was lost with its process is written again.
    let run = try SharedCacheRun(port: Emulator.port, writesOnce: false)
    do { try await run.run(for: SharedCacheTests.duration) } catch { Issue.record("\(error)") }
    await run.end()
  }
}

/// One run, from a seed.
private final class SharedCacheRun {
  private let port: Int
  private let writesOnce: Bool
  private let folder: URL
  private let project: String
  private var generator: SeededGenerator
  private var sharers: [Sharer] = []
  private var startedCount = 0
  private var acknowledged: Set<String> = []
  /// Between two writes of a process, in milliseconds. All processes show all writes, so shorter ones only keep the machine busy.
  private static let longestPause = 1_000

  init(port: Int, writesOnce: Bool) throws {
    let seed = UInt64(ProcessInfo.processInfo.environment["HEARTH_SEED"] ?? "") ?? UInt64.random(in: 1...999_999)
    print("shared cache test: seed \(seed) (HEARTH_SEED=\(seed) repeats its choices)")
    generator = SeededGenerator(seed: seed)
    self.port = port
    self.writesOnce = writesOnce
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-shared-\(UUID().uuidString)")
    project = "shared-\(seed)-\(UInt32.random(in: 0 ... .max))"
  }

  func end() async {
    for sharer in sharers { sharer.process.killAtOnce() }
    try? FileManager.default.removeItem(at: folder)
  }

  @discardableResult
  private func start() async throws -> Sharer {
    startedCount += 1
    let sharer = try Sharer("p\(startedCount)", ["127.0.0.1:\(port)", project, folder.path])
    sharers.append(sharer)
    try await sharer.wait(for: "ready")
    return sharer
  }

  private func removed(_ sharer: Sharer) async {
    sharers.removeAll { $0 === sharer }
    await sharer.readToEnd()
    acknowledged.formUnion(sharer.acknowledged)
  }

  // MARK: - Random

  func run(for duration: Duration) async throws {
    for _ in 0..<4 { try await start().send("run \(generator.next()) \(Self.longestPause)") }
    let end = ContinuousClock.now + duration
    while ContinuousClock.now < end {
      try await Task.sleep(for: .milliseconds(Int.random(in: 50...400, using: &generator)))
      try await disturb()
    }
    for sharer in sharers { sharer.process.goOn() }
    try await settle()
  }

  private func disturb() async throws {
    // The first in the list has lived longest: mostly it has the streams.
    let index = Bool.random(using: &generator) ? 0 : Int.random(in: 0..<sharers.count, using: &generator)
    let sharer = sharers[index]
    switch Int.random(in: 0..<10, using: &generator) {
    case 0...2:
      sharer.process.killAtOnce()
      await removed(sharer)
      try await start().send("run \(generator.next()) \(Self.longestPause)")
    case 3:
      sharer.send("end")
      await removed(sharer)
      try await start().send("run \(generator.next()) \(Self.longestPause)")
    case 4, 5:
      sharer.process.stop()
      try await Task.sleep(for: .milliseconds(Int.random(in: 50...1_000, using: &generator)))
      sharer.process.goOn()
    case 6: sharer.send("offline")
    case 7: for sharer in sharers { sharer.send("online") }
    case 8 where sharers.count < 8: try await start().send("run \(generator.next()) \(Self.longestPause)")
    default: break
    }
  }

  private func settle() async throws {
    for sharer in sharers { sharer.send("settle") }
    for sharer in sharers { try await sharer.wait(for: "sent") }
    let (ids, total) = try await backend()
    for sharer in sharers { sharer.send("show \(ids.count)") }
    for sharer in sharers {
      let view = try await sharer.wait(for: "settled")
      #expect(view["total"] as? Int == total, "\(sharer.name)")
      acknowledged.formUnion(sharer.acknowledged)
    }
    if writesOnce { #expect(total == ids.count, "every batch was written once") } else { #expect(total >= ids.count) }
    #expect(acknowledged.subtracting(ids).isEmpty, "acknowledged, but not at the backend")
    #expect(acknowledged.count > 20, "the run had something to check")
    for sharer in sharers { sharer.send("end") }
    for sharer in sharers { #expect(await sharer.process.waitForExit() == 0) }
  }

  // MARK: - One handover

  func handOver() async throws {
    let first = try await start()
    let second = try await start()
    first.send("write one")
    try await second.wait(for: "seen", id: "one")
    for sharer in sharers { sharer.send("offline") }
    second.send("write two")
    try await first.wait(for: "seen", id: "two")
    for sharer in sharers { sharer.send("online") }
    try await second.wait(for: "acked", id: "two")
    first.process.killAtOnce()
    second.send("write three")
    try await second.wait(for: "acked", id: "three")
    let (ids, total) = try await backend()
    #expect(ids == ["one", "two", "three"])
    #expect(total == 3)
  }

  // MARK: - Copies of the folder

  func copyFolder() async throws {
    let first = try await start()
    let second = try await start()
    first.send("write one")
    try await second.wait(for: "seen", id: "one")
    second.send("write two")
    try await first.wait(for: "seen", id: "two")
    try await checkCopy()
    for sharer in [first, second] {
      sharer.process.killAtOnce()
      await removed(sharer)
    }
    try await checkCopy()
    // The next client finds what the killed ones have left, and none of what they held.
    let third = try await start()
    third.send("write three")
    try await third.wait(for: "seen", id: "three")
  }

  func copyOwnFolder() async throws {
    let first = try await start()
    first.send("write one")
    try await first.wait(for: "seen", id: "one")
    first.send("copy \(folder.path)-own-copy")
    try await first.wait(for: "copied")
    defer { try? FileManager.default.removeItem(atPath: folder.path + "-own-copy") }
    let second = try await start()
    second.send("write two")
    try await first.wait(for: "seen", id: "two")
    second.send("end")
    await removed(second)
    first.send("write three")
    try await first.wait(for: "seen", id: "three")
    first.process.killAtOnce()
    await removed(first)
    let written = try pendingWrites(in: cacheFolder)
    #expect(written.isSuperset(of: ["items/one", "items/two", "items/three"]), "\(written)")
  }

  /// The folder of the client, below the base folder.
  private var cacheFolder: String { folder.path + "/__FIRAPP_DEFAULT/\(project)/(default)" }

  private func checkCopy() async throws {
    let names = try FileManager.default.contentsOfDirectory(atPath: cacheFolder)
    #expect(names.contains("cache.lease") && names.contains { $0.hasPrefix("cache.wake-") })
    for name in names {
      let type = try FileManager.default.attributesOfItem(atPath: "\(cacheFolder)/\(name)")[.type] as? FileAttributeType
      #expect(type == .typeRegular, "\(name)")
    }
    let copy = folder.path + "-copy"
    defer { try? FileManager.default.removeItem(atPath: copy) }
    if let python = Programs.find("python3") {
      let script = "import shutil, sys; shutil.copytree(sys.argv[1], sys.argv[2])"
      let output = try await Programs.runInBackground(python, ["-c", script, cacheFolder, copy])
      #expect(output.status == 0, "\(output.text)")
    } else {
      try FileManager.default.copyItem(atPath: cacheFolder, toPath: copy)
    }
    let written = try pendingWrites(in: copy)
    #expect(written.isSuperset(of: ["items/one", "items/two"]), "\(written)")
  }

  /// The documents of the writes that wait in a folder that nobody uses.
  private func pendingWrites(in folder: String) throws -> Set<String> {
    let database = DatabaseID(projectID: project)
    let (cache, store) = try CacheFile.openStore(folder: folder, databaseID: database) { file, _ in
      try LocalStore(
        database: file, databaseID: database, garbageCollection: .leastRecentlyUsed(thresholdBytes: -1), user: nil,
        newCacheID: "copy")
    }
    defer { cache.close() }
    #expect(cache.recovery == nil)
    return Set(try store.pendingBatches().flatMap(\.mutations).map(\.key.canonicalString))
  }

  // MARK: - The backend

  private func backend() async throws -> (ids: Set<String>, total: Int) {
    let database = DatabaseID(projectID: project)
    return try await QueryBackend.withConnection(port: port) { client in
      let backend = QueryBackend(client: client, database: database)
      let items = try await backend.run(Query(path: ResourcePath(["items"])))
      let totals = try await backend.run(Query(path: ResourcePath(["totals"])))
      guard case .integer(let sum)? = try totals.first?.fields.decoded()["total"] else {
        return (Set(items.compactMap(\.key.path.last)), 0)
      }
      return (Set(items.compactMap(\.key.path.last)), Int(sum))
    }
  }
}

/// One of the processes.
private final class Sharer {
  let name: String
  let process: LineProcess
  private(set) var acknowledged: Set<String> = []
  /// Reports that nobody has waited for yet.
  private var unread: [[String: Any]] = []

  init(_ name: String, _ arguments: [String]) throws {
    self.name = name
    process = try LineProcess(Programs.product("CacheSharer"), arguments + [name], takesInput: true)
  }

  func send(_ line: String) { process.send(line) }

  /// Waits for a report.
  @discardableResult
  func wait(for event: String, id: String? = nil) async throws -> [String: Any] {
    if let index = unread.firstIndex(where: { isSought($0, event, id) }) { return unread.remove(at: index) }
    while let report = await process.next() {
      note(report)
      if report["event"] as? String == "failed" { throw SharerFailure("\(name): \(report["reason"] ?? "")") }
      if isSought(report, event, id) { return report }
      if report["event"] as? String != "acked" || id == nil { unread.append(report) }
    }
    throw SharerFailure("\(name) ended before it reported \(event) \(id ?? "")")
  }

  private func isSought(_ report: [String: Any], _ event: String, _ id: String?) -> Bool {
    report["event"] as? String == event && (id == nil || report["id"] as? String == id)
  }

  func readToEnd() async {
    while let report = await process.next() { note(report) }
  }

  private func note(_ report: [String: Any]) {
    if report["event"] as? String == "acked", let id = report["id"] as? String { acknowledged.insert(id) }
  }
}

private struct SharerFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}
