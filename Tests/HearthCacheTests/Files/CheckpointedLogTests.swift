import Foundation
import HearthModel
import HearthStore
import TestSupport
import Testing

@testable import HearthCache

/// A checkpoint has copied the log into the file before a process was killed. SQLite keeps the log as it is until the next commit, and puts
/// its pages over those of the file again when it opens both.
@Suite("A write-ahead log that is damaged after it was moved into the file")
struct CheckpointedLogTests {
  private static let headerBytes = 32
  private static let frameBytes = 24 + PageDamage.pageBytes
  private static let writeCount = 3

  private struct Killed {
    var main: Data
    var log: Data
    /// As it was when the log began.
    var mainBefore = Data()
    /// The frames that were moved.
    var movedCount = 0
    var frameCount: Int { (log.count - headerBytes) / frameBytes }

    init(_ cache: TestCache) throws {
      main = try cache.bytes()
      log = try Data(contentsOf: URL(fileURLWithPath: cache.folder.file(CacheFile.fileName + "-wal")))
    }

    func place(_ offset: Int, bytes count: Int = 1) throws -> TemporaryFolder {
      var log = log
      for offset in offset..<min(offset + count, log.count) { log[offset] ^= 0x10 }
      let folder = TemporaryFolder()
      try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
      try main.write(to: URL(fileURLWithPath: folder.file(CacheFile.fileName)))
      try log.write(to: URL(fileURLWithPath: folder.file(CacheFile.fileName + "-wal")))
      return folder
    }
  }

  /// The place of a frame in the log, counted from 0.
  private static func start(ofFrame frame: Int) -> Int { headerBytes + frame * frameBytes }

  private func checkpoint(_ database: Database) throws {
    _ = try database.firstRow("PRAGMA wal_checkpoint(PASSIVE)") { try $0.int64(at: 0) }
  }

  private func write(_ number: Int, in store: LocalStore) throws {
    let write = LocalWrite(
      mutations: [.set(key("rooms/\(number)"), ["text": .string(String(repeating: "x", count: 300))])],
      localWriteTime: time(1), identity: BatchIdentity(high: 7, low: UInt64(number)))
    _ = try store.write(many: [write])
  }

  /// The files of a client that has changed its cache often. Its log is in the file, but for some frames at the end if there were `laterWrites`.
  private func killed(laterWrites: Int = 0, isShortened: Bool = false) throws -> Killed {
    let cache = try TestCache(.file)
    defer { cache.close() }
    let target = try cache.store.allocateTarget(collection("halls").target).targetID
    try cache.store.receive(found("halls/1", 10, ["n": .integer(1)]), at: 10, for: [target], token: "1")
    if isShortened { try cache.database.execute("CREATE TABLE padding AS SELECT zeroblob(200000) AS bytes") }
    try cache.database.truncateLog()
    for number in 1...Self.writeCount {
      try write(number, in: cache.store)
      if isShortened, number == 2 {
        try cache.database.execute("UPDATE padding SET bytes = randomblob(200000)")
        try cache.database.execute("DROP TABLE padding")
        _ = try cache.database.releaseFreePages(limit: 1_000)
      }
      let version = Int64(number + 1) * 10
      try cache.store.receive(found("halls/1", version, ["n": .integer(version)]), at: version)
      try cache.store.receive(
        found("halls/1", version + 1, ["n": .integer(version)]), at: version + 1, for: [target], token: "\(number + 1)")
    }
    // Otherwise the log would start again.
    let reader = try Database(.file(path: cache.folder.file(CacheFile.fileName)), options: .init(isReadOnly: true))
    defer { reader.close() }
    return try reader.readTransaction("Read") {
      _ = try reader.firstRow("SELECT count(*) FROM cache_users") { try $0.int64(at: 0) }
      let mainBefore = try cache.bytes()
      try checkpoint(cache.database)
      let movedCount = try Killed(cache).frameCount
      for number in 0..<laterWrites { try write(Self.writeCount + 1 + number, in: cache.store) }
      var killed = try Killed(cache)
      (killed.mainBefore, killed.movedCount) = (mainBefore, movedCount)
      #expect(laterWrites == 0 || killed.frameCount > movedCount)
      return killed
    }
  }

  private struct Found: Equatable, CustomStringConvertible {
    var pending: [BatchID]
    var version: SnapshotVersion
    var token: [UInt8]
    var isRecovered: Bool
    var description: String { "\(pending) \(version) \(String(decoding: token, as: UTF8.self)) \(isRecovered)" }
  }

