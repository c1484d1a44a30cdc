import HearthModel
import HearthStore
import Testing

@testable import HearthCache

/// The local view of pending writes while the backend changes the documents beneath.
@Suite("Pending writes over changes of the backend")
struct KeptOverlayTests {
  private func transform(_ name: String, _ operation: TransformOperation, of path: String = "rooms/a") -> Mutation {
    .patch(
      key(path), [:], mask: .empty, precondition: .none,
      transforms: [FieldTransform(path: field(name), operation: operation)])
  }

  private func previous(_ name: String, in store: LocalStore) throws -> Value? {
    guard case .pendingServerTimestamp(_, let previous)? = try store.read("rooms/a").values?[name] else {
      Issue.record("no pending server timestamp: \(try store.read("rooms/a"))")
      return nil
    }
    return previous
  }

  @Test("a pending server timestamp keeps its previous value when its result comes first", arguments: Backing.allCases)
  func timestamp(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    try store.receive(found("rooms/a", 5, ["at": 1, "n": 1]), at: 5)
    try store.write(transform("at", .serverTimestamp))
    let before = try store.read("rooms/a")
    let result: MapValue = ["at": .timestamp(time(6)), "n": 1]
    #expect(try store.receive(found("rooms/a", 6, result), at: 6) == [key("rooms/a"): before])
    #expect(try store.read("rooms/a") == before)
    #expect(try previous("at", in: store) == 1)
    // Other clients' changes are visible nevertheless.
    try store.receive(found("rooms/a", 7, ["at": .timestamp(time(6)), "n": 2]), at: 7)
    #expect(try store.read("rooms/a").values?["n"] == 2)
    #expect(try previous("at", in: store) == 1)
    try store.acknowledgeNext(at: 6, transformResults: [[.timestamp(time(6))]])
    #expect(try store.read("rooms/a") == found("rooms/a", 7, ["at": .timestamp(time(6)), "n": 2]))
  }

  @Test("also of another user, of a new document, and when a bundle brings the change", arguments: Backing.allCases)
  func elsewhere(_ backing: Backing) throws {
    let cache = try TestCache(backing, user: "alice")
    defer { cache.close() }
    let store = cache.store
    try store.write(
      Mutation.set(
        key("rooms/a"), ["n": 1], transforms: [FieldTransform(path: field("at"), operation: .serverTimestamp)]))
    let before = try store.read("rooms/a")
    _ = try store.changeUser("bob")
    let document = found("rooms/a", 6, ["at": .timestamp(time(6)), "n": 1])
    let metadata = BundledDocumentMetadata(
      key: key("rooms/a"), readTime: version(6), exists: true, queries: [])
    let bundle = BundleMetadata(id: "b", createTime: version(6), version: 1, totalDocuments: 1, totalBytes: 1)
    _ = try store.apply(bundle, documents: [BundledDocument(metadata: metadata, document: document)], queries: [])
    _ = try store.changeUser("alice")
    #expect(try store.read("rooms/a") == before)
    #expect(try previous("at", in: store) == nil)
  }

  @Test("array transforms stay as the user saw them until the first answer", arguments: Backing.allCases)
  func arrays(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    try store.receive(found("rooms/a", 5, ["tags": ["x"]]), at: 5)
    try store.write(transform("tags", .arrayUnion(["mine"])))
    try store.write(.patch(key("rooms/a"), ["n": 2], mask: mask("n")))
    try store.receive(found("rooms/a", 6, ["tags": ["y"], "n": 1]), at: 6)
    #expect(try store.read("rooms/a").values == ["tags": ["x", "mine"], "n": 2])
    try cache.restart()
    // A write on top leaves it so.
    try cache.store.write(.patch(key("rooms/a"), ["m": 3], mask: mask("m")))
    #expect(try cache.store.read("rooms/a").values == ["tags": ["x", "mine"], "n": 2, "m": 3])
    // The committed transform must not be shown for longer than its batch is pending.
    try cache.store.acknowledgeNext(at: 7, transformResults: [[.null]])
    #expect(try cache.store.read("rooms/a").values == ["tags": ["y", "mine"], "n": 2, "m": 3])
  }

