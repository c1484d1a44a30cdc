import HearthModel
import HearthStore
import Testing

@testable import HearthCache

/// The conflicts that were resolved, as the cache keeps them for the application.
@Suite("Resolved conflicts in the cache")
struct ResolvedConflictTableTests {
  private func report(_ name: String = "a") -> ConflictReport {
    ConflictReport(
      key: key("rooms/\(name)"), ending: .merged,
      fields: [
        ConflictReport.Field(
          path: field("x.y"), base: nil, local: .integer(2), remote: .array([.double(3), .null]), kept: .local)
      ])
  }

  /// Writes a document and resolves a conflict of the write.
  private func resolve(
    _ cache: TestCache, _ reports: [ConflictReport], _ number: UInt64 = 1, at seconds: Int64 = 10
  ) throws -> BatchIdentity {
    let identity = BatchIdentity(high: 7, low: number)
    let write = LocalWrite(
      mutations: [.set(key("rooms/a"), ["n": .integer(1)])], localWriteTime: time(1), identity: identity,
      keepsOutcome: true)
    let batch = try #require(try cache.store.write(many: [write]).first).batch
    let outcome = LocalStore.ConflictOutcome(
      mutations: batch.mutations, remote: [:], bases: LocalStore.BatchBases(bases: [:]), reports: reports)
    _ = try cache.store.resolveConflict(batch, outcome, of: .activeUser, at: time(seconds))
    return identity
  }

  @Test("are kept with all they say, over a restart, and with the outcome of their write", arguments: Backing.allCases)
  func kept(_ backing: Backing) throws {
    let cache = try TestCache(backing)
    #expect(try cache.store.outbox.resolvedConflicts(of: nil) == [])
    let reports = [
      report(), ConflictReport(key: key("rooms/b"), ending: .both(copy: key("rooms/b~1"))),
      ConflictReport(key: key("rooms/c"), ending: .remote, isDeletedLocally: true),
      ConflictReport(key: key("rooms/d"), ending: .local, isDeletedRemotely: true),
    ]
    let identity = try resolve(cache, reports)
    try cache.restart()
    let expected = reports.enumerated().map { index, report in
      KeptConflict(
        id: KeptConflict.ID(identity: identity, number: Int64(index)), batchID: 1, resolvedAt: time(10), report: report)
    }
    #expect(try cache.store.outbox.resolvedConflicts(of: nil) == expected)
    try cache.store.acknowledgeNext(at: 20)
    guard case .ended(.committed(_, _, let conflicts)) = try cache.store.outbox.fate(of: identity) else {
      Issue.record("the write has no outcome")
      return
    }
    #expect(conflicts == expected)
    #expect(try CacheInvariants.violations(in: cache.store) == [])
  }

  @Test("of another user are not shown, and not removed with those of the present one")
  func users() throws {
    let cache = try TestCache(.memory)
    _ = try resolve(cache, [report()])
    _ = try cache.store.changeUser("ann")
    _ = try resolve(cache, [report("b")], 2)
    #expect(try cache.store.outbox.resolvedConflicts(of: "ann").map(\.report) == [report("b")])
    try cache.store.discardResolvedConflicts(nil, of: "ann")
    #expect(try cache.store.outbox.resolvedConflicts(of: "ann") == [])
    #expect(try cache.store.outbox.resolvedConflicts(of: nil).map(\.report) == [report()])
  }

  @Test("are forgotten one by one, and forgetting one that is not there is no error")
  func discarded() throws {
    let cache = try TestCache(.memory)
    let identity = try resolve(cache, [report(), report("b")])
    try cache.store.discardResolvedConflicts([.init(identity: identity, number: 0)], of: nil)
    #expect(try cache.store.outbox.resolvedConflicts(of: nil).map(\.report) == [report("b")])
    try cache.store.discardResolvedConflicts([.init(identity: identity, number: 0)], of: nil)
    try TestCache(.memory).store.discardResolvedConflicts(nil, of: nil)
    #expect(try cache.store.outbox.resolvedConflicts(of: nil).count == 1)
  }

