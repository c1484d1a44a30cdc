import HearthModel
import HearthStore
import Testing

@testable import HearthCache

@Suite("The queue of pending writes")
struct QueueTests {
  @Test("batches come back in the order in which they were written, whole", arguments: Backing.allCases)
  func order(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    #expect(try store.nextMutationBatch(after: -1) == nil)
    #expect(try store.outbox.highestBatchID() == nil)
    let first = try store.write(.set(key("rooms/a"), ["n": .integer(1)]), .delete(key("rooms/b")), at: 7).batchID
    let second = try store.write(.patch(key("rooms/a"), ["n": .integer(2)], mask: mask("n"))).batchID
    #expect(first < second)
    let batch = try #require(try store.nextMutationBatch(after: -1))
    #expect(batch.batchID == first)
    #expect(batch.localWriteTime == time(7))
    #expect(batch.mutations == [.set(key("rooms/a"), ["n": .integer(1)]), .delete(key("rooms/b"))])
    #expect(try store.nextMutationBatch(after: first)?.batchID == second)
    #expect(try store.nextMutationBatch(after: second) == nil)
    #expect(try store.outbox.highestBatchID() == second)
    #expect(try store.pendingBatches().map(\.batchID) == [first, second])
    #expect(try store.pendingBatches(after: first, limit: 5).map(\.batchID) == [second])
    #expect(try store.pendingBatches(limit: 1).map(\.batchID) == [first])
    #expect(try store.pendingBatchCount() == 2)
  }

  @Test("a batch id is never used twice, whatever happens to the batch", arguments: Backing.allCases)
  func idsAreNotReused(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    var ids: [BatchID] = []
    ids.append(try cache.store.write(.set(key("rooms/a"), [:])).batchID)
    _ = try cache.store.reject(cache.store.batch(ids[0]))
    ids.append(try cache.store.write(.set(key("rooms/a"), [:])).batchID)
    try cache.store.acknowledgeNext(at: 1)
    _ = try cache.store.changeUser("alice")
    ids.append(try cache.store.write(.set(key("rooms/a"), [:])).batchID)
    _ = try cache.store.reject(cache.store.batch(ids[2]))
    try cache.restart()
    ids.append(try cache.store.write(.set(key("rooms/a"), [:])).batchID)
    #expect(ids == ids.sorted() && Set(ids).count == ids.count)
  }

  @Test("a restart keeps queue and local view", arguments: Backing.allCases)
  func restart(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let cacheID = cache.store.cacheID
    try cache.store.write(.set(key("rooms/a"), ["n": .integer(1)]))
    let queue = try cache.store.pendingBatches()
    try cache.restart()
    #expect(try cache.store.pendingBatches() == queue)
    #expect(try cache.store.read("rooms/a").values == ["n": .integer(1)])
    #expect(try cache.store.found(collection("rooms")) == ["rooms/a"])
    #expect(cacheID == "first start" && cache.store.cacheID == cacheID)
  }

  @Test("each user has a queue and a local view; documents are shared", arguments: Backing.allCases)
  func users(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    try store.receive(found("rooms/shared", 1, ["n": .integer(0)]), at: 1)
    let first = try store.write(.set(key("rooms/a"), ["by": .string("nobody")])).batchID
    let toAlice = try store.changeUser("alice")
    #expect(toAlice == [key("rooms/a"): .unknown(key("rooms/a"))])
    #expect(try store.pendingBatches() == [])
    #expect(try store.found(collection("rooms")) == ["rooms/shared"])
    let second = try store.write(.patch(key("rooms/shared"), ["n": .integer(5)], mask: mask("n"))).batchID
    let back = try store.changeUser(nil)
    #expect(Set(back.keys) == [key("rooms/a"), key("rooms/shared")])
    #expect(back[key("rooms/shared")]?.values == ["n": .integer(0)])
    #expect(back[key("rooms/a")]?.values == ["by": .string("nobody")])
    #expect(try store.pendingBatches().map(\.batchID) == [first])
    #expect(try store.pendingBatches(of: .user("alice")).map(\.batchID) == [second])
    #expect(try store.changeUser(nil).isEmpty)
  }

  @Test("the empty user id is not nobody", arguments: Backing.allCases)
  func emptyUserID(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    try cache.store.write(.set(key("rooms/a"), [:]))
    #expect(try cache.store.changeUser("").count == 1)
    #expect(try cache.store.pendingBatchCount() == 0)
  }

  @Test("a batch of another user, or none, cannot be answered", arguments: Backing.allCases)
  func unknownBatch(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let store = cache.store
    let (batchID, _) = try store.write(.set(key("rooms/a"), [:]))
    let batch = try #require(try store.nextMutationBatch(after: -1))
    let answer = MutationBatchResult(
      batch: batch, commitVersion: version(5), results: [MutationResult(version: version(5))])
    _ = try store.changeUser("alice")
    let before = try cache.dump()
    #expect(throws: CacheError.unknownBatch(batchID, user: "alice")) { try store.acknowledge(answer) }
    #expect(throws: CacheError.unknownBatch(batchID, user: "alice")) { try store.reject(batch) }
    #expect(throws: CacheError.emptyBatch) { try store.write([], localWriteTime: time(1)) }
    #expect(try cache.dump() == before)
  }

