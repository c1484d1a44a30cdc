import Foundation
import HearthModel
import HearthStore
import HearthWire
import TestSupport
import Testing

@testable import HearthServer

@Suite("Folders that were brought back from a copy", .timeLimit(.minutes(3)))
struct RestoredFolderTests {
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
      #expect(try await site.resume(known) == DatabaseSite.nothing)
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
        for token in tokens { #expect(try await site.resume(token) == DatabaseSite.nothing) }
      }
      for round in 0..<4 {
        try await site.set("c/new\(round)")
        let expected = ["add 2"] + (0...round).map { "c/new\($0) in 2" } + ["current 2", "snapshot"]
        for token in tokens { #expect(try await site.resume(token) == expected) }
        let latest = try await site.token()
        _ = try await site.restart()
        if round == 2 { try await site.move(to: site.folder + "3") }
        for token in tokens { #expect(try await site.resume(token) == expected) }
        #expect(try await site.resume(latest) == DatabaseSite.nothing)
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
        #expect(try await one.resume(before) == DatabaseSite.nothing)
        try await one.set("c/b", 1)
      }
      let tokens = [try await site.token(), try await other.token()]
      for (index, one) in [site, other].enumerated() {
        #expect(try await one.resume(tokens[index]) == DatabaseSite.nothing)
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
      #expect(try await site.resume(token) == DatabaseSite.nothing)
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
