import HearthModel
import HearthStore
import Testing

@testable import HearthCache

@Suite("The local view")
struct LocalViewTests {
  @Test("a write shows at once, in documents and in queries", arguments: Backing.allCases)
  func write(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    try store.receive(found("rooms/a", 5, ["n": .integer(1), "m": .integer(1)]), at: 5)
    let (_, changes) = try store.write(.patch(key("rooms/a"), ["n": .integer(2)], mask: mask("n")))
    let changed = try #require(changes[key("rooms/a")])
    #expect(changed.values == ["n": .integer(2), "m": .integer(1)])
    #expect(changed.hasLocalMutations)
    #expect(try store.read("rooms/a") == changed)
    let query = collection("rooms").with(
      filter: .field(FieldFilter(path: field("n"), op: .equal, value: .integer(2))))
    #expect(try store.execute(query, usePreviousResults: true).documents == [key("rooms/a"): changed])
  }

  @Test("a delete hides the document", arguments: Backing.allCases)
  func delete(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    try store.receive(found("rooms/a", 5, [:]), at: 5)
    let (_, changes) = try store.write(.delete(key("rooms/a")))
    #expect(changes[key("rooms/a")]?.isMissing == true)
    #expect(try store.found(collection("rooms")) == [])
  }

  @Test("an update of a document that the cache does not know shows nothing", arguments: Backing.allCases)
  func updateOfUnknown(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    let (_, changes) = try store.write(.patch(key("rooms/a"), ["n": .integer(2)], mask: mask("n")))
    #expect(changes[key("rooms/a")]?.isFound == false)
    #expect(try store.found(collection("rooms")) == [])
    let acknowledged = try store.acknowledgeNext(at: 10)
    #expect(acknowledged[key("rooms/a")] == .foundWithUnknownContents(key("rooms/a"), version: version(10)))
    try store.receive(found("rooms/a", 9, ["n": .integer(0)]), at: 11)
    #expect(try store.found(collection("rooms")) == [])
    try store.receive(found("rooms/a", 10, ["n": .integer(2)]), at: 12)
    #expect(try store.read("rooms/a") == found("rooms/a", 10, ["n": .integer(2)]))
  }

  @Test("a pending update shows as soon as the backend delivers its document", arguments: Backing.allCases)
  func updateThenDocument(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    try store.write(.patch(key("rooms/a"), ["n": .integer(2)], mask: mask("n")))
    let changes = try store.receive(found("rooms/a", 5, ["n": .integer(1), "m": .integer(1)]), at: 5)
    #expect(changes[key("rooms/a")]?.values == ["n": .integer(2), "m": .integer(1)])
    #expect(try store.read("rooms/a").values == ["n": .integer(2), "m": .integer(1)])
  }

  @Test("an increment is not counted twice when the document changes in between", arguments: Backing.allCases)
  func incrementKeepsItsBase(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    let increment = Mutation.patch(
      key("rooms/a"), [:], mask: .empty,
      transforms: [FieldTransform(path: field("n"), operation: .increment(.integer(10)))])
    try store.receive(found("rooms/a", 5, ["n": .integer(1)]), at: 5)
    try store.write(increment)
    let (_, changes) = try store.write(increment)
    #expect(changes[key("rooms/a")]?.values == ["n": .integer(21)])
    #expect(try store.pendingBatches().last?.baseMutations.count == 1)
    // Another client's change arrives: the view keeps what the user saw plus the increments.
    try store.receive(found("rooms/a", 6, ["n": .integer(100)]), at: 6)
    #expect(try store.read("rooms/a").values == ["n": .integer(21)])
    try store.acknowledgeNext(at: 7, transformResults: [[.integer(110)]])
    #expect(try store.read("rooms/a").values == ["n": .integer(21)])
    try store.acknowledgeNext(at: 8, transformResults: [[.integer(120)]])
    #expect(try store.read("rooms/a").values == ["n": .integer(120)])
  }

