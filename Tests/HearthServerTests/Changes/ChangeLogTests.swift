import HearthModel
import HearthStore
import HearthWire
import SwiftProtobuf
import Synchronization
import Testing

@testable import HearthServer

extension EmbeddedStorage {
  fileprivate var writtenPages: Int64 { database.writtenPages }
}

/// Counts the steps of statements of the change log.
final class LogReads: Sendable {
  private let number = Mutex(0)
  /// About the number of rows that were read since the last call.
  func take() -> Int {
    number.withLock { number in
      defer { number = 0 }
      return number
    }
  }

  var injection: @Sendable (Database.FailurePoint) -> StoreError? {
    { point in
      if case .statement(let sql) = point, sql.contains("FROM server_changes"), !sql.contains("FROM server_state") {
        self.number.withLock { $0 += 1 }
      }
      return nil
    }
  }
}

@Suite("The change log")
struct ChangeLogTests {
  private static let all = Query(path: path("c"))

  @Test("a commit that overwrites one of 20,000 documents writes at most four pages")
  func pagesPerCommit() async throws {
    try await withTemporaryFolder { folder in
      let storage = try EmbeddedStorage(
        location: .file(path: folder + ".sqlite"), databaseID: ServerFixture.database, clock: .system,
        logger: ServerFixture.quietLogger)
      let text = Value.string(String(repeating: "x", count: 200))
      for first in stride(from: 0, to: 20_000, by: 500) {
        _ = try await storage.commit(
          CommitRequest(mutations: (first..<first + 500).map { .set(key("c/d\($0)"), ["n": $0.value, "t": text]) }))
      }
      let before = await storage.writtenPages
      let count = 1_000
      for n in 0..<count {
        let id = n &* 7_919 % 20_000
        _ = try await storage.commit(CommitRequest(mutations: [.set(key("c/d\(id)"), ["n": (-n).value, "t": text])]))
      }
      let pages = Double(await storage.writtenPages - before) / Double(count)
      #expect(pages <= 4, "\(pages) pages per commit")
      await storage.close()
    }
  }

  @Test("an idle stream gets a fresh token without a look at the log, however much others write")
  func idleStream() async throws {
    let reads = LogReads()
    let fixture = try StorageFixture(feedCapacity: 16, injecting: reads.injection)
    try await fixture.set("c/a", ["n": 20.value])
    var listener = Listener(fixture)
    _ = try await listener.add(Self.all)
    _ = try await listener.add(Self.all.with(limit: 1), id: 4)
    var version = SnapshotVersion.none
    for n in 0..<3_000 { version = try await fixture.set("other/d\(n % 100)", ["n": n.value]) }
    #expect(listener.wakeCount == 0)
    _ = reads.take()
    #expect(try await listener.refresh() == ["snapshot"])
    #expect(reads.take() == 0)
    #expect(ResumeToken(bytes: listener.token)?.version == version)
  }

