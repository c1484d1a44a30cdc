import HearthModel
import HearthStore
import Testing

@testable import HearthCache

@Suite("Eager garbage collection")
struct EagerGarbageCollectionTests {
  private let rooms = collection("rooms").target

  @Test("a document goes with the acknowledgement when nothing else needs it")
  func acknowledgedWrite() throws {
    let cache = try TestCache(.memory, .eager)
    defer { cache.close() }
    try cache.store.write(.set(key("rooms/a"), ["n": .integer(1)]))
    #expect(try cache.store.read("rooms/a").isFound)
    // The answer still tells the views what was written.
    #expect(try cache.store.acknowledgeNext(at: 5)[key("rooms/a")]?.values == ["n": .integer(1)])
    #expect(try cache.store.read("rooms/a").isUnknown)
  }

  @Test("targets keep their documents until they are released, then row and documents go")
  func release() throws {
    let cache = try TestCache(.memory, .eager)
    defer { cache.close() }
    let store = cache.store
    let id = try store.allocateTarget(rooms).targetID
    let other = try store.allocateTarget(collection("rooms").with(limit: 1, type: .first).target).targetID
    try store.receive(found("rooms/a", 3, [:]), at: 5, for: [id, other], token: "t")
    try store.receive(found("rooms/b", 3, [:]), at: 6, for: [id], token: "t")
    try store.receive(found("rooms/nobody", 3, [:]), at: 7)
    #expect(try store.read("rooms/nobody").isUnknown)
    try store.releaseTarget(id)
    #expect(try store.read("rooms/a").isFound)
    #expect(try store.read("rooms/b").isUnknown)
    #expect(try store.targetData(for: rooms) == nil)
    #expect(try store.confirmedKeys(for: id).isEmpty)
    #expect(try store.allocateTarget(rooms).targetID == other + 2)
  }

  @Test("pending writes of any user keep a document")
  func pendingWrites() throws {
    let cache = try TestCache(.memory, .eager)
    defer { cache.close() }
    let store = cache.store
    let id = try store.allocateTarget(rooms).targetID
    try store.receive(found("rooms/a", 3, ["n": .integer(1)]), at: 5, for: [id], token: "t")
    let (batchID, _) = try store.write(.patch(key("rooms/a"), ["n": .integer(2)], mask: mask("n")))
    _ = try store.changeUser("alice")
    try store.releaseTarget(id)
    #expect(try store.read("rooms/a") == found("rooms/a", 3, ["n": .integer(1)]))
    _ = try store.changeUser(nil)
    #expect(try store.reject(store.batch(batchID))[key("rooms/a")] == found("rooms/a", 3, ["n": .integer(1)]))
    #expect(try store.read("rooms/a").isUnknown)
  }

  @Test("a view keeps what it shows, until it drops it or closes")
  func views() throws {
    let cache = try TestCache(.memory, .eager)
    defer { cache.close() }
    let store = cache.store
    let id = try store.allocateTarget(rooms).targetID
    func show(_ added: Set<DocumentKey>, dropping removed: Set<DocumentKey> = []) throws {
      try store.notifyLocalViewChanges([
        LocalViewChanges(targetID: id, isFromCache: true, addedKeys: added, removedKeys: removed)
      ])
    }
    for name in ["a", "b"] {
      try store.write(.set(key("rooms/\(name)"), [:]))
      try show([key("rooms/\(name)")])
      try store.acknowledgeNext(at: 5)
    }
    #expect(try store.found(collection("rooms")) == ["rooms/a", "rooms/b"])
    try show([], dropping: [key("rooms/a")])
    #expect(try store.found(collection("rooms")) == ["rooms/b"])
    try store.releaseTarget(id)
    #expect(try store.found(collection("rooms")) == [])
  }

  @Test("what a view showed goes with the next change when the release of its target fails")
  func failedRelease() throws {
    let cache = try TestCache(.memory, .eager)
    defer { cache.close() }
    let store = cache.store
    let id = try store.allocateTarget(rooms).targetID
    try store.write(.set(key("rooms/a"), [:]))
    try store.notifyLocalViewChanges([
      LocalViewChanges(targetID: id, isFromCache: true, addedKeys: [key("rooms/a")], removedKeys: [])
    ])
    try store.acknowledgeNext(at: 5)
    try cache.failing(at: .transaction("Release target")) {
      #expect(throws: StoreError.self) { try store.releaseTarget(id) }
    }
    try cache.failing(at: .commit) {
      #expect(throws: StoreError.self) { try store.write(.set(key("halls/a"), [:])) }
    }
    #expect(try store.found(collection("rooms")) == ["rooms/a"])
    try store.write(.set(key("halls/a"), [:]))
    #expect(try store.found(collection("rooms")) == [])
  }
}
