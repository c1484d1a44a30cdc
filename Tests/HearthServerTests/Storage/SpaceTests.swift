import Foundation
import HearthModel
import HearthStore
import TestSupport
import Testing

@testable import HearthServer

@Suite("The space of a database's file", .timeLimit(.minutes(5)))
struct SpaceTests {
  @Test("a file becomes shorter after its documents were deleted and their history is over, and keeps what is left")
  func shrinking() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let file = "\(folder)/data"
      let fixture = try StorageFixture(
        location: .file(path: file), retention: HistoryRetention(bytes: 1))
      let text = Value.string(String(repeating: "x", count: 200_000))
      for n in 0..<300 { try await fixture.set("c/d\(n)", ["n": n.value, "t": text]) }
      #expect(try Self.size(of: file) + Self.size(of: file + "-wal") > 60_000_000)
      for n in 10..<300 { try await fixture.commit(.delete(key("c/d\(n)"))) }
      await fixture.storage.trimHistory()
      try await waitUntil { try Self.size(of: file) < 20 << 20 }
      let left = try await fixture.storage.run(Query(path: path("c")), at: nil).documents
      #expect(left.map(\.key) == (0..<10).map { key("c/d\($0)") })
      #expect(try await fixture.set("c/later") > SnapshotVersion.none)
      await fixture.storage.close()
    }
  }

  @Test("a file that another program has rebuilt without vacuum keeps its size, and no step is tried again and again")
  func withoutVacuum() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let file = "\(folder)/data"
      let retention = HistoryRetention(bytes: 1)
      let before = try StorageFixture(location: .file(path: file), retention: retention)
      let text = Value.string(String(repeating: "x", count: 200_000))
      for n in 0..<150 { try await before.set("c/d\(n)", ["t": text]) }
      await before.storage.close()
      let database = try Database(.file(path: file))
      try database.execute("PRAGMA auto_vacuum = NONE")
      try database.rewrite()
      database.close()

      let fixture = try StorageFixture(location: .file(path: file), retention: retention)
      for n in 0..<150 { try await fixture.commit(.delete(key("c/d\(n)"))) }
      try await waitUntil { await !fixture.storage.isTrimming }
      await fixture.storage.trimHistory()
      try await waitUntil { await !fixture.storage.isReleasing }
      #expect(try Self.size(of: file) > 30_000_000)
      await fixture.storage.close()
    }
  }

  private static func size(of file: String) throws -> Int {
    try #require(FileManager.default.attributesOfItem(atPath: file)[.size] as? Int)
  }
}