  @Test("a token of ten minutes ago resumes at the cost of what has changed for its target")
  func oldToken() async throws {
    let reads = LogReads()
    let fixture = try StorageFixture(feedCapacity: 16, injecting: reads.injection)
    for n in 0..<200 { try await fixture.set("c/d\(n)", ["n": n.value]) }
    var first = Listener(fixture)
    _ = try await first.add(Self.all)
    for n in 0..<2_000 { try await fixture.set("other/d\(n % 100)", ["n": n.value]) }
    try await fixture.set("c/d7", ["n": 1000.value])
    try await fixture.commit(.delete(key("c/d8")))
    fixture.clock.advance(seconds: 600)
    for n in 0..<2_000 { try await fixture.set("other/d\(n % 100)", ["n": n.value]) }
    _ = reads.take()
    var second = Listener(fixture)
    #expect(
      try await second.add(Self.all, token: first.token, expectedCount: 200)
        == ["add 2", "c/d7 in 2", "c/d8 deleted 2", "filter 2: 199", "current 2", "snapshot"])
    #expect(reads.take() < 20)
    let document: Google_Firestore_V1_ListenRequest = .with {
      $0.addTarget.targetID = 4
      $0.addTarget.documents.documents = [name("c/d8"), name("c/d9")]
      $0.addTarget.resumeToken = .init(first.token)
    }
    #expect(try await second.handle(document) == ["add 4", "c/d8 deleted 4", "current 4", "snapshot"])
    #expect(reads.take() < 20)
  }

  @Test("a limit resumes with one look at each of its windows")
  func limitOnce() async throws {
    let runs = Mutex(0)
    let fixture = try StorageFixture(injecting: { point in
      if point == .transaction("read page of query") { runs.withLock { $0 += 1 } }
      return nil
    })
    for n in 0..<20 { try await fixture.set("c/d\(n)", ["n": n.value]) }
    let query = Self.all.with(order: OrderBy(path: field("n"), direction: .ascending)).with(limit: 3)
    var first = Listener(fixture)
    _ = try await first.add(query)
    try await fixture.commit(.delete(key("c/d0")))
    try await fixture.set("c/d9", ["n": (-1).value])
    try await fixture.set("c/d1", ["n": 50.value])
    runs.withLock { $0 = 0 }
    var second = Listener(fixture)
    #expect(
      try await second.add(query, token: first.token, expectedCount: 3)
        == [
          "add 2", "c/d9 in 2", "c/d3 in 2", "c/d0 deleted 2", "c/d1 out 2", "filter 2: 3", "current 2", "snapshot",
        ])
    #expect(runs.withLock { $0 } == 2)
  }

  @Test("history is kept by its age, whatever the number of commits, and dropped few rows at a time")
  func age() async throws {
    let fixture = try StorageFixture()
    try await fixture.set("c/a", ["n": 0.value])
    let first = try await fixture.set("c/a", ["n": 1.value])
    for n in 0..<4_000 { try await fixture.set("other/d\(n % 50)", ["n": n.value]) }
    fixture.clock.advance(seconds: 3_500)
    for n in 0..<200 { try await fixture.set("other/d\(n % 50)", ["n": n.value]) }
    let read = try await fixture.storage.documents(for: [key("other/d3")], at: first).documents
    #expect(read.map(\.isFound) == [false])
    fixture.clock.advance(seconds: 200)
    for n in 0..<4_000 { try await fixture.set("other/d\(n % 50)", ["n": n.value]) }
    let error = await #expect(throws: StatusError.self) {
      _ = try await fixture.storage.documents(for: [key("c/a")], at: first)
    }
    #expect(error?.code == .failedPrecondition)
  }

  @Test("at its size the log is cut before its time, which is said once a minute with figures")
  func size() throws {
    let database = try Database(.memory)
    try ServerSchema.schema.migrate(database)
    let start = ManualClock().now
    let state = try ServerState.load(from: database, now: Timestamp(microseconds: start))
    let cuts = Mutex<[ChangeLog.Cut]>([])
    let log = try ChangeLog(database: database, retention: .init(bytes: 50_000), state: state) { cut in
      cuts.withLock { $0.append(cut) }
    }
    let fields = EncodedFields(["t": .string(String(repeating: "x", count: 1_000))])
    for second in 1...130 as ClosedRange<Int64> {
      let version = SnapshotVersion(microseconds: start + second * 1_000_000)
      let before = Document.found(
        key("c/d"), version: SnapshotVersion(microseconds: version.microseconds - 1_000_000), fields: fields)
      let after = Document.found(key("c/d"), version: version, fields: fields)
      try database.transaction("append") {
        try log.append(version: version, [DocumentTransition(before: before, after: after)])
        _ = try log.trim(now: version.timestamp)
      }
      #expect(log.bytes <= 50_000)
    }
    // Full after 45 seconds, then once a minute.
    #expect(cuts.withLock { $0.count } == 2)
    let cut = try #require(cuts.withLock { $0.first })
    #expect(cut.bytes > 50_000 && cut.limitBytes == 50_000 && cut.wantedSeconds == 3600)
    #expect((40...50).contains(cut.keptSeconds))
    let reopened = try ChangeLog(
      database: database, retention: .init(),
      state: ServerState.load(from: database, now: Timestamp(microseconds: start))
    ) { _ in }
    // Its start and sum were not saved with the last rows; what is behind is added up.
    #expect(reopened.bytes >= log.bytes)
  }

  @Test(
    "the number of documents is kept for collections and groups, at every version",
    arguments: [2, 3, 5] as [UInt64])
  func counts(seed: UInt64) async throws {
    let fixture = try StorageFixture()
    var number = seed
    func next(_ limit: Int) -> Int {
      number = number &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(number >> 33) % limit
    }
    let queries = [
      Self.all, Query(path: path("x/y/c")), Query(path: ResourcePath(), collectionGroup: "c"),
      Query(path: path("none")),
      Self.all.with(filter: .field(field("n"), .equal, 1.value)),
    ]
    var versions: [SnapshotVersion] = []
    for _ in 0..<60 {
      let mutations = (0..<1 + next(3)).map { _ -> Mutation in
        let document = key("\(["c", "x/y/c"][next(2)])/d\(next(8))")
        return next(3) == 0 ? .delete(document) : .set(document, ["n": next(3).value])
      }
      versions.append(try await fixture.storage.commit(CommitRequest(mutations: mutations)).version)
    }
    for version in versions {
      for query in queries {
        let found = try await fixture.storage.run(query, at: version).documents.count
        #expect(try await fixture.storage.count(of: query, at: version) == found)
      }
    }
  }

  @Test("a folder with the former log is taken over: documents and counts stay, history starts again")
  func olderFolder() async throws {
    try await withTemporaryFolder { folder in
      let location = Database.Location.file(path: folder + ".sqlite")
      do {
        let database = try Database(location)
        try Schema(component: "server", migrations: Array(ServerSchema.schema.migrations.prefix(2))).migrate(database)
        let store = try DocumentStore(database: database)
        let version = SnapshotVersion(microseconds: 1_699_000_000_000_000)
        for id in ["a", "b"] {
          try store.set(.found(key("c/\(id)"), version: version, fields: EncodedFields(["n": 1.value])))
        }
        try database.update(
          "INSERT INTO server_state (id, incarnation, last_version, log_start) VALUES (1, x'01', ?, 5)",
          .integer(version.microseconds))
        database.close()
      }
      let fixture = try StorageFixture(location: location)
      let present = try fixture.storage.currentVersion()
      #expect(present == SnapshotVersion(microseconds: 1_699_000_000_000_000))
      #expect(try await fixture.storage.count(of: Self.all, at: present) == 2)
      try await fixture.commit(.delete(key("c/a")))
      #expect(try await fixture.storage.run(Self.all, at: present).documents.map(\.key) == [key("c/a"), key("c/b")])
      await #expect(throws: StatusError.self) {
        _ = try await fixture.storage.run(Self.all, at: SnapshotVersion(microseconds: present.microseconds - 1))
      }
      await fixture.storage.close()
    }
  }

  @Test("the newest version survives a restart, also that of a commit that changed nothing")
  func versions() async throws {
    try await withTemporaryFolder { folder in
      let location = Database.Location.file(path: folder + ".sqlite")
      var versions: [SnapshotVersion] = []
      for round in 0..<4 {
        let fixture = try StorageFixture(location: location)
        if let last = versions.last { #expect(try fixture.storage.currentVersion() == last) }
        versions.append(try await fixture.set("c/a", ["n": round.value]))
        if round % 2 == 1 { versions.append(try await fixture.set("c/a", ["n": round.value])) }
        await fixture.storage.close()
      }
      #expect(versions == versions.sorted() && Set(versions).count == versions.count)
    }
  }
}
