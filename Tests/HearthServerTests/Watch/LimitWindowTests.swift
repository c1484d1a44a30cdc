import HearthModel
import HearthStore
import Synchronization
import Testing

@testable import HearthServer

@Suite("Windows of queries with a limit")
struct LimitWindowTests {
  private static let order = OrderBy(path: field("n"), direction: .ascending)
  private static let query = Query(path: path("c")).with(order: order)

  private static func document(_ number: Int) -> Document {
    .found(
      key("c/d\(number)"), version: SnapshotVersion(microseconds: Int64(number + 1)),
      fields: EncodedFields(["n": number.value, "t": .string(String(repeating: "x", count: 1_000))]))
  }

  private static func draft(_ count: Int, limit: Int, in memory: WindowMemory) -> WindowDraft {
    var draft = WindowDraft(query.with(limit: limit), in: memory)
    for number in 0..<count { draft.add(document(number)) }
    return draft
  }

  @Test("a result that does not reach its limit is only counted if it is too large, and a full one is not kept")
  func tooLarge() {
    let memory = WindowMemory(maximumBytes: 64 << 20)
    #expect(Self.draft(100, limit: 100, in: memory).window()?.hasDocuments == true)
    #expect(Self.draft(100, limit: 101, in: memory).window()?.hasDocuments == true)
    // As many documents as a window cannot hold.
    #expect(Self.draft(100, limit: 1_000_000, in: memory).window()?.hasDocuments == false)
    let many = memory.bytesPerWindow / LimitWindow.overheadBytes
    #expect(Self.draft(many, limit: many, in: memory).window() == nil)
    #expect(Self.draft(many - 1, limit: many, in: memory).window()?.hasDocuments == false)
    #expect(memory.usedBytes == 0)
  }

  @Test("all windows of a database have one memory, which they give back")
  func sharedMemory() {
    let memory = WindowMemory(maximumBytes: 500_000)
    var windows = (0..<100).map { _ in Self.draft(30, limit: 30, in: memory).window() }
    #expect(windows.contains { $0 != nil } && windows.contains { $0 == nil })
    #expect(memory.usedBytes > 400_000 && memory.usedBytes <= 500_000)
    windows = []
    #expect(memory.usedBytes == 0)
  }

  @Test("a counted result follows commits until it exceeds its limit")
  func counted() {
    var window = LimitWindow(count: 3, of: Self.query.with(limit: 4))
    func change(_ number: Int, wasIn: Bool, isIn: Bool) -> SharedTransition {
      SharedTransition(
        oldVersion: wasIn ? SnapshotVersion.none : nil, after: SharedDocument(Self.document(number)), isMatchAfter: isIn
      )
    }
    guard
      case .changed(let changes) = window.apply([
        change(1, wasIn: true, isIn: true), change(9, wasIn: false, isIn: true),
      ])
    else {
      Issue.record("a result that has room is not followed")
      return
    }
    #expect(changes.map(\.isIn) == [true, true])
    guard case .changed = window.apply([change(1, wasIn: true, isIn: false), change(8, wasIn: false, isIn: true)])
    else {
      Issue.record("a result that stays within its limit is not followed")
      return
    }
    guard case .lost = window.apply([change(7, wasIn: false, isIn: true)]) else {
      Issue.record("what is behind the limit is not known")
      return
    }
  }

  @Test("listeners with a limit hold no more than their database's memory for windows, however many they are")
  func listeners() async throws {
    let fixture = try StorageFixture(windowBytes: 4_000_000)
    for first in stride(from: 0, to: 2_000, by: 500) {
      _ = try await fixture.storage.commit(
        CommitRequest(mutations: (first..<first + 500).map { .set(key("c/d\($0)"), ["n": $0.value]) }))
    }
    var listeners = (0..<24).map { _ in Listener(fixture) }
    for index in listeners.indices {
      let query = Self.query.with(limit: 400 + index)
      #expect(try await listeners[index].add(query).count == 403 + index)
    }
    let memory = fixture.storage.feed.windowMemory
    // Large windows leave half of it to small ones.
    #expect(memory.usedBytes > 1_000_000 && memory.usedBytes <= 2_000_000)
    // All follow, whether their windows are kept or not.
    try await fixture.commit(.delete(key("c/d0")))
    for index in listeners.indices {
      let messages = try await listeners[index].catchUp()
      #expect(messages.sorted() == ["c/d0 deleted 2", "c/d\(400 + index) in 2", "snapshot"])
    }
    #expect(memory.usedBytes <= 2_000_000)
  }
}
