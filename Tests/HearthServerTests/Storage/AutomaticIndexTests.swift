import Foundation
import HearthModel
import HearthPlan
import HearthStore
import Synchronization
import TestSupport
import Testing

@testable import HearthServer

@Suite("Automatic indexes of the server", .timeLimit(.minutes(5)))
struct AutomaticIndexTests {
  private static func index(_ name: String, in group: String = "c") throws -> IndexDefinition {
    try IndexDefinition(collectionGroup: group, fields: [.init(path: field(name), kind: .ascending)])
  }

  private static func query(_ name: String) -> Query {
    Query(path: path("c")).with(filter: .field(field(name), .equal, 7.value))
  }

  private static let minute: Int64 = 60_000_000

  private final class CommitCount: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }

    @Sendable func note(_ point: Database.FailurePoint) -> StoreError? {
      if case .commit = point { count.withLock { $0 += 1 } }
      return nil
    }
  }

  // MARK: - Demand

  @Test("a wish is answered once, and nothing of a refused one stays but a pause of its group")
  func wishes() throws {
    var demand = IndexDemand()
    let (a, b, other) = (try Self.index("a"), try Self.index("b"), try Self.index("a", in: "d"))
    #expect(demand.wish([a, b], at: 0) == [a, b])
    #expect(demand.wish([b, a], at: 0).isEmpty)
    demand.answer([a, b], full: ["c": 100])
    #expect(demand.pendingCount == 0)
    #expect(demand.wish([a, other], at: 99) == [other])
    #expect(demand.wish([a, other], at: 100) == [a])
    demand.answer([a, other], full: [:])
    for number in 0..<5_000 {
      let index = try Self.index("a", in: "g\(number)")
      #expect(demand.wish([index], at: 200) == [index])
      demand.answer([index], full: ["g\(number)": 300])
    }
    #expect(demand.pendingCount == 0 && demand.fullGroupCount <= IndexDemand.maximumFullGroups)
    for number in 0..<2_000 { _ = demand.wish([try Self.index("f\(number)")], at: 400) }
    #expect(demand.pendingCount == IndexDemand.maximumPending)
  }

  @Test("uses are saved at most once an hour for each index")
  func uses() throws {
    var demand = IndexDemand()
    let (a, b) = (try Self.index("a"), try Self.index("b"))
    var saves = 0
    for minute in 0..<300 as Range<Int64> {
      demand.use(a, at: minute * Self.minute)
      let saved = demand.takeUnsaved()
      saves += saved.count
      #expect(demand.latestUse(of: a) == minute * Self.minute)
      #expect(saved[b] == nil)
    }
    #expect(saves == 5)
    demand.use(b, at: 7)
    #expect(demand.takeUnsaved() == [b: 7])
    demand.keepUses(of: [b])
    #expect(demand.latestUse(of: a) == nil && demand.latestUse(of: b) == 7)
  }

  // MARK: - Plans

  @Test("at the limit the longest unused index makes room, if it was unused for half an hour")
  func room() throws {
    let limit = AutomaticIndexPlan.limit
    let known = try (0..<limit).map { number in
      AutomaticIndex(definition: try Self.index("f\(number)"), latestUse: 1_000 + Int64(number))
    }
    let wishes = [try Self.index("x"), try Self.index("f3"), try Self.index("y")]
    let present = Set(known.map(\.definition))
    let soon = 1_000 + AutomaticIndexPlan.evictionTime
    let refused = AutomaticIndexPlan(for: wishes, beside: present, known.shuffled(), now: soon - 1)
    #expect(refused.isEmpty && refused.full == ["c": soon])
    let one = AutomaticIndexPlan(for: wishes, beside: present, known.shuffled(), now: soon)
    #expect(one.added == [wishes[0]] && one.dropped == [known[0].definition] && one.full == ["c": soon + 1])
    let both = AutomaticIndexPlan(for: wishes, beside: present, known.shuffled(), now: soon + 1)
    #expect(both.added == [wishes[0], wishes[2]] && both.dropped == [known[0].definition, known[1].definition])
    let free = AutomaticIndexPlan(for: wishes, beside: present, Array(known.dropFirst()), now: 2_000)
    #expect(free.added == [wishes[0]] && free.dropped.isEmpty && free.full.count == 1)
  }

  // MARK: - Databases

  /// Stores documents so that each query finds a few.
  private static func fill(_ fixture: StorageFixture, fields: [String]) async throws {
    for start in stride(from: 0, to: 150, by: 50) {
      let mutations = (start..<start + 50).map { n in
        var values = MapValue()
        for name in fields { values[name] = (n % 50).value }
        return Mutation.set(key("c/d\(n)"), values)
      }
      _ = try await fixture.storage.commit(CommitRequest(mutations: mutations))
    }
  }

  /// Runs a query, and waits until what it has asked for is answered and filled.
  private static func ask(_ name: String, of storage: EmbeddedStorage) async throws {
    let answer = try await storage.run(query(name), at: nil)
    #expect(answer.documents.count == 3)
    try await waitUntil { storage.indexDemand.withLock { $0.pendingCount } == 0 }
    try await waitUntil { try await storage.isAtRest() }
  }

  @Test("fields that are named after data do not use the indexes up, and a refused wish costs no commit")
  func names() async throws {
    let commits = CommitCount()
    let fixture = try StorageFixture(injecting: commits.note)
    let storage = fixture.storage
    let limit = AutomaticIndexPlan.limit
    let names = (0..<limit).map { "u\($0)" }
    try await Self.fill(fixture, fields: names + ["real"])
    for name in names {
      try await Self.ask(name, of: storage)
      fixture.clock.advance(seconds: 10)
    }
    #expect(try await storage.automaticNames() == Set(names))

    let (before, state) = (commits.value, await storage.indexState)
    for _ in 0..<5 { try await Self.ask("real", of: storage) }
    #expect(commits.value == before)
    #expect(await storage.indexState == state)
    #expect(try await storage.automaticNames() == Set(names))

    fixture.clock.advance(seconds: 30 * 60)
    try await Self.ask("u0", of: storage)
    try await Self.ask("real", of: storage)
    #expect(try await storage.automaticNames() == Set(names).subtracting(["u1"]).union(["real"]))
    #expect(try await storage.run(Self.query("real"), at: nil).execution?.rowsRead == 3)
    await storage.close()
  }

  @Test("a wish for an index that is there already changes nothing")
  func granted() async throws {
    let commits = CommitCount()
    let fixture = try StorageFixture(injecting: commits.note)
    try await Self.fill(fixture, fields: ["a"])
    try await Self.ask("a", of: fixture.storage)
    let (before, state) = (commits.value, await fixture.storage.indexState)
    // As two queries ask that have run at the same time.
    fixture.storage.wish(for: [try Self.index("a")])
    try await waitUntil { fixture.storage.indexDemand.withLock { $0.pendingCount } == 0 }
    #expect(commits.value == before)
    #expect(await fixture.storage.indexState == state)
    await fixture.storage.close()
  }

  @Test("an automatic index that is unused for a day goes, over restarts; one in use and declared ones stay")
  func idle() async throws {
    try await withTemporaryFolder { folder in
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      let location = Database.Location.file(path: "\(folder)/data")
      let clock = ManualClock()
      let fixture = try StorageFixture(location: location, clock: clock)
      try await Self.fill(fixture, fields: ["a", "b", "c", "declared"])
      await fixture.storage.declare([try Self.index("declared")])
      for name in ["a", "b", "c"] { try await Self.ask(name, of: fixture.storage) }
      clock.advance(seconds: 20 * 3_600)
      for name in ["a", "b"] { try await Self.ask(name, of: fixture.storage) }
      await fixture.storage.trimHistory()
      #expect(try await fixture.storage.automaticNames() == ["a", "b", "c"])
      clock.advance(seconds: 5 * 3_600)
      await fixture.storage.trimHistory()
      #expect(try await fixture.storage.automaticNames() == ["a", "b"])
      try await waitUntil { try await fixture.storage.isAtRest() }

      // Looking again changes nothing.
      let state = await fixture.storage.indexState
      clock.advance(seconds: 3_600)
      await fixture.storage.trimHistory()
      #expect(await fixture.storage.indexState == state)
      try await Self.ask("b", of: fixture.storage)
      await fixture.storage.close()

      clock.advance(seconds: 20 * 3_600)
      let reopened = try StorageFixture(location: location, clock: clock)
      await reopened.storage.trimHistory()
      #expect(try await reopened.storage.automaticNames() == ["a", "b"], "no query could use one yet")
      clock.advance(seconds: 3_600)
      await reopened.storage.trimHistory()
      #expect(try await reopened.storage.automaticNames() == ["b"])
      #expect(try await reopened.storage.declaredNames() == ["declared"])
      #expect(try await reopened.storage.run(Self.query("b"), at: nil).execution?.plan == .index)
      await reopened.storage.close()
    }
  }

  @Test("the use of an index is no write, and to save it changes nothing that readers know of the definitions")
  func cheapUses() async throws {
    let commits = CommitCount()
    let fixture = try StorageFixture(injecting: commits.note)
    try await Self.fill(fixture, fields: ["a"])
    try await Self.ask("a", of: fixture.storage)
    await fixture.storage.trimHistory()
    let (before, state) = (commits.value, await fixture.storage.indexState)
    for _ in 0..<10 {
      fixture.clock.advance(seconds: 300)
      _ = try await fixture.storage.run(Self.query("a"), at: nil)
    }
    #expect(commits.value == before)
    fixture.clock.advance(seconds: 3_600)
    _ = try await fixture.storage.run(Self.query("a"), at: nil)
    await fixture.storage.tendIndexes()
    #expect(commits.value == before + 1)
    await fixture.storage.tendIndexes()
    #expect(commits.value == before + 1)
    #expect(await fixture.storage.indexState == state)
    await fixture.storage.close()
  }
}

extension EmbeddedStorage {
  fileprivate func automaticNames() throws -> Set<String> {
    Set(try store.indexes.automaticIndexes().flatMap { $0.definition.fields.map(\.path.canonicalString) })
  }

  fileprivate func declaredNames() throws -> Set<String> {
    Set(try store.indexes.declaredDefinitions().flatMap { $0.fields.map(\.path.canonicalString) })
  }

  fileprivate func isAtRest() throws -> Bool { try !isFilling && !store.indexes.hasWork() }
}
