import Foundation
import HearthStore
import Testing

@Suite("Opening a database")
struct OpeningTests {
  let folder: TemporaryFolder
  init() throws { folder = try TemporaryFolder() }

  func contents(_ path: String) -> Data? { FileManager.default.contents(atPath: path) }

  @Test("a new file has our page size, log and mark")
  func newFile() throws {
    do {
      let database = try Database(.file(path: folder.file()))
      try database.execute("CREATE TABLE t (i INTEGER)")
    }
    let database = try Database(.file(path: folder.file()))
    #expect(try integers("PRAGMA page_size", in: database) == [8192])
    #expect(try integers("PRAGMA auto_vacuum", in: database) == [2])
    #expect(try integers("PRAGMA secure_delete", in: database) == [0])
    #expect(try integers("PRAGMA application_id", in: database) == [Int64(Database.hearthApplicationID)])
    let mode = try database.prepare("PRAGMA journal_mode")
    #expect(try mode.step())
    #expect(try mode.string(at: 0) == "wal")
    #expect(try database.integrityProblems() == [])
    #expect(try database.fileSizeBytes >= database.usedBytes)
    #expect(try database.usedBytes >= 8192)
  }

  @Test("a file that must exist is not made")
  func mustExist() throws {
    var options = Database.Options()
    options.mustExist = true
    #expect(throws: StoreError.self) { try Database(.file(path: folder.file()), options: options) }
    #expect(contents(folder.file()) == nil)
    try Database(.file(path: folder.file())).execute("CREATE TABLE t (i INTEGER)")
    try Database(.file(path: folder.file()), options: options).execute("INSERT INTO t VALUES (1)")
  }

