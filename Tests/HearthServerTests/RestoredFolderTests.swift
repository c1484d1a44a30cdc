import Foundation
import HearthModel
import HearthStore
import Testing

@testable import HearthServer

@Suite("Folders that were brought back from a copy")
struct RestoredFolderTests {
  @Test("listeners of the lost future read everything again, those of a server that only restarted do not")
  func restored() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let (file, copy) = ("\(folder)/database.sqlite", "\(folder)/copy.sqlite")
      let clock = ManualClock()
      let query = Query(path: path("c"))

      let first = try StorageFixture(location: .file(path: file), clock: clock)
      try await first.set("c/a")
      await first.storage.close()
      try FileManager.default.copyItem(atPath: file, toPath: copy)

      let second = try StorageFixture(location: .file(path: file), clock: clock)
      #expect(second.storage.incarnation == first.storage.incarnation)
      try await second.set("c/lost")
      var listener = Listener(second)
      _ = try await listener.add(query)
      let token = listener.token
      await second.storage.close()

      let restarted = try StorageFixture(location: .file(path: file), clock: clock)
      var resumed = Listener(restarted)
      #expect(try await resumed.add(query, token: token) == ["add 2", "current 2", "snapshot"])
      await restarted.storage.close()

      // The copy takes the place of the file, and goes beyond the version that the listener has seen.
      try FileManager.default.removeItem(atPath: file)
      try FileManager.default.copyItem(atPath: copy, toPath: file)
      let third = try StorageFixture(location: .file(path: file), clock: clock)
      clock.advance(seconds: 10)
      try await third.set("c/b")
      var returned = Listener(third)
      #expect(
        try await returned.add(query, token: token)
          == ["add 2", "reset 2", "c/a in 2", "c/b in 2", "current 2", "snapshot"])
      await third.storage.close()

      let fourth = try StorageFixture(location: .file(path: file), clock: clock)
      #expect(third.storage.incarnation != first.storage.incarnation)
      #expect(fourth.storage.incarnation == third.storage.incarnation)
      await fourth.storage.close()
    }
  }

  @Test("a database that was copied after its first commit and before any restart is told from its copy")
  func firstRun() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      func incarnation(in folder: String) async throws -> [UInt8] {
        let backend = try EmbeddedBackend(
          location: .folder(folder), clock: .system, logger: ServerFixture.quietLogger)
        let database = try backend.database(ServerFixture.database)
        _ = try await database.storage.commit(CommitRequest(mutations: [.set(key("a/b"), [:])]))
        await backend.close()
        return database.storage.incarnation
      }
      let (original, copy) = ("\(folder)/original", "\(folder)/copy")
      let drawn = try await incarnation(in: original)
      try FileManager.default.copyItem(atPath: original, toPath: copy)
      #expect(try await incarnation(in: original) == drawn)
      #expect(try await incarnation(in: copy) != drawn)
    }
  }
}