  @Test(
    "a committed increment shows its result, although a write before it was refused after both were sent",
    arguments: Backing.allCases)
  func refusedBeforeIncrement(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    try store.receive(found("rooms/a", 1, ["n": 1]), at: 1)
    try store.write(.set(key("rooms/a"), ["n": 10]))
    try store.write(transform("n", .increment(1)))
    try store.write(.patch(key("rooms/a"), ["m": 3], mask: mask("m")))
    // As they are sent: the increment starts from the write before it.
    let sent = try store.pendingBatches()
    _ = try store.reject(sent[0])
    #expect(try store.read("rooms/a").values == ["n": 2, "m": 3])
    // Others have written the value that the refused write would have had.
    let results = [MutationResult(version: version(5), transformResults: [11])]
    let view = try store.acknowledge(
      MutationBatchResult(batch: sent[1], commitVersion: version(5), results: results))
    #expect(view[key("rooms/a")]?.values == ["n": 11, "m": 3])
    #expect(try store.read("rooms/a").values == ["n": 11, "m": 3])
  }

  @Test("a document that comes or goes is looked at again by patches", arguments: Backing.allCases)
  func existence(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    try store.write(.patch(key("rooms/a"), ["n": 2], mask: mask("n")))
    try store.write(.patch(key("rooms/b"), ["n": 2], mask: mask("n"), precondition: .none))
    try store.write(.set(key("rooms/c"), ["n": 2]))
    for (at, isThere) in [(5, true), (6, false), (7, true)] as [(Int64, Bool)] {
      let documents = ["rooms/a", "rooms/b", "rooms/c"].map { path in
        isThere ? found(path, at, ["n": 1, "m": .integer(at)]) : missing(path, at)
      }
      for document in documents { try store.receive(document, at: at) }
      #expect(try store.read("rooms/a").values == (isThere ? ["n": 2, "m": .integer(at)] : nil))
      #expect(try store.read("rooms/b").values == (isThere ? ["n": 2, "m": .integer(at)] : ["n": 2]))
      #expect(try store.read("rooms/c").values == ["n": 2])
    }
  }

