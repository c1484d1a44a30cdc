import Foundation
import HearthModel
import HearthStore
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

  private func open(_ path: String) throws -> EmbeddedStorage {
    try EmbeddedStorage(
      location: .file(path: path), databaseID: ServerFixture.database, clock: ManualClock().clock,
      logger: ServerFixture.quietLogger)
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

  private func found(_ path: String) async throws -> [Bool] {
    let storage = try open(path)
    let documents = try await storage.documents(for: (1...5).map { key("rooms/\($0)") }, at: nil).documents
    await storage.close()
    return documents.map(\.isFound)
  }

  @Test("a database is not opened without commits that clients were told of, and stays as it is")
  func damagedFrame() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let path = folder + "/database.sqlite"
      var files = try await files(path)
      // Within the second commit.
      files.log[files.ends[0] + 4000] ^= 1
      try put(files, at: path)
      let error = #expect(throws: StoreError.self) { try open(path) }
      #expect(error?.kind == .corrupt)
      let message = error?.message ?? ""
      #expect(message.contains("is damaged, and commits lie behind it"), "\(message)")
      #expect(message.contains("Restore a backup"), "\(message)")
      #expect(try Data(contentsOf: URL(fileURLWithPath: path + "-wal")) == files.log)
      let names = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(!names.contains { $0.contains("log-check") }, "\(names)")
    }
  }

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
      #expect(try await found(path) == [true, true, true, true, false])
    }
  }
}
