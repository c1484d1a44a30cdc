import Foundation
import HearthModel
import TestSupport
import Testing

@testable import HearthServer

@Suite("What a server says of the files in its data folder", .timeLimit(.minutes(5)))
struct DataFolderReportTests {
  @Test("an empty file of a database is named at the start, and when it is served as a new one")
  func emptyFiles() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let name = "demo.%28default%29.sqlite"
      try Data().write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
      let log = LogRecorder()
      let server = try await EmbeddedServer.start(storage: .folder(folder), logger: log.logger)
      let warnings = log.lines.filter { $0.hasPrefix("warning ") && $0.contains("(0 bytes)") }
      #expect(
        warnings.count == 1 && warnings[0].contains("are empty (0 bytes)") && warnings[0].contains("files=\(name)"),
        "\(warnings)")
      await server.shutdown()

      let backend = try EmbeddedBackend(location: .folder(folder), clock: .system, logger: log.logger)
      _ = try await backend.database(DatabaseID(projectID: "demo"))
      #expect(
        log.lines.contains {
          $0.hasPrefix("warning ") && $0.contains("is empty (0 bytes); it is served as a new database")
        },
        "\(log.lines)")
      await backend.close()
      // It has tables now, and is a database like others.
      let quiet = LogRecorder()
      let again = try await EmbeddedServer.start(storage: .folder(folder), logger: quiet.logger)
      await again.shutdown()
      #expect(!quiet.lines.contains { $0.contains("(0 bytes)") }, "\(quiet.lines)")
    }
  }

  @Test("files that are none of a database's are named in one line; one that may be a copy of a database is a warning")
  func strangers() async throws {
    for (names, level) in [(["notes.txt", "x.sqlite-backup"], "warning"), (["notes.txt", "lost+found"], "notice")] {
      try await withTemporaryFolder { folder in
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for name in names + ["a.b.sqlite-wal"] {
          try Data("x".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
        }
        let log = LogRecorder()
        let server = try await EmbeddedServer.start(storage: .folder(folder), logger: log.logger)
        await server.shutdown()
        let lines = log.lines.filter { $0.contains("are ignored") }
        #expect(lines.count == 1 && lines[0].hasPrefix(level), "\(log.lines)")
        #expect(lines[0].contains("count=2") && lines[0].contains(names.sorted().joined(separator: ", ")), "\(lines)")
      }
    }
  }

  @Test(
    "a file that comes while the server runs and is none of a database's is named once, when a database is opened or databases are listed"
  )
  func newStrangers() async throws {
    try await withTemporaryFolder { folder in
      let (log, clock) = (LogRecorder(), ManualClock())
      func put(_ name: String) throws { try Data("x".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)")) }
      func lines() -> [String] { log.lines.filter { $0.contains("are ignored") } }
      let backend = try EmbeddedBackend(location: .folder(folder), clock: clock.clock, logger: log.logger)
      #expect(lines().isEmpty)

      try put("notes.txt")
      // A check of a damaged log makes this copy.
      try put("demo.%28default%29.sqlite-log-check")
      _ = try await backend.database(DatabaseID(projectID: "demo"))
      try await waitUntil { lines().count == 1 }
      #expect(lines()[0].hasPrefix("notice ") && lines()[0].hasSuffix("files=notes.txt folder=\(folder)"), "\(lines())")

      try put("demo.(default).sqlite")
      clock.advance(seconds: 10)
      #expect(try await backend.names().isEmpty)
      try await waitUntil { lines().count == 2 }
      #expect(
        lines()[1].hasPrefix("warning ") && lines()[1].hasSuffix("files=demo.(default).sqlite folder=\(folder)"),
        "\(lines())")
      // A listing that comes too early is followed by a look when it is time for one.
      try put("late.sqlite")
      #expect(try await backend.names().isEmpty)
      #expect(lines().count == 2, "\(lines())")
      clock.advance(seconds: 10)
      let watch = Task { await backend.watch(every: .milliseconds(5)) }
      try await waitUntil { lines().count == 3 }
      watch.cancel()
      #expect(lines()[2].contains("files=late.sqlite "), "\(lines())")
      await backend.close()

      let next = try EmbeddedBackend(location: .folder(folder), clock: clock.clock, logger: log.logger)
      #expect(lines().count == 4 && lines()[3].contains("count=3"), "\(lines())")
      await next.close()
    }
  }

  @Test("a folder with the name of a database's file is no database, and is named")
  func folders() async throws {
    try await withTemporaryFolder { folder in
      let name = "sub.%28default%29.sqlite"
      try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
      let log = LogRecorder()
      let backend = try EmbeddedBackend(location: .folder(folder), clock: .system, logger: log.logger)
      #expect(try await backend.names().isEmpty)
      #expect(log.lines.contains { $0.hasPrefix("warning files ") && $0.contains("files=\(name) ") }, "\(log.lines)")
      await backend.close()
    }
  }

  @Test("a disk that is nearly full is named at the start")
  func space() async throws {
    try await withTemporaryFolder { path in
      let log = LogRecorder()
      let folder = try DataFolder(path: path, logger: log.logger)
      #expect(try #require(folder.freeBytes) > 0)
      for bytes in [nil, 1 << 30] as [Int64?] { folder.report(to: log.logger, freeBytes: bytes) }
      #expect(log.lines.isEmpty, "\(log.lines)")
      folder.report(to: log.logger, freeBytes: 4096)
      #expect(log.lines.count == 1 && log.lines[0].hasPrefix("warning the disk of the data folder"), "\(log.lines)")
      folder.unlock()
    }
  }
}
