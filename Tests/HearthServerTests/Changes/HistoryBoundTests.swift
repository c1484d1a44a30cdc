import HearthModel
import HearthStore
import TestSupport
import Testing

@testable import HearthServer

extension EmbeddedStorage {
  fileprivate func loggedRows() throws -> (count: Int, bytes: Int) { try Self.loggedRows(in: database) }

  fileprivate static func loggedRows(in database: Database) throws -> (count: Int, bytes: Int) {
    let select = try database.prepare("SELECT id, old_fields FROM server_changes")
    var (count, bytes) = (0, 0)
    while try select.step() {
      count += 1
      bytes += 2 * (try select.string(at: 0).utf8.count) + 64
      bytes += select.isNull(at: 1) ? 0 : try select.bytes(at: 1).count
    }
    return (count, bytes)
  }
}

@Suite("The bounds of the history", .timeLimit(.minutes(5)))
struct HistoryBoundTests {
  /// A log without a storage around it, whose time is that of its commits.
  private final class Log {
    let database: Database
    let retention: HistoryRetention
    private(set) var log: ChangeLog
    var now = ManualClock().now
    private var versions: [DocumentKey: SnapshotVersion] = [:]

    init(_ retention: HistoryRetention) throws {
      database = try Database(.memory)
      self.retention = retention
      try ServerSchema.schema.migrate(database)
      log = try Self.open(database, retention)
    }

    private static func open(_ database: Database, _ retention: HistoryRetention) throws -> ChangeLog {
      let state = try ServerState.load(from: database, now: Timestamp(microseconds: ManualClock().now))
      return try ChangeLog(database: database, retention: retention, state: state) { _ in }
    }

    func reopen() throws { log = try Self.open(database, retention) }

    struct Failure: Error {}

    /// Overwrites documents, each with former contents of this size.
    func overwrite(_ ids: [String], bytes: Int, fails: Bool = false) throws {
      now += 1_000
      let version = SnapshotVersion(microseconds: now)
      let fields = EncodedFields(["t": .bytes(Array(repeating: 7, count: bytes))])
      let transitions = ids.map { id in
        let before = Document.found(
          key("c/\(id)"), version: SnapshotVersion(microseconds: now - 1), fields: fields)
        return DocumentTransition(before: before, after: .found(before.key, version: version, fields: fields))
      }
      let totals = log.totals
      do {
        try database.transaction("append") {
          try log.append(version: version, transitions)
          if try log.trim(now: version.timestamp) {
            try ServerState.save(lastVersion: version, logStart: log.start, logBytes: log.bytes, in: database)
          }
          if fails { throw Failure() }
        }
      } catch is Failure {
        log.rollBack(to: totals)
      }
    }

    var rows: (count: Int, bytes: Int) { get throws { try EmbeddedStorage.loggedRows(in: database) } }
  }

  @Test("the log stays at the size of its age behind commits of any size")
  func largeCommits() throws {
    let log = try Log(.init(microseconds: 500))
    for size in [5_000, 5_000, 70, 2_000, 9_000, 9_000] {
      let before = try log.rows.count
      try log.overwrite((0..<size).map { "d\($0)" }, bytes: 10)
      #expect(try log.rows.count <= max(before, size), "\(size) after \(before)")
    }
  }

  @Test("the log keeps to its bytes, however small the rows that have to go for a large one")
  func bytes() throws {
    let log = try Log(.init(bytes: 2 << 20))
    for round in 0..<12 {
      try log.overwrite((0..<2_000).map { "\(round)-\($0)" }, bytes: 1)
      #expect(log.log.bytes <= 2 << 20)
    }
    for round in 0..<12 {
      try log.overwrite(["large\(round)"], bytes: 900 << 10)
      #expect(log.log.bytes <= 2 << 20)
      #expect(try log.rows.bytes == log.log.bytes)
    }
  }

