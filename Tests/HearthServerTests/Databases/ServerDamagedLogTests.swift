import Foundation
import HearthModel
import HearthStore
import Logging
import Synchronization
import TestSupport
import Testing

@testable import HearthServer

/// Databases whose process was killed, so that the newest commits are in the write-ahead log only, and whose log is damaged then.
@Suite("A damaged log of the server")
struct ServerDamagedLogTests {
  private static let headerBytes = 32
  private static let frameBytes = 24 + 8192

  private struct Files {
    var main: Data
    var log: Data
    /// The lengths of the log after each commit.
    var ends: [Int]
  }

  private func open(_ path: String, _ logger: Logger = ServerFixture.quietLogger) throws -> EmbeddedStorage {
    try EmbeddedStorage(
      location: .file(path: path), databaseID: ServerFixture.database, clock: ManualClock().clock,
      logger: logger)
  }

  /// The files of a server that was killed after five commits.
  private func files(_ path: String) async throws -> Files {
    let storage = try open(path)
    var ends: [Int] = []
    for number in 1...5 {
      _ = try await storage.commit(CommitRequest(mutations: [.set(key("rooms/\(number)"), [:])]))
      ends.append(try Data(contentsOf: URL(fileURLWithPath: path + "-wal")).count)
    }
    let files = Files(
      main: try Data(contentsOf: URL(fileURLWithPath: path)),
      log: try Data(contentsOf: URL(fileURLWithPath: path + "-wal")), ends: ends)
    await storage.close()
    return files
  }

  private func put(_ files: Files, at path: String) throws {
    try? FileManager.default.removeItem(atPath: path + "-shm")
    try files.main.write(to: URL(fileURLWithPath: path))
    try files.log.write(to: URL(fileURLWithPath: path + "-wal"))
  }

  private func found(_ path: String, _ logger: Logger = ServerFixture.quietLogger) async throws -> [Bool] {
    let storage = try open(path, logger)
    let documents = try await storage.documents(for: (1...5).map { key("rooms/\($0)") }, at: nil).documents
    await storage.close()
    return documents.map(\.isFound)
  }

  /// In the header, in the first frame, and within the second commit.
  private static let places: [@Sendable (Files) -> Int] = [
    { _ in 5 }, { _ in headerBytes + 500 }, { $0.ends[0] + 4000 },
  ]