  private func open(_ folder: TemporaryFolder) throws -> Found {
    let (cache, store) = try CacheFile.openStore(folder: folder.path, databaseID: TestCache.databaseID) { database, _ in
      try LocalStore(
        database: database, databaseID: TestCache.databaseID, garbageCollection: TestCache.lru, user: nil,
        newCacheID: "new")
    }
    defer { cache.close() }
    #expect(try cache.database.integrityProblems() == [])
    return Found(
      pending: try store.pendingBatches().map(\.batchID), version: try store.read("halls/1").version,
      token: try cache.database.firstRow("SELECT resume_token FROM cache_targets") { try $0.bytes(at: 0) } ?? [],
      isRecovered: cache.recovery != nil)
  }

  private func everything(laterWrites: Int = 0) -> Found {
    let version = version(Int64(Self.writeCount + 1) * 10 + 1)
    return Found(
      pending: Array(1...BatchID(Self.writeCount + laterWrites)), version: version,
      token: Array("\(Self.writeCount + 1)".utf8), isRecovered: false)
  }

  @Test("has lost nothing, whichever frame is damaged, and the file is not set aside")
  func anyFrame() throws {
    let killed = try killed()
    for frame in 0..<killed.frameCount {
      let folder = try killed.place(Self.start(ofFrame: frame) + 24 + 4_000)
      #expect(try open(folder) == everything(), "frame \(frame) of \(killed.frameCount)")
      #expect(try folder.names().filter { $0.contains("merged") || $0.contains("corrupt") } == [])
    }
  }

  @Test(
    "has lost nothing if the header is damaged, or what a frame says before its page",
    arguments: [0, 3, 5, 9, 13, 17, 20])
  func header(byte: Int) throws {
    let killed = try killed()
    #expect(try open(killed.place(byte)) == everything(), "header")
    // A frame with another page number is one of that page, as far as it can be known.
    for frame in [killed.frameCount - 1] + (byte < 4 ? [] : [0, killed.frameCount / 2]) {
      #expect(try open(killed.place(Self.start(ofFrame: frame) + byte)) == everything(), "frame \(frame)")
    }
  }

  @Test("has lost nothing if several frames are damaged")
  func severalFrames() throws {
    let killed = try killed()
    for frame in 0..<killed.frameCount - 1 where frame.isMultiple(of: 3) {
      // The end of one page, and the beginning of the next.
      var damaged = killed
      damaged.log[Self.start(ofFrame: frame) + 24 + 8_000] ^= 1
      let folder = try damaged.place(Self.start(ofFrame: frame + 1) + 24 + 500, bytes: 40)
      #expect(try open(folder) == everything(), "frame \(frame)")
    }
  }

  @Test("has lost nothing if the file has become shorter")
  func shortened() throws {
    let killed = try killed(isShortened: true)
    for frame in stride(from: killed.frameCount - 1, to: 0, by: -5) {
      for place in [6, 20, 24 + 4_000] {
        let found = try open(killed.place(Self.start(ofFrame: frame) + place))
        #expect(found == everything(), "frame \(frame) of \(killed.frameCount), \(place)")
      }
    }
  }

  @Test("keeps what was written after that")
  func laterWrites() throws {
    let killed = try killed(laterWrites: 2)
    for frame in 0..<killed.movedCount {
      let folder = try killed.place(Self.start(ofFrame: frame) + 24 + 4_000)
      #expect(try open(folder) == everything(laterWrites: 2), "frame \(frame) of \(killed.movedCount)")
    }
  }

  /// True if there is a program on this machine that can hold a database open as others do.
  private static let canReadFromOutside =
    Programs.find("python3").map { (try? Programs.run($0, ["-c", "import sqlite3"]).status) == 0 } ?? false