  @Test(
    "the size that is known is that of the rows, after any commits, failures and restarts",
    arguments: [11, 12, 13, 14] as [UInt64])
  func sum(seed: UInt64) throws {
    let seed = SeededGenerator.askedSeed ?? seed
    var generator = SeededGenerator(seed: seed)
    let log = try Log(.init(microseconds: 20_000, bytes: 40_000))
    let names = [
      "a", "\u{0}", "b\u{0}cc", "ä", "\u{1F600}\u{0}", "\u{0}\u{0}long" + String(repeating: "x", count: 900),
    ]
    for step in 0..<400 {
      switch generator.below(12) {
      case 0: try log.reopen()
      case 1: log.now += Int64(generator.below(30_000))
      default:
        let ids = (0..<(1 + generator.below(40))).map { "\(names[generator.below(names.count)])\($0)" }
        try log.overwrite(ids, bytes: generator.below(300), fails: generator.below(5) == 0)
      }
      #expect(try log.rows.bytes == log.log.bytes, "seed \(seed), step \(step)")
    }
  }

  @Test("documents with U+0000 in their ids leave no size behind when their history has gone")
  func idsWithZeros() async throws {
    let fixture = try StorageFixture()
    for n in 0..<100 { try await fixture.set("c/\u{0}\(n)" + String(repeating: "z", count: 1_000)) }
    fixture.clock.advance(seconds: 4_000)
    for n in 0..<200 { try await fixture.set("c/d\(n % 10)", ["n": n.value]) }
    #expect(fixture.storage.use().historyBytes < 100_000)
    #expect(try await fixture.storage.loggedRows().bytes == fixture.storage.use().historyBytes)
  }

  @Test("a size that was saved wrong is right when the folder is opened, whether history is left or not")
  func wrongTotals() async throws {
    try await withTemporaryFolder { folder in
      for keepsHistory in [true, false] {
        let location = Database.Location.file(path: "\(folder)\(keepsHistory).sqlite")
        do {
          // The log of the release that counted wrong.
          let database = try Database(location)
          try Schema(component: "server", migrations: Array(ServerSchema.schema.migrations.prefix(4))).migrate(database)
          let start = ManualClock().now
          let state = "INSERT INTO server_state (id, incarnation, last_version, log_start, log_bytes, counted_version)"
          try database.update(
            state + " VALUES (1, x'0102030405060708', ?1, ?1, 1960000, ?1)", .integer(start))
          try database.execute("INSERT INTO server_collections VALUES (1, 'c', 'c', 0)")
          if keepsHistory {
            try database.update(
              "INSERT INTO server_changes VALUES (?1, 1, ?2, 1, ?1, ?1, x'0102')", .integer(start), .text("\u{0}abc"))
          }
          database.close()
        }
        let fixture = try StorageFixture(location: location)
        #expect(fixture.storage.use().historyBytes == (keepsHistory ? 2 + 2 * 4 + 64 : 0))
        await fixture.storage.close()
      }
    }
  }

  @Test("history that has aged goes without another commit, a piece at a time")
  func idle() async throws {
    let fixture = try StorageFixture()
    for first in 0..<3 {
      let mutations = (0..<2_000).map { Mutation.set(key("c/d\(first)-\($0)"), ["n": $0.value]) }
      _ = try await fixture.storage.commit(CommitRequest(mutations: mutations))
    }
    #expect(try await fixture.storage.loggedRows().count == 6_000)
    fixture.clock.advance(seconds: 4_000)
    await fixture.storage.trimHistory()
    try await waitUntil { try await fixture.storage.loggedRows().count == 0 }
    #expect(fixture.storage.use().historyBytes == 0)
    await #expect(throws: StatusError.self) {
      _ = try await fixture.storage.snapshot(at: Timestamp(microseconds: ManualClock().now))
    }
  }

  @Test("what large commits have left behind goes between later small ones")
  func behind() async throws {
    let fixture = try StorageFixture()
    for first in 0..<3 {
      let mutations = (0..<3_000).map { Mutation.set(key("c/d\(first)-\($0)"), ["n": $0.value]) }
      _ = try await fixture.storage.commit(CommitRequest(mutations: mutations))
    }
    fixture.clock.advance(seconds: 4_000)
    for n in 0..<70 { try await fixture.set("other/d", ["n": n.value]) }
    try await waitUntil { try await fixture.storage.loggedRows().count <= 70 }
  }
}