  @Test("an overlay that cannot be read is made again from the queue")
  func damaged() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    try cache.store.receive(found("rooms/a", 5, ["n": 1, "m": 1]), at: 5)
    try cache.store.write(.patch(key("rooms/a"), ["n": 2], mask: mask("n")))
    try cache.database.execute("UPDATE cache_overlays SET mutation = X'FFFF'")
    try cache.store.receive(found("rooms/a", 6, ["n": 1, "m": 2]), at: 6)
    #expect(try cache.store.read("rooms/a").values == ["n": 2, "m": 2])
  }

  @Test("a field of an answered write follows the backend while other writes wait", arguments: Backing.allCases)
  func answeredFields(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    try store.receive(found("rooms/a", 5, ["n": 1, "m": 1]), at: 5)
    try store.write(.patch(key("rooms/a"), ["n": 2], mask: mask("n")))
    try store.write(.patch(key("rooms/a"), ["m": 2], mask: mask("m")))
    try store.write(.patch(key("rooms/a"), ["k": 2], mask: mask("k")))
    try store.acknowledgeNext(at: 6)
    #expect(try store.receive(found("rooms/a", 7, ["n": 7, "m": 7]), at: 7)[key("rooms/a")]?.values?["n"] == 7)
    #expect(try store.read("rooms/a").values == ["n": 7, "m": 2, "k": 2])
    try store.acknowledgeNext(at: 8)
    try cache.restart()
    try cache.store.receive(found("rooms/a", 9, ["n": 9, "m": 9]), at: 9)
    #expect(try cache.store.read("rooms/a").values == ["n": 9, "m": 9, "k": 2])
  }

  @Test("a field next to one that was deleted and set again follows the backend", arguments: Backing.allCases)
  func parents(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    try store.receive(found("rooms/a", 5, ["in": ["n": 1, "m": 1]]), at: 5)
    try store.write(.patch(key("rooms/a"), [:], mask: mask("in.n")))
    try store.write(.patch(key("rooms/a"), ["in": ["n": 2]], mask: mask("in.n")))
    try store.receive(found("rooms/a", 6, ["in": ["n": 1, "m": 6]]), at: 6)
    #expect(try store.read("rooms/a").values == ["in": ["n": 2, "m": 6]])
  }

  @Test("the fields next to one whose deletion is pending follow the backend", arguments: Backing.allCases)
  func besideDeletedFields(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    try store.receive(found("rooms/a", 5, ["in": ["n": 1, "m": 1]]), at: 5)
    try store.receive(found("rooms/b", 5, [:]), at: 5)
    for path in ["rooms/a", "rooms/b"] { try store.write(.patch(key(path), [:], mask: mask("in.n"))) }
    try store.receive(found("rooms/a", 6, ["in": ["n": 1, "m": 6]]), at: 6)
    #expect(try store.read("rooms/a").values == ["in": ["m": 6]])
    try store.receive(found("rooms/b", 7, ["in": ["n": 7, "m": 7]]), at: 7)
    #expect(try store.read("rooms/b").values == ["in": ["m": 7]])
  }

  @Test("a document whose row is damaged is replaced by the backend's, pending writes on top")
  func damagedDocument() throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    try cache.store.receive(found("rooms/a", 5, ["n": 1, "m": 1]), at: 5)
    try cache.store.write(.patch(key("rooms/a"), ["n": 2], mask: mask("n")))
    try cache.database.execute("UPDATE documents SET fields = X'FFFF'")
    try cache.store.receive(found("rooms/a", 6, ["n": 1, "m": 2]), at: 6)
    #expect(try cache.store.read("rooms/a").values == ["n": 2, "m": 2])
  }

  @Test("an overlay without a readable state is calculated again at an answer", arguments: ["'?'", "9", "X'00'"])
  func damagedState(_ state: String) throws {
    let cache = try TestCache(.memory)
    defer { cache.close() }
    let store = cache.store
    try store.receive(found("rooms/a", 5, ["n": 1, "m": 1]), at: 5)
    try store.write(.patch(key("rooms/a"), ["n": 2], mask: mask("n")))
    try store.write(.patch(key("rooms/a"), ["m": 2], mask: mask("m")))
    try cache.database.execute("UPDATE cache_overlays SET state = \(state)")
    try store.receive(found("rooms/a", 6, ["n": 1, "m": 1, "k": 6]), at: 6)
    #expect(try store.read("rooms/a").values == ["n": 2, "m": 2, "k": 6])
    try store.acknowledgeNext(at: 7)
    try store.receive(found("rooms/a", 8, ["n": 8, "m": 8]), at: 8)
    #expect(try store.read("rooms/a").values == ["n": 8, "m": 2])
  }

  @Test("a snapshot reads none of the pending writes of the documents that it changes", arguments: Backing.allCases)
  func readsNoBatch(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    try store.receive(found("rooms/a", 5, ["n": 0]), at: 5)
    for number in 1...3 {
      try store.write(.patch(key("rooms/a"), ["n": .integer(Int64(number))], mask: mask("n")))
    }
    // Reading one of them fails.
    try cache.database.execute("UPDATE cache_mutation_batches SET batch = X'FF'")
    try store.receive(found("rooms/a", 6, ["n": 6, "m": 6]), at: 6)
    #expect(try store.read("rooms/a").values == ["n": 3, "m": 6])
  }

  @Test("a few pending writes cost a large snapshot a few statements", arguments: Backing.allCases)
  func largeSnapshot(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    func receive(at time: Int64) throws {
      var event = RemoteEvent(snapshotVersion: version(time))
      for number in 0..<300 {
        let document = found("rooms/\(number)", time, ["n": .integer(time)])
        event.documentUpdates[document.key] = document
      }
      _ = try store.apply(event)
    }
    try receive(at: 5)
    let without = try cache.statementSteps { try receive(at: 6) }
    try store.write(.patch(key("rooms/7"), ["m": 1], mask: mask("m")))
    let with = try cache.statementSteps { try receive(at: 7) }
    #expect(with - without < 20)
    #expect(try store.read("rooms/7").values == ["n": 7, "m": 1])
  }

  @Test(
    "users without pending writes cost a snapshot and the marks of use of its documents nothing",
    arguments: Backing.allCases)
  func usersWithoutWrites(_ backing: Backing) throws {
    func instructions(users: Int) throws -> Int {
      let cache = try TestCache(backing)
      defer { cache.close() }
      for number in 0..<users {
        try cache.database.update(
          "INSERT INTO cache_users (user_key) VALUES (?)", .text(OutboxOwner.key(ofName: "user \(number)")))
      }
      try cache.store.write(.patch(key("rooms/7"), ["m": 1], mask: mask("m")))
      var event = RemoteEvent(snapshotVersion: version(5))
      for number in 0..<50 {
        let document = found("rooms/\(number)", 5, ["n": 1])
        event.documentUpdates[document.key] = document
        event.limboDocumentChanges.insert(document.key)
      }
      var hundreds = 0
      cache.database.onProgress(everyInstructions: 100) {
        hundreds += 1
        return false
      }
      _ = try cache.store.apply(event)
      return hundreds
    }
    #expect(try instructions(users: 2_000) <= instructions(users: 1) + 10)
  }
}