  @Test("on Darwin commits and checkpoints synchronize the drive too", arguments: [Database.Synchronous.full, .normal])
  func synchronization(_ synchronous: Database.Synchronous) throws {
    let mode = "PRAGMA synchronous = \(synchronous.rawValue)"
    #expect(
      Database.syncPragmas(synchronous, onDarwin: true)
        == ["PRAGMA fullfsync = ON", "PRAGMA checkpoint_fullfsync = ON", mode])
    #expect(Database.syncPragmas(synchronous, onDarwin: false) == [mode])
    let database = try Database(.file(path: folder.file()))
    #if canImport(Darwin)
      let expected: [Int64] = [1]
    #else
      let expected: [Int64] = [0]
    #endif
    #expect(try integers("PRAGMA fullfsync", in: database) == expected)
    #expect(try integers("PRAGMA checkpoint_fullfsync", in: database) == expected)
    // Every one of them is a pragma that SQLite knows.
    for pragma in Database.syncPragmas(synchronous, onDarwin: true) { try database.execute(pragma) }
    #expect(try integers("PRAGMA fullfsync", in: database) == [1])
    #expect(try integers("PRAGMA checkpoint_fullfsync", in: database) == [1])
  }

  @Test("a file that is no database is refused, named and left as it was")
  func notADatabase() throws {
    let text = Data(String(repeating: "These are my holiday notes.\n", count: 500).utf8)
    try text.write(to: URL(fileURLWithPath: folder.file()))
    do {
      _ = try Database(.file(path: folder.file()))
      Issue.record("opened")
    } catch {
      #expect(error.kind == .notADatabase)
      #expect(error.message.contains(folder.file()))
    }
    #expect(contents(folder.file()) == text)
  }

  @Test("a database of another program is refused and left as it was")
  func foreignDatabase() throws {
    do {
      let other = try Database(.file(path: folder.file()), options: .init(applicationID: 77))
      try other.execute("CREATE TABLE photos (i INTEGER)")
    }
    let before = contents(folder.file())
    do {
      _ = try Database(.file(path: folder.file()))
      Issue.record("opened")
    } catch {
      #expect(error.kind == .cannotOpen)
      #expect(error.message.contains(folder.file()))
      #expect(error.message.contains("another program"))
    }
    #expect(contents(folder.file()) == before)
  }

  @Test("a damaged page is a corrupt database")
  func corrupt() throws {
    do {
      let database = try Database(.file(path: folder.file()))
      try database.execute("CREATE TABLE t (s TEXT)")
      try database.execute("INSERT INTO t VALUES (zeroblob(100000))")
      try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }
    var bytes = try #require(contents(folder.file()))
    for index in 8192 * 2..<bytes.count { bytes[index] = 0xA5 }
    try bytes.write(to: URL(fileURLWithPath: folder.file()))
    let database = try Database(.file(path: folder.file()))
    #expect(kind { _ = try integers("SELECT length(CAST(s AS TEXT)) FROM t", in: database) } == .corrupt)
  }

  @Test("a file cut short is an error, not an empty database")
  func truncated() throws {
    do {
      let database = try Database(.file(path: folder.file()))
      try database.execute("CREATE TABLE t (s TEXT)")
      try database.execute("INSERT INTO t VALUES (zeroblob(100000))")
      try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }
    let bytes = try #require(contents(folder.file()))
    try bytes.prefix(8192).write(to: URL(fileURLWithPath: folder.file()))
    let result = kind {
      let database = try Database(.file(path: folder.file()))
      _ = try integers("SELECT length(s) FROM t", in: database)
    }
    #expect(result == .corrupt)
  }

  @Test(
    "a folder that is missing, a file in its place and a folder in the file's place cannot be opened; the path is named"
  )
  func cannotOpen() throws {
    try Data().write(to: URL(fileURLWithPath: folder.file("plain")))
    try FileManager.default.createDirectory(atPath: folder.file("folder"), withIntermediateDirectories: true)
    for path in [folder.file("missing/test.sqlite"), folder.file("plain/test.sqlite"), folder.file("folder")] {
      do {
        _ = try Database(.file(path: path))
        Issue.record("opened \(path)")
      } catch {
        #expect(error.kind == .cannotOpen, "\(error)")
        #expect(error.message.contains(path))
        #expect(error.message.contains("choose another folder"))
      }
    }
    #expect(kind { _ = try Database(.file(path: "")) } == .cannotOpen)
    #expect(kind { _ = try Database(.file(path: "a\u{0}b")) } == .cannotOpen)
  }

  @Test("a file without write permission is read only", .disabled(if: geteuid() == 0, "root may write every file"))
  func noPermission() throws {
    try Database(.file(path: folder.file())).execute("CREATE TABLE t (i INTEGER)")
    try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: folder.file())
    do {
      _ = try Database(.file(path: folder.file()))
      Issue.record("opened")
    } catch {
      #expect(error.kind == .readOnly)
      #expect(error.message.contains(folder.file()))
    }
  }

  @Test("a database that is opened for reading cannot be written")
  func readOnly() throws {
    try Database(.file(path: folder.file())).execute("CREATE TABLE t (i INTEGER)")
    let database = try Database(.file(path: folder.file()), options: .init(isReadOnly: true))
    #expect(try integers("SELECT count(*) FROM t", in: database) == [0])
    #expect(kind { try database.execute("INSERT INTO t VALUES (1)") } == .readOnly)
    #expect(kind { _ = try Database(.file(path: folder.file("new")), options: .init(isReadOnly: true)) } == .cannotOpen)
  }

  @Test("many connections may create the same file at once")
  func simultaneousCreation() async throws {
    let path = folder.file()
    let failures = await withTaskGroup(of: StoreError?.self, returning: [StoreError].self) { group in
      for number in 0..<8 {
        group.addTask {
          do throws(StoreError) {
            let database = try Database(.file(path: path), options: .init(busyTimeout: .seconds(60)))
            try database.execute("CREATE TABLE t\(number) (i INTEGER)")
            return nil
          } catch {
            return error
          }
        }
      }
      var failures: [StoreError] = []
      for await case let failure? in group { failures.append(failure) }
      return failures
    }
    #expect(failures == [])
    let tables = try integers(
      "SELECT count(*) FROM sqlite_master WHERE type = 'table'", in: Database(.file(path: path)))
    #expect(tables == [8])
  }
}
