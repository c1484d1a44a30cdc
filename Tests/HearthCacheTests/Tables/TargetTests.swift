import HearthModel
import HearthStore
import Testing

@testable import HearthCache

@Suite("Targets and snapshots")
struct TargetTests {
  private let rooms = collection("rooms").target

  @Test("ids are even, rise by two and are kept by their target", arguments: Backing.allCases)
  func ids(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let first = try cache.store.allocateTarget(rooms)
    #expect(first == TargetData(target: rooms, targetID: 2, sequenceNumber: first.sequenceNumber))
    #expect(try cache.store.allocateTarget(collection("halls").target).targetID == 4)
    #expect(try cache.store.allocateTarget(rooms).targetID == 2)
    #expect(throws: StoreError.self) {
      try cache.failing(at: .commit) { _ = try cache.store.allocateTarget(collection("attics").target) }
    }
    #expect(try cache.store.targetData(for: collection("attics").target) == nil)
    #expect(try cache.store.allocateTarget(collection("cellars").target).targetID == 6)
    try cache.restart()
    #expect(try cache.store.allocateTarget(rooms).targetID == 2)
    #expect(try cache.store.allocateTarget(collection("attics").target).targetID == 8)
    #expect(try cache.store.tables.globals.targetCount() == 4)
  }

  @Test("a query and its limit-to-last twin share a target", arguments: Backing.allCases)
  func sharedTarget(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let ascending = collection("rooms").with(order: OrderBy(path: field("n"), direction: .ascending))
      .with(limit: 2, type: .first)
    let descending = collection("rooms").with(order: OrderBy(path: field("n"), direction: .descending))
      .with(limit: 2, type: .last)
    let id = try cache.store.allocateTarget(ascending.target).targetID
    #expect(try cache.store.allocateTarget(descending.target).targetID == id)
  }

  @Test("a snapshot changes documents, keys, token and version together", arguments: Backing.allCases)
  func snapshot(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let id = try cache.store.allocateTarget(rooms).targetID
    #expect(try cache.store.lastRemoteSnapshotVersion() == .none)
    let changes = try cache.store.receive(
      found("rooms/a", 3, [:]), found("rooms/b", 4, [:]), at: 5, for: [id], token: "t5")
    #expect(Set(changes.keys) == [key("rooms/a"), key("rooms/b")])
    #expect(try cache.store.confirmedKeys(for: id) == [key("rooms/a"), key("rooms/b")])
    try cache.store.receive(missing("rooms/a", 6), at: 6, for: [id], token: "t6")
    try cache.restart()
    let data = try #require(try cache.store.targetData(for: rooms))
    #expect(data.resumeToken == [UInt8]("t6".utf8) && data.snapshotVersion == version(6))
    #expect(try cache.store.confirmedKeys(for: id) == [key("rooms/b")])
    #expect(try cache.store.lastRemoteSnapshotVersion() == version(6))
    #expect(try cache.store.read("rooms/a") == missing("rooms/a", 6))
    #expect(try cache.store.found(collection("rooms")) == ["rooms/b"])
    let execution = try cache.store.execute(collection("rooms"), usePreviousResults: true)
    #expect(execution.confirmedKeys == [key("rooms/b")])
  }

  @Test("neither a document nor the snapshot version goes back", arguments: Backing.allCases)
  func forwardOnly(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    try store.receive(found("rooms/a", 9, ["n": .integer(9)]), missing("rooms/b", 9), at: 9)
    #expect(try store.receive(found("rooms/a", 8, [:]), found("rooms/b", 8, [:]), at: 10).isEmpty)
    #expect(try store.receive(missing("rooms/a", 9), at: 7).isEmpty)
    #expect(try store.lastRemoteSnapshotVersion() == version(10))
    #expect(try store.read("rooms/a") == found("rooms/a", 9, ["n": .integer(9)]))
    #expect(try store.read("rooms/b") == missing("rooms/b", 9))
  }

  @Test(
    "a limbo document that the backend refuses is forgotten; pending writes on it stay", arguments: Backing.allCases)
  func refusedLimbo(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    try store.receive(found("rooms/a", 9, [:]), found("rooms/b", 9, ["n": .integer(1)]), at: 9)
    try store.write(.patch(key("rooms/b"), ["n": .integer(2)], mask: mask("n")))
    let refused = RemoteEvent(
      snapshotVersion: .none,
      documentUpdates: [key("rooms/a"): missing("rooms/a", 0), key("rooms/b"): missing("rooms/b", 0)],
      limboDocumentChanges: [key("rooms/a"), key("rooms/b")])
    let changes = try store.apply(refused)
    #expect(changes == [key("rooms/a"): missing("rooms/a", 0), key("rooms/b"): missing("rooms/b", 0)])
    #expect(try store.read("rooms/a").isUnknown)
    #expect(try store.lastRemoteSnapshotVersion() == version(9))
    // Not a trace of the old version is left, so an older one is news.
    try store.receive(found("rooms/b", 4, ["n": .integer(0)]), at: 10)
    #expect(try store.read("rooms/b").values == ["n": .integer(2)])
  }

  @Test(
    "a token alone is written when there was none, after five minutes of snapshots, and on release",
    arguments: Backing.allCases)
  func resumeTokens(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    let id = try store.allocateTarget(rooms).targetID
    let minute: Int64 = 60_000_000
    func persistedToken() throws -> String {
      String(decoding: try #require(try store.tables.targets.targetData(id)).resumeToken, as: UTF8.self)
    }
    try store.receive(at: 1, for: [id], token: "first")
    #expect(try persistedToken() == "first")
    // Each step is short, together they are five minutes since the last one that was written.
    for step in 1...4 { try store.receive(at: 1 + Int64(step) * minute, for: [id], token: "minute \(step)") }
    #expect(try persistedToken() == "first")
    #expect(try store.targetData(for: rooms)?.resumeToken == [UInt8]("minute 4".utf8))
    try store.receive(at: 1 + 5 * minute, for: [id], token: "minute 5")
    #expect(try persistedToken() == "minute 5")
    try store.receive(at: 2 + 5 * minute, for: [id], token: "latest")
    #expect(try persistedToken() == "minute 5")
    try store.releaseTarget(id)
    #expect(try persistedToken() == "latest")
    let again = try store.allocateTarget(rooms)
    #expect(again.targetID == id && again.resumeToken == [UInt8]("latest".utf8))
    #expect(again.snapshotVersion == version(2 + 5 * minute))
  }

  @Test("a target whose filter did not match starts from nothing, also after a restart", arguments: Backing.allCases)
  func mismatch(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let id = try cache.store.allocateTarget(rooms).targetID
    try cache.store.receive(found("rooms/a", 3, [:]), at: 5, for: [id], token: "t5")
    try cache.store.notifyLocalViewChanges([LocalViewChanges(targetID: id, isFromCache: false)])
    #expect(try cache.store.targetData(for: rooms)?.lastLimboFreeSnapshotVersion == version(5))
    _ = try cache.store.apply(
      RemoteEvent(snapshotVersion: version(6), targetMismatches: [id: .existenceFilterMismatch]))
    for _ in 0..<2 {
      let data = try #require(try cache.store.targetData(for: rooms))
      #expect(data.resumeToken == [] && data.snapshotVersion == .none)
      #expect(data.lastLimboFreeSnapshotVersion == .none)
      try cache.restart()
    }
  }

  @Test("what nobody listens to keeps its keys and its token", arguments: Backing.allCases)
  func inactiveTarget(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    let id = try store.allocateTarget(rooms).targetID
    try store.receive(found("rooms/a", 3, [:]), at: 5, for: [id], token: "t5")
    try store.releaseTarget(id)
    try store.receive(found("rooms/b", 6, [:]), at: 6, for: [id], token: "t6")
    #expect(try store.confirmedKeys(for: id) == [key("rooms/a")])
    #expect(try store.targetData(for: rooms)?.resumeToken == [UInt8]("t5".utf8))
    #expect(throws: CacheError.unknownTarget(id)) {
      try store.releaseTarget(id)
    }
  }

  @Test("a released target is gone even when the release could not be stored", arguments: Backing.allCases)
  func failedRelease(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    let id = try store.allocateTarget(rooms).targetID
    try store.receive(found("rooms/a", 3, [:]), at: 5, for: [id], token: "t5")
    try store.receive(at: 6, for: [id], token: "t6")
    #expect(throws: injected) {
      try cache.failing(at: .transaction("Release target")) {
        try store.releaseTarget(id)
      }
    }
    #expect(throws: CacheError.unknownTarget(id)) { try store.releaseTarget(id) }
    #expect(try store.allocateTarget(rooms).resumeToken == [UInt8]("t5".utf8))
  }

  @Test("after a view without limbo documents a query starts from its target's keys", arguments: Backing.allCases)
  func previousResults(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    let query = collection("rooms").with(
      filter: .field(FieldFilter(path: field("n"), op: .equal, value: .integer(1))))
    let id = try store.allocateTarget(query.target).targetID
    try store.receive(found("rooms/a", 3, ["n": .integer(1)]), at: 5, for: [id], token: "t5")
    for index in 0..<50 { try store.receive(found("rooms/other\(index)", 4, ["n": .integer(2)]), at: 5) }
    let scan = try cache.statementSteps { _ = try store.found(query) }
    try store.notifyLocalViewChanges([LocalViewChanges(targetID: id, isFromCache: false)])
    // Changed later, by the backend and by the user: both belong to the result.
    try store.receive(found("rooms/b", 6, ["n": .integer(1)]), at: 6)
    try store.write(.set(key("rooms/c"), ["n": .integer(1)]))
    let reused = try cache.statementSteps {
      let found = try store.found(query)
      #expect(found == ["rooms/a", "rooms/b", "rooms/c"])
    }
    #expect(reused < scan)
    #expect(try store.found(query, usePreviousResults: false) == ["rooms/a", "rooms/b", "rooms/c"])
    try cache.restart()
    #expect(try cache.store.found(query) == ["rooms/a", "rooms/b", "rooms/c"])
  }

  @Test("the answer to a write of a document that is still needed is no other use of it", arguments: Backing.allCases)
  func answersAreNoUse(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    let target = try store.allocateTarget(rooms).targetID
    try store.receive(found("rooms/held", 3, [:]), at: 5, for: [target], token: "t5")
    func uses() throws -> [Int64?] {
      try ["rooms/held", "rooms/twice", "rooms/once"].map { try store.tables.uses.lastUse(of: key($0)) }
    }
    let received = try #require(try uses()[0])
    for id in ["held", "twice", "once", "twice"] { try store.write(.set(key("rooms/\(id)"), [:])) }
    let written = try uses().map { try #require($0) }
    #expect(received < written[0] && written[0] < written[2] && written[2] < written[1])
    let highest = try store.tables.globals.highestSequenceNumber()
    try store.acknowledgeNext(at: 6)
    try store.acknowledgeNext(at: 7)
    #expect(try uses() == written && store.tables.globals.highestSequenceNumber() == highest)
    try store.acknowledgeNext(at: 8)
    #expect(try #require(try uses()[2]) > highest)
    try store.acknowledgeNext(at: 9)
    #expect(try #require(try uses()[1]) > highest + 1)
    #expect(try cache.unneededPaths() == ["rooms/once", "rooms/twice"])
  }

  @Test("sequence numbers tell what was used last", arguments: Backing.allCases)
  func sequenceNumbers(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    let first = try store.allocateTarget(rooms)
    let second = try store.allocateTarget(collection("halls").target)
    #expect(first.sequenceNumber < second.sequenceNumber)
    try store.receive(found("rooms/a", 3, [:]), at: 5, for: [first.targetID], token: "t5")
    let added = try #require(try store.tables.uses.lastUse(of: key("rooms/a")))
    #expect(added > second.sequenceNumber)
    try store.write(.set(key("halls/a"), [:]))
    try store.acknowledgeNext(at: 6)
    #expect(try #require(try store.tables.uses.lastUse(of: key("halls/a"))) > added)
    try store.releaseTarget(first.targetID)
    let released = try #require(try store.targetData(for: rooms)).sequenceNumber
    #expect(try released == store.tables.globals.highestSequenceNumber())
    try cache.restart()
    #expect(try cache.store.allocateTarget(collection("attics").target).sequenceNumber > released)
  }

  @Test(
    "a row that has become another target's while the target is in use is damage, and nothing that memory has changes")
  func replacedRow() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    let store = cache.store
    let target = try store.allocateTarget(rooms).targetID
    let other = try store.allocateTarget(collection("halls").target).targetID
    try store.releaseTarget(other)
    let row = "(SELECT target FROM cache_targets WHERE target_id = \(other))"
    try cache.database.execute("UPDATE cache_targets SET target = \(row) WHERE target_id = \(target)")
    #expect {
      _ = try store.adoptTarget(target)
    } throws: { error in
      if case CacheError.corruptRecord("cache_targets", "\(target)", _) = error { true } else { false }
    }
    let active = store.transactions.targets
    #expect(throws: CacheError.self) { try active.readAllAgain() }
    #expect(active[target]?.data.target == rooms)
    #expect(active.targetIDs == [target] && active.targetID(of: rooms) == target)
  }
}