  @Test("several writes are one commit: all of them or none", arguments: Backing.allCases)
  func manyWrites(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    defer { cache.close() }
    let writes = (1...3).map {
      LocalWrite(mutations: [.set(key("rooms/a"), ["n": .integer($0)])], localWriteTime: time($0))
    }
    let results = try cache.store.write(many: writes)
    #expect(results.map { $0.changes[key("rooms/a")]?.values } == (1...3).map { ["n": .integer($0)] })
    #expect(try cache.store.pendingBatches().map(\.batchID) == results.map(\.batch.batchID))
    let before = try cache.dump()
    #expect(throws: CacheError.emptyBatch) {
      try cache.store.write(many: writes + [LocalWrite(mutations: [], localWriteTime: time(9))])
    }
    #expect(try cache.dump() == before)
  }

  @Test("answering a batch costs the same however long the queue is")
  func costOfAnswers() throws {
    func steps(queued: Int) throws -> (acknowledge: Int, reject: Int, write: Int) {
      let cache = try TestCache(.memory)
      defer { cache.close() }
      for index in 0..<queued { try cache.store.write(.set(key("rooms/\(index)"), ["n": .integer(1)])) }
      let write = try cache.statementSteps { try cache.store.write(.set(key("halls/x"), ["n": .integer(1)])) }
      let acknowledge = try cache.statementSteps { try cache.store.acknowledgeNext(at: 10) }
      let next = try #require(try cache.store.nextMutationBatch(after: -1))
      let reject = try cache.statementSteps { _ = try cache.store.reject(next) }
      return (acknowledge, reject, write)
    }
    let short = try steps(queued: 3)
    let long = try steps(queued: 600)
    #expect(short.acknowledge == long.acknowledge)
    #expect(short.reject == long.reject)
    #expect(short.write == long.write)
  }

  /// A cache whose document `rooms/a` counts pending writes in its field `n`.
  private func counter(increments: Int) throws -> TestCache {
    let cache = try TestCache(.memory)
    try cache.store.receive(found("rooms/a", 1, ["n": .integer(0)]), at: 1)
    for _ in 0..<increments {
      try cache.store.write(
        .patch(
          key("rooms/a"), [:], mask: .empty,
          transforms: [FieldTransform(path: field("n"), operation: .increment(.integer(1)))]))
    }
    return cache
  }

  @Test("answering a batch does not replay the other writes of its document when the backend did what was expected")
  func costOfAnswersForOneDocument() throws {
    func steps(queued: Int) throws -> Int {
      let cache = try counter(increments: queued)
      defer { cache.close() }
      let store = cache.store
      let steps = try cache.statementSteps { try store.acknowledgeNext(at: 10, transformResults: [[.integer(1)]]) }
      #expect(try store.read("rooms/a").values == ["n": .integer(Int64(queued))])
      // Another client has changed the counter in between: now everything behind is worked out again.
      try store.acknowledgeNext(at: 11, transformResults: [[.integer(41)]])
      #expect(try store.read("rooms/a").values == ["n": .integer(Int64(queued))])
      for result in 0..<queued - 2 {
        try store.acknowledgeNext(at: 12 + Int64(result), transformResults: [[.integer(42 + Int64(result))]])
      }
      #expect(try store.read("rooms/a").values == ["n": .integer(39 + Int64(queued))])
      #expect(try store.pendingBatchCount() == 0)
      return steps
    }
    #expect(try steps(queued: 4) == steps(queued: 100))
  }

  @Test("the same for answers that the watch stream was ahead of, after the first of them")
  func costOfOvertakenAnswers() throws {
    func steps(queued: Int) throws -> [Int] {
      let cache = try counter(increments: queued)
      defer { cache.close() }
      let store = cache.store
      try store.receive(found("rooms/a", 14, ["n": .integer(5)]), at: 14)
      var steps: [Int] = []
      for result in 1...5 {
        steps.append(
          try cache.statementSteps {
            try store.acknowledgeNext(at: 9 + Int64(result), transformResults: [[.integer(Int64(result))]])
          })
        #expect(try store.read("rooms/a").values == ["n": .integer(Int64(queued))])
      }
      return Array(steps.dropFirst())
    }
    #expect(try steps(queued: 10) == steps(queued: 100))
  }

  @Test("reading the local view costs the same however many writes wait for the document")
  func costOfReading() throws {
    func steps(queued: Int) throws -> Int {
      let cache = try TestCache(.memory)
      defer { cache.close() }
      for index in 0..<queued { try cache.store.write(.set(key("rooms/a"), ["n": .integer(Int64(index))])) }
      return try cache.statementSteps {
        let document = try cache.store.read("rooms/a")
        #expect(document.values == ["n": .integer(Int64(queued - 1))])
      }
    }
    #expect(try steps(queued: 1) == steps(queued: 200))
  }
}
