import Foundation
import HearthModel
import HearthStore
import Synchronization
import Testing

@testable import HearthServer

@Suite("Embedded storage")
struct StorageTests {
  @Test("a failing commit is reported to all that shared it, is not published and leaves nothing behind")
  func failingCommit() async throws {
    let isFailing = Mutex(false)
    let fails: @Sendable (Database.FailurePoint) -> StoreError? = { point in
      guard point == .commit else { return nil }
      return isFailing.withLock { $0 } ? StoreError(kind: .full, message: "no space") : nil
    }
    let fixture = try StorageFixture(injecting: fails)
    let before = try await fixture.set("c/a", ["n": 1.value])
    isFailing.withLock { $0 = true }
    for path in ["c/a", "c/b"] {
      let error = await #expect(throws: StatusError.self) { try await fixture.set(path, ["n": 2.value]) }
      #expect(error?.code == .resourceExhausted)
    }
    #expect(fixture.storage.feed.latestVersion == before)
    isFailing.withLock { $0 = false }
    let documents = try await fixture.storage.documents(for: [key("c/a"), key("c/b")], at: nil).documents
    #expect(documents.map(\.isFound) == [true, false])
    #expect(documents[0].version == before)
    #expect(try await fixture.set("c/b") > before)
  }

  @Test("many commits at once all apply, each with a time of its own", .everyStorage)
  func group() async throws {
    let fixture = try await TestedDatabase()
    let versions = try await withThrowingTaskGroup(of: SnapshotVersion.self) { group in
      for n in 0..<200 { group.addTask { try await fixture.set("c/d\(n)", ["n": n.value]) } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(Set(versions).count == 200)
    #expect(try await fixture.storage.run(Query(path: path("c")), at: nil).documents.count == 200)
    #expect(fixture.storage.feed.latestVersion == versions.max())
  }

  @Test("every state of the past that the log reaches is read exactly, by key and by query", arguments: [true, false])
  func history(isFile: Bool) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("hearth-history-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let fixture = try StorageFixture(
      location: isFile ? .file(path: folder.appendingPathComponent("data").path) : .memory)
    var states: [(SnapshotVersion, [String: Int64])] = []
    var present: [String: Int64] = [:]
    var seed: UInt64 = 42
    func next(_ limit: Int) -> Int {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(seed >> 33) % limit
    }
    for _ in 0..<120 {
      let id = "d\(next(12))"
      if next(4) == 0 {
        try await fixture.commit(.delete(key("c/\(id)")))
        present[id] = nil
      } else {
        let n = next(10)
        try await fixture.set("c/\(id)", ["n": n.value])
        present[id] = Int64(n)
      }
      states.append((fixture.storage.feed.latestVersion, present))
    }
    let query = Query(path: path("c")).with(filter: .field(field("n"), .greaterThan, 3.value)).with(limit: 4)
    for (version, state) in states {
      let expected = state.filter { $0.value > 3 }.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        .prefix(4).map(\.key)
        .sorted { a, b in
          let (x, y) = (state[a] ?? 0, state[b] ?? 0)
          return x == y ? key("c/\(a)") < key("c/\(b)") : x < y
        }
      let documents = try await fixture.storage.run(query, at: version).documents
      #expect(documents.map { state[$0.key.id] } == expected.map { state[$0] })
      let keys = (0..<12).map { key("c/d\($0)") }
      let read = try await fixture.storage.documents(for: keys, at: version).documents
      for document in read {
        let value = try document.isFound ? document.fields.value(at: field("n")) : nil
        #expect(value == state[document.key.id].map { .integer($0) })
      }
    }
  }

  @Test("a position in a result or a difference that another storage has made is an error", .everyStorage)
  func foreignPositions() async throws {
    let fixture = try await TestedDatabase()
    let version = try await fixture.set("c/a")
    let query = Query(path: path("c"))
    let page = await #expect(throws: StatusError.self) {
      try await fixture.storage.page(of: query, after: QueryCursor(position: 1), at: nil)
    }
    #expect(page?.code == .internal)
    let difference = await #expect(throws: StatusError.self) {
      try await fixture.storage.difference(
        of: .query(query), after: version, through: version, from: DifferenceCursor(position: 1), edges: nil)
    }
    #expect(difference?.code == .internal)
  }

  @Test("ids become file names that cannot collide or leave the folder")
  func fileNames() {
    #expect(DataFolder.escaped("my-project_1") == "my-project_1")
    #expect(DataFolder.escaped("../Ab(c)") == "%2E%2E%2F%41b%28c%29")
  }
}