  /// Otherwise that program would go on in a file without a name, with what the new one lacks.
  @Test(
    "is not moved into the file while another program has it open",
    .enabled("python3 with its module sqlite3 is not installed") { canReadFromOutside }, arguments: [0, 2])
  func otherProgram(laterWrites: Int) async throws {
    let killed = try killed(laterWrites: laterWrites)
    let folder = try killed.place(Self.start(ofFrame: 1) + 24 + 4_000)
    let files = ["", "-wal"].map { URL(fileURLWithPath: folder.file(CacheFile.fileName + $0)) }
    let before = try files.map { try Data(contentsOf: $0) }
    let script = """
      import sqlite3, sys
      database = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
      database.execute("SELECT count(*) FROM sqlite_master").fetchall()
      print("open", flush=True)
      sys.stdin.readline()
      database.close()
      """
    let program = try LineProcess(
      try #require(Programs.find("python3")), ["-c", script, files[0].path], takesInput: true)
    #expect(await program.nextLine() == "open")
    #expect { try open(folder) } throws: { ($0 as? StoreError)?.kind == .unavailable }
    #expect(try files.map { try Data(contentsOf: $0) } == before)
    program.send("")
    #expect(await program.waitForExit() == 0)
    #expect(try open(folder) == everything(laterWrites: laterWrites))
  }

  @Test("is not moved into the file if that was used since the log was read", arguments: [0, 2])
  func usedSince(laterWrites: Int) throws {
    let killed = try killed(laterWrites: laterWrites)
    let folder = try killed.place(Self.start(ofFrame: 1) + 24 + 4_000)
    let main = folder.file(CacheFile.fileName)
    let log = try #require(DatabaseLog(damagedIn: main))
    #expect(log.isWhole)
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: main + "-wal"))
    try file.seekToEnd()
    try file.write(contentsOf: Data([0]))
    try file.close()
    #expect { try log.moveIntoDatabase(through: main + "-copy") } throws: { ($0 as? StoreError)?.kind == .unavailable }
    #expect(try Data(contentsOf: URL(fileURLWithPath: main)) == killed.main)
    #expect(try folder.names().sorted() == ["cache.sqlite", "cache.sqlite-wal"])
  }

  @Test("shows one state if the process was killed in the middle of the checkpoint")
  func interruptedCheckpoint() throws {
    let killed = try killed()
    let length = killed.main.count / PageDamage.pageBytes
    for frame in stride(from: 0, to: killed.frameCount, by: 2) {
      // Pages are moved in the order of their numbers.
      let cut = (2 + frame * 7 % (length - 1)) * PageDamage.pageBytes
      var interrupted = killed
      interrupted.main = killed.main.prefix(cut) + killed.mainBefore.dropFirst(cut)
      let found = try open(interrupted.place(Self.start(ofFrame: frame) + 24 + 4_000))
      let token = Int64(String(decoding: found.token, as: UTF8.self)) ?? 0
      let least = version(token == 1 ? 10 : token * 10 + 1)
      #expect(found.version >= least || found.token.isEmpty, "frame \(frame): \(found)")
    }
  }

  @Test("is not taken for one if a commit was cut off that has pages which it does not change")
  func interruptedCommit() throws {
    let cache = try TestCache(.file)
    func replace(_ version: Int64) throws {
      let text = String(repeating: "\(version)", count: 10_000)
      try cache.store.receive(found("halls/1", version, ["text": .string(text)]), at: version)
    }
    try replace(10)
    try cache.database.truncateLog()
    try write(1, in: cache.store)
    let frames = try Killed(cache).frameCount
    try replace(20)
    let killed = try Killed(cache)
    cache.close()
    #expect(killed.frameCount > frames + 3)
    for frame in frames..<killed.frameCount - 1 {
      let start = Self.start(ofFrame: frame)
      // The power failed before the frame was on the disk; the process was killed between the two parts of a frame.
      var (lost, half) = (killed, killed)
      lost.log.resetBytes(in: start..<start + Self.frameBytes)
      half.log = killed.log.prefix(start + 24) + Data(repeating: 0xA5, count: Self.frameBytes - 24)
      for (kind, files) in [("lost", lost), ("half", half)] {
        let found = try open(files.place(0, bytes: 0))
        let isKept = found.pending == [1] && found.version == version(10) && !found.isRecovered
        #expect(isKept, "\(kind) \(frame): \(found)")
      }
    }
  }

  @Test("is not taken for one where a page went back to what it was before, and nothing was moved")
  func formerContent() throws {
    let cache = try TestCache(.file)
    try write(1, in: cache.store)
    func set(_ number: Int) throws {
      try cache.database.execute("UPDATE cache_globals SET highest_sequence_number = \(number)")
    }
    try set(5)
    try cache.database.truncateLog()
    try set(6)
    let place = try Killed(cache).log.count
    try cache.store.receive(found("halls/1", 10, ["n": .integer(1)]), at: 10)
    try set(5)
    try cache.store.receive(found("halls/2", 20, ["n": .integer(1)]), at: 20)
    try set(7)
    let killed = try Killed(cache)
    cache.close()
    for frame in (place - Self.headerBytes) / Self.frameBytes..<killed.frameCount {
      let found = try open(killed.place(Self.start(ofFrame: frame) + 524))
      #expect(found.pending == [1] && !found.isRecovered, "frame \(frame)")
    }
  }
}