  @Test(
    "a database is not opened without commits that clients were told of, and stays as it is", arguments: places.indices)
  func damagedFrame(place: Int) async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let path = folder + "/database.sqlite"
      var files = try await files(path)
      files.log[Self.places[place](files)] ^= 1
      try put(files, at: path)
      let error = #expect(throws: StoreError.self) { try open(path) }
      #expect(error?.kind == .corrupt)
      let message = error?.message ?? ""
      #expect(message.contains("is damaged, and commits follow it"), "\(message)")
      #expect(message.contains("Restore a backup") && message.contains("wal_checkpoint"), "\(message)")
      try expectUnchanged(files, in: folder)
    }
  }

  private func expectUnchanged(_ files: Files, in folder: String) throws {
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder + "/database.sqlite")) == files.main)
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder + "/database.sqlite-wal")) == files.log)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    #expect(names == ["database.sqlite", "database.sqlite-wal"])
  }

  // MARK: - Without a log

  @Test("a database whose log is missing after a kill is not opened, and is with the log, or with an empty one")
  func missing() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let path = folder + "/database.sqlite"
      let files = try await files(path)
      // Closed, it needs none.
      #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
      #expect(try await found(path) == [true, true, true, true, true])
      try put(files, at: path)
      try FileManager.default.removeItem(atPath: path + "-wal")
      let error = #expect(throws: StoreError.self) { try open(path) }
      #expect(error?.kind == .corrupt && error?.message.contains("is missing") == true, "\(error?.message ?? "")")
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["database.sqlite"])
      try put(files, at: path)
      #expect(try await found(path) == [true, true, true, true, true])
      try put(files, at: path)
      try Data().write(to: URL(fileURLWithPath: path + "-wal"))
      #expect(try await found(path) == [false, false, false, false, false])
      #expect(try await found(path) == [false, false, false, false, false])
    }
  }

  @Test("a mark that does not reach the file while somebody reads goes when the database is closed, and is tried again")
  func markBehindReader() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let path = folder + "/database.sqlite"
      _ = try await files(path)
      for commits in [1, 10] {
        let storage = try open(path)
        let reader = try Database(.file(path: path), options: .init(isReadOnly: true))
        try reader.execute("BEGIN")
        _ = try reader.firstRow("SELECT count(*) FROM server_state") { try $0.int64(at: 0) }
        _ = try await storage.commit(CommitRequest(mutations: [.set(key("rooms/1"), ["n": .integer(1)])]))
        try reader.execute("COMMIT")
        reader.close()
        for number in 1..<commits {
          _ = try await storage.commit(CommitRequest(mutations: [.set(key("rooms/1"), ["n": .integer(Int64(number))])]))
        }
        // Without the log, a copy of the file of a server that goes on is known to be incomplete from the second attempt on.
        let copy = folder + "/copy"
        try FileManager.default.copyItem(atPath: path, toPath: copy)
        #expect(LogMark(of: copy).isSet == (commits > 1))
        try FileManager.default.removeItem(atPath: copy)
        await storage.close()
        #expect(try await found(path) == [true, true, true, true, true])
      }
    }
  }

  @Test("a mark that a killed server had begun to remove is set again by the next commit")
  func killedAtItsEnd() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let path = folder + "/database.sqlite"
      var files = try await files(path)
      try put(files, at: path)
      let ending = try Database(.file(path: path))
      try ending.execute("PRAGMA user_version = 0")
      files.log = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
      ending.close()
      try put(files, at: path)
      let storage = try open(path)
      _ = try await storage.commit(CommitRequest(mutations: [.set(key("rooms/1"), ["n": .integer(1)])]))
      let other = try Database(.file(path: path))
      #expect(try other.firstRow("PRAGMA wal_checkpoint(TRUNCATE)") { try $0.int64(at: 0) } == 0)
      other.close()
      let copy = folder + "/copy"
      try FileManager.default.copyItem(atPath: path, toPath: copy)
      #expect(LogMark(of: copy).isSet)
      await storage.close()
      #expect(!LogMark(of: path).isSet)
    }
  }

  @Test("an empty file with a log that has commits is not opened, which would delete the log")
  func emptyFile() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let path = folder + "/database.sqlite"
      var files = try await files(path)
      files.main = Data()
      try put(files, at: path)
      let error = #expect(throws: StoreError.self) { try open(path) }
      #expect(error?.kind == .corrupt && error?.message.contains("is empty") == true, "\(error?.message ?? "")")
      try expectUnchanged(files, in: folder)
    }
  }

  // MARK: - After a checkpoint

  /// The files of a server that was killed when its log was in the file.
  private func movedFiles(_ path: String) async throws -> Files {
    var files = try await files(path)
    try put(files, at: path)
    let database = try Database(.file(path: path))
    _ = try database.firstRow("PRAGMA wal_checkpoint(PASSIVE)") { try $0.int64(at: 0) }
    files.main = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(try Data(contentsOf: URL(fileURLWithPath: path + "-wal")) == files.log)
    database.close()
    return files
  }

  @Test("a database that has its log in the file already is opened with everything, wherever the log is damaged")
  func moved() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let path = folder + "/database.sqlite"
      let files = try await movedFiles(path)
      let last = files.log.count - Self.frameBytes
      // The header, a page of the second commit, and the last frame: its page number, its length, its salts, its checksum and its page.
      for offset in [5, files.ends[0] + 4000, last + 3, last + 5, last + 9, last + 20, last + 4000] {
        var damaged = files
        damaged.log[offset] ^= 1
        try put(damaged, at: path)
        let log = LogRecorder()
        #expect(try await found(path, log.logger) == [true, true, true, true, true], "\(offset)")
        #expect(log.lines.contains { $0.contains("nothing is lost") }, "\(offset): \(log.lines)")
      }
    }
  }

  @Test("the way out that is named for a log that is in the file loses nothing")
  func wayOutOfMoved() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let path = folder + "/database.sqlite"
      var files = try await movedFiles(path)
      // A sector of the disk, with what the frame says of its page.
      files.log.resetBytes(in: files.ends[1]..<files.ends[1] + 512)
      try put(files, at: path)
      let error = #expect(throws: StoreError.self) { try open(path) }
      let message = error?.message ?? ""
      #expect(error?.kind == .corrupt && message.contains("Restore a backup"), "\(message)")
      #expect(!message.contains("wal_checkpoint") && message.contains("-shm\" away"), "\(message)")
      try expectUnchanged(files, in: folder)
      try Data().write(to: URL(fileURLWithPath: path + "-wal"))
      #expect(try await found(path) == [true, true, true, true, true])
    }
  }

  // MARK: - Ways out

  @Test("the way out that the message names opens it without them")
  func wayOut() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let path = folder + "/database.sqlite"
      var files = try await files(path)
      files.log[files.ends[0] + 4000] ^= 1
      try put(files, at: path)
      let database = try Database(.file(path: path))
      _ = try database.firstRow("PRAGMA wal_checkpoint(TRUNCATE)") { try $0.int64(at: 0) }
      database.close()
      try Data().write(to: URL(fileURLWithPath: path + "-wal"))
      #expect(try await found(path) == [true, false, false, false, false])
    }
  }

  @Test("what a server leaves that is killed during a commit is no damage", arguments: [true, false])
  func killedDuringCommit(isCutOff: Bool) async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let path = folder + "/database.sqlite"
      var files = try await files(path)
      if isCutOff { files.log = files.log.prefix(files.ends[3] + 4000) } else { files.log[files.ends[3] + 4000] ^= 1 }
      try put(files, at: path)
      let storage = try open(path)
      // The frames behind the gap must not count again once the log is written over.
      #expect(DatabaseLog(damagedIn: path) == nil)
      await storage.close()
      #expect(try await found(path) == [true, true, true, true, false])
    }
  }

  @Test("nor is what one leaves that is killed while it makes the database")
  func killedDuringCreation() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let path = folder + "/database.sqlite"
      let database = try Database(.file(path: path), options: EmbeddedStorage.options)
      try ServerSchema.schema.migrate(database)
      var files = Files(
        main: try Data(contentsOf: URL(fileURLWithPath: path)),
        log: try Data(contentsOf: URL(fileURLWithPath: path + "-wal")), ends: [])
      database.close()
      let commits = (0..<(files.log.count - Self.headerBytes) / Self.frameBytes).filter { frame in
        let start = Self.headerBytes + frame * Self.frameBytes
        return files.log[start + 4..<start + 8].contains { $0 != 0 }
      }
      // The tables are made in a transaction of several frames.
      let tables = try #require(zip(commits, commits.dropFirst()).first { $1 > $0 + 1 })
      files.log = files.log.prefix(Self.headerBytes + (tables.1 + 1) * Self.frameBytes)
      files.log[Self.headerBytes + (tables.0 + 1) * Self.frameBytes + 4000] ^= 1
      try put(files, at: path)
      #expect(try await found(path) == [false, false, false, false, false])
    }
  }
}
