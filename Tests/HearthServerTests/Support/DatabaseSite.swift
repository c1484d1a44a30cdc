import Foundation
import HearthModel
import HearthStore
import TestSupport
import Testing

@testable import HearthServer

extension EmbeddedStorage {
  var epochRows: Int64 {
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

  /// Starts the database, whose transactions of a name may be held up, or fail.
  func start(_ transaction: String, failing failure: @escaping @Sendable () -> StoreError?) throws -> StorageFixture {
    let started = try StorageFixture(location: .file(path: file), clock: clock) {
      guard case .transaction(transaction) = $0 else { return nil }
      return failure()
    }
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

  /// The messages to a listener that resumes when nothing has changed.
  static let nothing = ["add 2", "current 2", "snapshot"]

  /// The version of the snapshot that a client gets.
  func readTime(_ token: [UInt8] = []) async throws -> SnapshotVersion? {
    var listener = Listener(try start())
    _ = try await listener.add(Self.query, token: token)
    return listener.readTimes.last
  }

  /// The present time as a version.
  var now: SnapshotVersion { SnapshotVersion(microseconds: clock.now) }

  /// A token of another history, given with a snapshot.
  static func foreignToken(_ snapshot: SnapshotVersion) -> [UInt8] {
    ResumeToken(epoch: [1], version: snapshot).bytes
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