  @Test("go when they are too many or too old, the oldest first")
  func limits() throws {
    let cache = try TestCache(.memory)
    let limit = Int(ResolvedConflictTable.maximumCount)
    _ = try resolve(cache, (0..<limit).map { report("\($0)") }, 1, at: 1000)
    _ = try resolve(cache, [report("new")], 2, at: 1001)
    let kept = try cache.store.outbox.resolvedConflicts(of: nil)
    #expect(kept.count == limit)
    #expect(kept.first?.report == report("1") && kept.last?.report == report("new"))
    // The scale goes on by a day at most between two of them.
    for day in 1...31 {
      _ = try resolve(cache, [report("day \(day)")], UInt64(day + 2), at: 1001 + Int64(day) * 86_400)
    }
    let names = try cache.store.outbox.resolvedConflicts(of: nil).map(\.report.key.canonicalString)
    #expect(names.first == "rooms/day 1" && names.count == 31)
  }

  @Test(
    "that cannot be read are removed by a repair, and the others stay",
    arguments: [
      ("conflict", "x'FF'"), ("conflict", "'text'"), ("conflict", "x''"), ("ordinal", "9223372036854775807"),
      ("ordinal", "-1"), ("conflict_id", "9223372036854775807"), ("conflict_id", "-5"),
    ])
  func damaged(column: String, value: String) throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    _ = try resolve(cache, [report(), report("b")])
    try cache.database.execute("UPDATE cache_resolved_conflicts SET \(column) = \(value) WHERE ordinal = 0")
    #expect(try CacheInvariants.violations(in: cache.store).contains { "\($0)".contains("cache_resolved_conflicts") })
    // The first reading finds the damage, and the rows are repaired.
    _ = try? cache.store.outbox.resolvedConflicts(of: nil)
    #expect(try cache.store.outbox.resolvedConflicts(of: nil).map(\.report) == [report("b")])
    _ = try resolve(cache, [report("c")], 2)
    #expect(try cache.store.outbox.resolvedConflicts(of: nil).map(\.report) == [report("b"), report("c")])
    #expect(cache.store.reopening == nil)
  }

  @Test("are stored next to one whose number is damaged", arguments: ["9223372036854775807", "-1", "1.5"])
  func damagedBefore(value: String) throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    _ = try resolve(cache, [report()])
    // A former conflict of the write whose next one is stored.
    try cache.database.execute(
      "UPDATE cache_resolved_conflicts SET ordinal = \(value), number = 2, identity = x'00000000000000070000000000000002'"
    )
    _ = try resolve(cache, [report("b")], 2)
    _ = try? cache.store.outbox.resolvedConflicts(of: nil)
    #expect(try cache.store.outbox.resolvedConflicts(of: nil).map(\.report) == [report("b")])
  }

  @Test("have the file opened anew if their table is gone, and are not missed before")
  func missingTable() throws {
    let cache = try TestCache(.file)
    defer { cache.close() }
    _ = try resolve(cache, [report()])
    try cache.database.execute("DROP TABLE cache_resolved_conflicts")
    #expect(try cache.store.outbox.resolvedConflicts(of: nil) == [])
    #expect(throws: (any Error).self) { _ = try resolve(cache, [report()], 2) }
    #expect(cache.store.reopening != nil)
  }

  @Test("stand in a table that only a cache with a conflict has, and that an inspection accepts")
  func table() throws {
    let cache = try TestCache(.file)
    func hasTable() throws -> Bool {
      try cache.database.firstRow("SELECT 1 FROM sqlite_master WHERE name = 'cache_resolved_conflicts'") { _ in true }
        ?? false
    }
    #expect(try !hasTable())
    _ = try resolve(cache, [report()])
    #expect(try hasTable())
    cache.close()
    let check = try CacheCheck.run(folder: cache.folder.path)
    #expect(check.isSound, "\(check.problems)")
  }
}