  @Test(
    "after the acknowledgement the document shows the committed data until the backend delivers it",
    arguments: Backing.allCases)
  func committed(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    try store.receive(found("rooms/a", 5, ["n": .integer(1)]), at: 5)
    try store.write(.set(key("rooms/a"), ["n": .integer(2)]))
    let changes = try store.acknowledgeNext(at: 10)
    let document = try #require(changes[key("rooms/a")])
    #expect(document.hasCommittedMutations && document.version == version(10))
    #expect(try store.receive(found("rooms/a", 7, ["n": .integer(0)]), at: 11).isEmpty)
    #expect(try store.read("rooms/a") == document)
    let delivered = try store.receive(found("rooms/a", 10, ["n": .integer(2)]), at: 12)
    #expect(delivered == [key("rooms/a"): found("rooms/a", 10, ["n": .integer(2)])])
    // The same version again is no news.
    #expect(try store.receive(found("rooms/a", 10, ["n": .integer(2)]), at: 13).isEmpty)
  }

  @Test("an acknowledgement at a version that the cache already has does not overwrite it", arguments: Backing.allCases)
  func lateAcknowledgement(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    try store.write(.set(key("rooms/a"), ["n": .integer(1)]))
    try store.receive(found("rooms/a", 20, ["n": .integer(3)]), at: 20)
    #expect(try store.read("rooms/a").values == ["n": .integer(1)])
    try store.acknowledgeNext(at: 10)
    #expect(try store.read("rooms/a") == found("rooms/a", 20, ["n": .integer(3)]))
  }

  @Test("older versions do not come back over an acknowledged delete", arguments: Backing.allCases)
  func acknowledgedDelete(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    try store.receive(found("rooms/a", 5, [:]), at: 5)
    try store.write(.delete(key("rooms/a")))
    try store.acknowledgeNext(at: 10)
    try store.receive(found("rooms/a", 8, [:]), at: 11)
    #expect(try store.read("rooms/a").isMissing)
    try store.receive(found("rooms/a", 12, [:]), at: 12)
    #expect(try store.read("rooms/a").isFound)
  }

  @Test("a rejected write is rolled back and later ones stay", arguments: Backing.allCases)
  func reject(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    try store.receive(found("rooms/a", 5, ["n": .integer(1)]), at: 5)
    let first = try store.write(.patch(key("rooms/a"), ["n": .integer(2)], mask: mask("n"))).batchID
    try store.write(.patch(key("rooms/a"), ["m": .integer(3)], mask: mask("m")))
    let changes = try store.reject(try store.batch(first))
    #expect(changes[key("rooms/a")]?.values == ["n": .integer(1), "m": .integer(3)])
    let second = try #require(try store.nextMutationBatch(after: -1))
    #expect(try store.reject(second) == [key("rooms/a"): found("rooms/a", 5, ["n": .integer(1)])])
    #expect(try store.pendingBatchCount() == 0)
  }

  @Test("collection groups find local writes below the ancestor only", arguments: Backing.allCases)
  func collectionGroups(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    for place in ["rooms/a", "houses/1/rooms/b", "houses/1/halls/1/rooms/c", "houses/10/rooms/d", "rooms/a/halls/e"] {
      try store.write(.set(key(place), [:]))
    }
    #expect(
      try store.found(Query(path: ResourcePath(), collectionGroup: "rooms"))
        == ["houses/1/halls/1/rooms/c", "houses/1/rooms/b", "houses/10/rooms/d", "rooms/a"])
    #expect(
      try store.found(Query(path: path("houses/1"), collectionGroup: "rooms"))
        == ["houses/1/halls/1/rooms/c", "houses/1/rooms/b"])
    #expect(try store.found(collection("rooms")) == ["rooms/a"])
  }

  @Test("a user's view is right after documents changed while another was signed in", arguments: Backing.allCases)
  func otherUsersOverlaysStayFresh(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    try store.write(.patch(key("rooms/a"), ["n": .integer(2)], mask: mask("n")))
    _ = try store.changeUser("alice")
    try store.receive(found("rooms/a", 5, ["n": .integer(1), "m": .integer(1)]), at: 5)
    try store.write(.patch(key("rooms/a"), ["m": .integer(7)], mask: mask("m")))
    try store.acknowledgeNext(at: 6)
    let change = try store.changeUser(nil)
    #expect(change[key("rooms/a")]?.values == ["n": .integer(2), "m": .integer(7)])
  }
}
