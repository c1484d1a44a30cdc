import Dispatch
import Foundation
import HearthModel
import HearthStore
import HearthWire
import Synchronization
import TestSupport
import Testing

@testable import HearthServer

extension EmbeddedStorage {
  fileprivate var epochRows: Int64 {
    get throws {
      let select = try database.prepare("SELECT count(*) FROM server_epochs")
      guard try select.step() else { return 0 }
      return try select.int64(at: 0)
    }
  }
}

/// A database in a file that is started, stopped, copied and brought back.
final class DatabaseSite {
  let clock: ManualClock
  private(set) var folder: String
  private(set) var fixture: StorageFixture?
  private var file: String { folder + "/database.sqlite" }

  struct Copy {
    var database: Data
    var log: Data?
  }

  /// The way in which a copy replaces the database.
  enum Way: CaseIterable {
    case overwrite, rename, remove
  }

  init(_ folder: String, clock: ManualClock = ManualClock()) throws {
    self.folder = folder
    self.clock = clock
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
  }

  /// Starts the database unless it runs.
  func start() throws -> StorageFixture {
    if let fixture { return fixture }
    let started = try StorageFixture(location: .file(path: file), clock: clock)
    fixture = started
    return started
  }

  func stop() async {
    await fixture?.storage.close()
    fixture = nil
  }

  func restart() async throws -> StorageFixture {
    await stop()
    return try start()
  }

  /// The files, also of a database that runs.
  func copy() throws -> Copy {
    Copy(
      database: try Data(contentsOf: URL(fileURLWithPath: file)),
      log: try? Data(contentsOf: URL(fileURLWithPath: file + "-wal")))
  }

  func restore(_ copy: Copy, by way: Way = .overwrite) async throws {
    await stop()
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: file + suffix) }
    switch way {
    case .overwrite where FileManager.default.fileExists(atPath: file):
      let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file))
      try handle.truncate(atOffset: 0)
      try handle.write(contentsOf: copy.database)
      try handle.close()
    case .rename:
      try copy.database.write(to: URL(fileURLWithPath: file + ".new"))
      #expect(rename(file + ".new", file) == 0)
    case .overwrite, .remove:
      try? FileManager.default.removeItem(atPath: file)
      try copy.database.write(to: URL(fileURLWithPath: file))
    }
    try copy.log?.write(to: URL(fileURLWithPath: file + "-wal"))
  }

  func move(to folder: String) async throws {
    await stop()
    try FileManager.default.moveItem(atPath: self.folder, toPath: folder)
    self.folder = folder
  }

  /// Commits a document some time later.
  @discardableResult
  func set(_ path: String, _ number: Int = 0) async throws -> SnapshotVersion {
    clock.advance(seconds: 10)
    return try await start().set(path, ["n": number.value])
  }

  static let query = Query(path: path("c"))

  /// The token of a client that has everything up to now.
  func token() async throws -> [UInt8] {
    var listener = Listener(try start())
    _ = try await listener.add(Self.query)
    return listener.token
  }

  /// Returns the changes that a resuming client gets.
  func resume(_ token: [UInt8]) async throws -> [String] {
    var listener = Listener(try start())
    return try await listener.add(Self.query, token: token)
  }

  static func run<R>(_ body: (DatabaseSite) async throws -> R) async throws -> R {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let site = try DatabaseSite(folder + "/data")
      let result = try await body(site)
      await site.stop()
      return result
    }
  }
}

@Suite("Folders that were brought back from a copy", .timeLimit(.minutes(3)))
struct RestoredFolderTests {
  private static let nothing = ["add 2", "current 2", "snapshot"]

  @Test(
    "listeners of the lost future read everything again, however the copy came there",
    arguments: DatabaseSite.Way.allCases)
  func restored(way: DatabaseSite.Way) async throws {
    try await DatabaseSite.run { site in
      try await site.set("c/a")
      await site.stop()
      let copy = try site.copy()
      let known = try await site.token()
      try await site.set("c/lost")
      let lost = try await site.token()
      try await site.restore(copy, by: way)
      // Nothing was committed since: the token is of a later version.
      #expect(try await site.resume(lost) == ["add 2", "reset 2", "c/a in 2", "current 2", "snapshot"])
      #expect(try await site.resume(known) == Self.nothing)
      try await site.set("c/b")
      #expect(try await site.resume(lost) == ["add 2", "reset 2", "c/a in 2", "c/b in 2", "current 2", "snapshot"])
      #expect(try await site.resume(known) == ["add 2", "c/b in 2", "current 2", "snapshot"])
    }
  }

  @Test("an update that was lost is found, which no count of documents shows")
  func lostUpdate() async throws {
    try await DatabaseSite.run { site in
      try await site.set("c/a", 1)
      // While the server runs.
      let copy = try site.copy()
      try await site.set("c/a", 2)
      let lost = try await site.token()
      try await site.restore(copy)
      try await site.set("c/b")
      #expect(try await site.resume(lost) == ["add 2", "reset 2", "c/a in 2", "c/b in 2", "current 2", "snapshot"])
    }
  }

  @Test("restarts and a moved folder cost no listener anything, with commits in between and without")
  func restarts() async throws {
    try await DatabaseSite.run { site in
      try await site.set("c/a")
      var tokens = [try await site.token()]
      for round in 0..<4 {
        _ = try await site.restart()
        tokens.append(try await site.token())
        if round == 2 { try await site.move(to: site.folder + "2") }
        for token in tokens { #expect(try await site.resume(token) == Self.nothing) }
      }
      for round in 0..<4 {
        try await site.set("c/new\(round)")
        let expected = ["add 2"] + (0...round).map { "c/new\($0) in 2" } + ["current 2", "snapshot"]
        for token in tokens { #expect(try await site.resume(token) == expected) }
        let latest = try await site.token()
        _ = try await site.restart()
        if round == 2 { try await site.move(to: site.folder + "3") }
        for token in tokens { #expect(try await site.resume(token) == expected) }
        #expect(try await site.resume(latest) == Self.nothing)
      }
    }
  }

  @Test("a copy that goes on next to its original knows what came before the copy, and each its own from then on")
  func sideBySide() async throws {
    try await DatabaseSite.run { site in
      try await site.set("c/a")
      let before = try await site.token()
      let other = try DatabaseSite(site.folder + ".copy", clock: site.clock)
      try await other.restore(try site.copy())
      for one in [site, other] {
        #expect(try await one.resume(before) == Self.nothing)
        try await one.set("c/b", 1)
      }
      let tokens = [try await site.token(), try await other.token()]
      for (index, one) in [site, other].enumerated() {
        #expect(try await one.resume(tokens[index]) == Self.nothing)
        #expect(
          try await one.resume(tokens[1 - index])
            == ["add 2", "reset 2", "c/a in 2", "c/b in 2", "current 2", "snapshot"])
        #expect(try await one.resume(before) == ["add 2", "c/b in 2", "current 2", "snapshot"])
      }
      await other.stop()
    }
  }

  @Test("a folder may be brought back twice, and then from an older copy still")
  func again() async throws {
    try await DatabaseSite.run { site in
      try await site.set("c/a")
      let (oldest, first) = (try site.copy(), try await site.token())
      try await site.set("c/b")
      let (older, second) = (try site.copy(), try await site.token())
      for copy in [older, older, oldest, oldest] {
        try await site.set("c/lost")
        let lost = try await site.token()
        try await site.restore(copy)
        try await site.set("c/d")
        #expect(try await site.resume(lost).contains("reset 2"))
        #expect(try await site.resume(first).contains("reset 2") == false)
        // The state of the second token is not in the oldest copy.
        let knowsSecond = copy.database == older.database && copy.log == older.log
        #expect(try await site.resume(second).contains("reset 2") == !knowsSecond)
      }
    }
  }

  @Test("a version that was reserved for a read is no commit, also after a further restart")
  func reserved() async throws {
    try await DatabaseSite.run { site in
      // Old enough for a trim, which saves the state.
      for n in 0..<3 { try await site.set("old/d\(n)") }
      site.clock.advance(seconds: 4_000)
      try await site.set("c/a")
      let copy = try site.copy()
      try await site.set("c/a", 2)
      let lost = try await site.token()
      try await site.restore(copy)
      for isRestarted in [false, true] {
        site.clock.advance(seconds: 100)
        let storage = try site.start().storage
        _ = try await storage.snapshot(at: Timestamp(microseconds: site.clock.now))
        await storage.trimHistory()
        if isRestarted { _ = try await site.restart() }
        #expect(try await site.resume(lost).contains("reset 2"))
      }
      try await site.set("c/b")
      #expect(try await site.resume(lost).contains("reset 2"))
    }
  }

  @Test("a read time between an epoch's end and the next one's first commit does not resume", arguments: [true, false])
  func readTimes(commits: Bool) async throws {
    try await DatabaseSite.run { site in
      let kept = try await site.set("c/a")
      let copy = try site.copy()
      let lost = try await site.set("c/a", 2)
      try await site.restore(copy)
      site.clock.advance(seconds: 10)
      let later = commits ? try await site.set("c/b") : SnapshotVersion(microseconds: site.clock.now)
      // The first of them comes before any other listener.
      for (time, isReset) in [(lost, true), (kept, false), (lost, true), (later, false)] {
        let request = TargetRequest(
          targetID: 2, target: DatabaseSite.query.target, purpose: .listen, resumeToken: [], readTime: time,
          expectedCount: nil)
        var listener = Listener(try site.start())
        let messages = try await listener.handle(ServerFixture.translator.encode(WatchRequest.addTarget(request)))
        #expect(messages.contains("reset 2") == isReset, "\(messages)")
      }
    }
  }

  @Test("the first listener of a start gets a snapshot of the present, and a clock that was set back none before it")
  func present() async throws {
    func readTime(_ site: DatabaseSite) async throws -> SnapshotVersion? {
      var listener = Listener(try site.start())
      _ = try await listener.add(DatabaseSite.query)
      return listener.readTimes.last
    }
    try await DatabaseSite.run { site in
      try await site.set("c/a")
      await site.stop()
      let copy = try site.copy()
      let lost = try await site.set("c/a", 2)
      try await site.restore(copy)
      site.clock.advance(seconds: 1)
      let now = SnapshotVersion(microseconds: site.clock.now)
      #expect(now > lost)
      #expect(try await readTime(site) == now)
      // Only the first: what was given out holds until something changes.
      site.clock.advance(seconds: 1)
      #expect(try await readTime(site) == now)
      let token = try await site.token()
      await site.stop()
      site.clock.advance(seconds: -3_600)
      #expect(try await readTime(site) == now)
      #expect(try await site.resume(token) == Self.nothing)
      let later = try await site.set("c/b")
      #expect(later > now)
      #expect(try await site.resume(token) == ["add 2", "c/b in 2", "current 2", "snapshot"])
    }
  }

  @Test("all listeners that come together get a snapshot of the present")
  func together() async throws {
    try await DatabaseSite.run { site in
      try await site.set("c/a")
      await site.stop()
      site.clock.advance(seconds: 1)
      let now = SnapshotVersion(microseconds: site.clock.now)
      let hasEntered = Mutex(false)
      let release = DispatchSemaphore(value: 0)
      let fixture = try StorageFixture(location: .file(path: site.folder + "/database.sqlite"), clock: site.clock) {
        if case .transaction("announce version") = $0 {
          hasEntered.withLock { $0 = true }
          release.wait()
        }
        return nil
      }
      func listen() -> Task<SnapshotVersion?, any Error> {
        Task {
          var listener = Listener(fixture)
          _ = try await listener.add(DatabaseSite.query)
          return listener.readTimes.last
        }
      }
      let first = listen()
      try await waitUntil { hasEntered.withLock { $0 } }
      let others = (0..<4).map { _ in listen() }
      release.signal()
      for listener in [first] + others { #expect(try await listener.value == now) }
      await fixture.storage.close()
    }
  }

  @Test(
    "a client that comes back from a copy that goes on elsewhere gets a later snapshot than the copy's, once a second at most"
  )
  func otherCopy() async throws {
    try await DatabaseSite.run { site in
      try await site.set("c/a")
      let other = try DatabaseSite(site.folder + ".copy", clock: site.clock)
      try await other.restore(try site.copy())
      _ = try await site.token()
      site.clock.advance(seconds: 10)
      let token = try await other.token()
      site.clock.advance(seconds: 10)
      func readTime(_ token: [UInt8]) async throws -> SnapshotVersion? {
        var listener = Listener(try site.start())
        _ = try await listener.add(DatabaseSite.query, token: token)
        return listener.readTimes.last
      }
      let now = SnapshotVersion(microseconds: site.clock.now)
      #expect(try await readTime(token) == now)
      let future = ResumeToken(epoch: [1], version: SnapshotVersion(microseconds: site.clock.now + 60_000_000)).bytes
      site.clock.advance(milliseconds: 500)
      let early = ResumeToken(epoch: [1], version: SnapshotVersion(microseconds: site.clock.now)).bytes
      for token in [future, early] { #expect(try await readTime(token) == now) }
      site.clock.advance(milliseconds: 600)
      #expect(try await readTime(early) == SnapshotVersion(microseconds: site.clock.now))
      await other.stop()
    }
  }

  @Test("a version that was reserved for a read does not keep a listener from a later one than it has seen")
  func reservedInBetween() async throws {
    try await DatabaseSite.run { site in
      try await site.set("c/a")
      _ = try await site.restart()
      _ = try await site.token()
      site.clock.advance(seconds: 10)
      let seen = SnapshotVersion(microseconds: site.clock.now)
      site.clock.advance(seconds: 10)
      _ = try await site.start().storage.snapshot(at: Timestamp(microseconds: site.clock.now))
      site.clock.advance(seconds: 10)
      var listener = Listener(try site.start())
      _ = try await listener.add(DatabaseSite.query, token: ResumeToken(epoch: [1], version: seen).bytes)
      #expect(listener.readTimes.last == SnapshotVersion(microseconds: site.clock.now))
    }
  }

  @Test("a client that has seen later than a clock that is behind gets a snapshot with the next token after that")
  func clockBehind() async throws {
    try await DatabaseSite.run { site in
      try await site.set("c/a")
      _ = try await site.restart()
      site.clock.advance(seconds: 10)
      let seen = SnapshotVersion(microseconds: site.clock.now + 2_000_000)
      var listener = Listener(try site.start())
      _ = try await listener.add(DatabaseSite.query, token: ResumeToken(epoch: [1], version: seen).bytes)
      #expect(listener.readTimes.last.map { $0 < seen } == true)
      site.clock.advance(seconds: 30)
      _ = try await listener.refresh()
      #expect(listener.readTimes.last.map { $0 > seen } == true)
    }
  }

  @Test("a version that is announced between commits costs no listener anything at the next start")
  func announcedLater() async throws {
    try await DatabaseSite.run { site in
      try await site.set("c/a")
      site.clock.advance(seconds: 10)
      let seen = ResumeToken(epoch: [1], version: SnapshotVersion(microseconds: site.clock.now)).bytes
      site.clock.advance(seconds: 10)
      _ = try await site.resume(seen)
      let token = try await site.token()
      #expect(ResumeToken(bytes: token)?.snapshot == SnapshotVersion(microseconds: site.clock.now))
      _ = try await site.restart()
      #expect(try await site.resume(token) == Self.nothing)
      try await site.set("c/b")
      #expect(try await site.resume(token) == ["add 2", "c/b in 2", "current 2", "snapshot"])
    }
  }

  @Test("a failed sync of such a version stops commits, and what clients make up leads to one attempt a second")
  func failedAnnouncement() async throws {
    try await DatabaseSite.run { site in
      try await site.set("c/a")
      await site.stop()
      site.clock.advance(seconds: 10)
      let attempts = Mutex(0)
      let failure = Mutex(StoreError(kind: .full, message: "database or disk is full", sqliteCode: 13))
      let fixture = try StorageFixture(location: .file(path: site.folder + "/database.sqlite"), clock: site.clock) {
        guard case .transaction("announce version") = $0 else { return nil }
        attempts.withLock { $0 += 1 }
        return failure.withLock { $0 }
      }
      func listen() async throws {
        var listener = Listener(fixture)
        let seen = ResumeToken(epoch: [1], version: SnapshotVersion(microseconds: site.clock.now))
        _ = try await listener.add(DatabaseSite.query, token: seen.bytes)
      }
      for _ in 0..<20 { try await listen() }
      #expect(attempts.withLock { $0 } <= 2)
      try await fixture.set("c/b")
      failure.withLock { $0 = StoreError(kind: .io, message: "disk I/O error", sqliteCode: 1034) }
      site.clock.advance(seconds: 10)
      try await listen()
      let error = await #expect(throws: StatusError.self) { try await fixture.set("c/c") }
      #expect(error?.code == .unavailable)
      await fixture.storage.close()
    }
  }

  @Test("a quiet database that is opened again and again stores no epochs, and its first token stays good")
  func quiet() async throws {
    try await DatabaseSite.run { site in
      let version = try await site.set("c/a")
      let token = try await site.restart().storage.epochs.token(at: version).bytes
      let rows = try await site.start().storage.epochRows
      for _ in 0..<40 {
        site.clock.advance(seconds: 400)
        #expect(try await site.resume(token) == Self.nothing)
        _ = try await site.restart()
      }
      #expect(try await site.start().storage.epochRows == rows)
      try await site.set("c/b")
      #expect(try await site.resume(token) == ["add 2", "c/b in 2", "current 2", "snapshot"])
    }
  }

  @Test("listeners get their results where the version for them cannot be stored")
  func fullDisk() async throws {
    try await DatabaseSite.run { site in
      let version = try await site.set("c/a")
      await site.stop()
      site.clock.advance(seconds: 1)
      let fixture = try StorageFixture(location: .file(path: site.folder + "/database.sqlite"), clock: site.clock) {
        guard case .transaction("announce version") = $0 else { return nil }
        return StoreError(kind: .full, message: "database or disk is full", sqliteCode: 13)
      }
      var listener = Listener(fixture)
      #expect(try await listener.add(DatabaseSite.query) == ["add 2", "c/a in 2", "current 2", "snapshot"])
      #expect(listener.readTimes.last == version)
      // The first commit begins it.
      let later = try await fixture.set("c/b")
      #expect(fixture.storage.epochs.all.map(\.after).last == version)
      #expect(fixture.storage.epochs.all.map(\.first).last == later)
      await fixture.storage.close()
    }
  }

  @Test("a start without commits and listeners writes nothing, and epochs go with the history")
  func bounded() async throws {
    try await DatabaseSite.run { site in
      try await site.set("c/a")
      await site.stop()
      let before = try site.copy()
      for _ in 0..<3 {
        _ = try await site.start().storage.run(DatabaseSite.query, at: nil)
        await site.stop()
      }
      #expect(try site.copy().database == before.database)
      for n in 0..<12 {
        try await site.start().set("c/a", ["n": n.value])
        _ = try await site.restart()
      }
      #expect(try await site.start().storage.epochRows == 13)
      site.clock.advance(seconds: 4_000)
      try await site.start().storage.trimHistory()
      for n in 0..<3 {
        try await site.start().set("c/a", ["n": n.value])
        _ = try await site.restart()
      }
      #expect(try await site.start().storage.epochRows <= 4)
      #expect(try await site.start().storage.epochRows == Int64(site.start().storage.epochs.all.count))
    }
  }

  @Test("however often a database is started, few epochs are kept, the latest ones, in memory and in the table")
  func epochLimit() throws {
    let database = try Database(.memory)
    try ServerSchema.schema.migrate(database)
    func version(_ number: Int) -> SnapshotVersion { SnapshotVersion(microseconds: Int64(1_000 + number)) }
    var epochs = Epochs(creation: version(0))
    try epochs.save(in: database)
    let first = epochs.token(at: version(0))
    for start in 0..<600 {
      let next = epochs.beginning(after: version(start), first: version(start + 1), logStart: version(0))
      try next.save(in: database, replacing: epochs)
      epochs = next
      #expect(epochs.all.count <= Epochs.maximumCount)
      #expect(epochs.contains(epochs.token(at: version(start + 1))))
    }
    #expect(try Epochs(from: database).all == epochs.all)
    #expect(epochs.all.last?.first == version(600))
    #expect(!epochs.contains(first))
    let known = epochs.token(at: version(500))
    #expect(epochs.contains(known))
    #expect(!epochs.contains(ResumeToken(epoch: known.epoch, version: version(501))))
  }

  @Test("listeners of a folder that has an incarnation yet resume")
  func formerRelease() async throws {
    try await DatabaseSite.run { site in
      let now = site.clock.now
      let database = try Database(.file(path: site.folder + "/database.sqlite"))
      try Schema(component: "server", migrations: Array(ServerSchema.schema.migrations.prefix(5))).migrate(database)
      try database.update(
        "INSERT INTO server_state (id, incarnation, last_version, log_start) VALUES (1, x'0102030405060708', ?1, ?1)",
        .integer(now))
      database.close()
      let token: [UInt8] =
        [1, 1, 2, 3, 4, 5, 6, 7, 8] + (0..<8).map { UInt8(truncatingIfNeeded: now >> (56 - 8 * $0)) }
      #expect(try await site.resume(token) == Self.nothing)
      try await site.set("c/a")
      #expect(try await site.resume(token) == ["add 2", "c/a in 2", "current 2", "snapshot"])
    }
  }

  @Test("a database whose first commit came with this start is told from its copy")
  func firstRun() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      func epochs(in folder: String) async throws -> [Epochs.Epoch] {
        let backend = try EmbeddedBackend(
          location: .folder(folder), clock: .system, logger: ServerFixture.quietLogger)
        let database = try await backend.database(ServerFixture.database)
        _ = try await database.storage.commit(CommitRequest(mutations: [.set(key("a/b"), [:])]))
        await backend.close()
        return database.storage.epochs.all
      }
      let (original, copy) = ("\(folder)/original", "\(folder)/copy")
      let drawn = try await epochs(in: original)
      #expect(drawn.count == 1)
      try FileManager.default.copyItem(atPath: original, toPath: copy)
      let (later, other) = (try await epochs(in: original), try await epochs(in: copy))
      #expect(later.first == drawn.first && other.first == drawn.first && later.last?.id != other.last?.id)
    }
  }

  @Test(
    "whatever is copied, brought back and restarted, a client that resumes sees what a new one sees",
    arguments: SeededGenerator.seeds(8))
  func generated(seed: UInt64) async throws {
    struct Client {
      var token: [UInt8] = []
      var view: [DocumentKey: SnapshotVersion] = [:]
    }
    try await DatabaseSite.run { site in
      var generator = SeededGenerator(seed: seed)
      var clients = Array(repeating: Client(), count: 4)
      var copies: [DatabaseSite.Copy] = []
      for step in 0..<160 {
        site.clock.advance(seconds: Int64(generator.below(20)))
        switch generator.below(100) {
        case 0..<35:
          let document = key("c/d\(generator.below(6))")
          try await site.start().commit(
            generator.chance(25) ? .delete(document) : .set(document, ["n": step.value]))
        case 35..<70:
          let index = generator.below(clients.count)
          let fixture = try site.start()
          let stream = ViewedStream(fixture)
          try await stream.add(DatabaseSite.query, id: 2, token: clients[index].token, view: clients[index].view)
          let found = try await fixture.storage.run(DatabaseSite.query, at: nil).documents
          let view = await stream.views[2] ?? [:]
          #expect(
            view == Dictionary(uniqueKeysWithValues: found.map { ($0.key, $0.version) }),
            "seed \(seed), step \(step), client \(index)")
          clients[index] = Client(token: await stream.token, view: view)
          await stream.close()
        case 70..<78:
          _ = try site.start()
          copies.append(try site.copy())
        case 78..<86: await site.stop()
        case 86..<94:
          guard !copies.isEmpty else { continue }
          try await site.restore(generator.element(copies), by: generator.element(DatabaseSite.Way.allCases))
        case 94..<97:
          _ = try await site.start().storage.snapshot(at: Timestamp(microseconds: site.clock.now))
        default: try await site.start().storage.trimHistory()
        }
      }
    }
  }
}
