import HearthModel
import HearthStore
import Synchronization
import TestSupport
import Testing

@testable import HearthServer

extension EmbeddedStorage {
  /// The verdict of the writer.
  fileprivate func verdict(of check: ReadCheck, effort: ReadCheck.Effort) throws -> ReadCheck.Verdict {
    let start = published.withLock { $0.logStart }
    var effort = effort
    return try check.check(reader.changes, logStart: start, effort: &effort)
  }

  /// Checks outside the writer, piece by piece.
  fileprivate nonisolated func checked(
    _ check: ReadCheck, effort: ReadCheck.Effort
  ) async throws -> (verdict: ReadCheck.Verdict, check: ReadCheck, pieces: Int) {
    var (verdict, rest, pieces) = (ReadCheck.Verdict.unfinished, check, 0)
    while verdict == .unfinished {
      pieces += 1
      (verdict, rest) = try await reading("check") { [rest] snapshot in
        var check = rest
        return (try check.checkPiece(in: snapshot, effort: effort), check)
      }
    }
    return (verdict, rest, pieces)
  }
}

@Suite("The reads of optimistic transactions", .timeLimit(.minutes(5)))
struct ReadCheckTests {
  @Test("they are refused for the same changes in the writer and outside it, in pieces of any size", arguments: 1...60)
  func agreement(number: Int) async throws {
    let seed = SeededGenerator.askedSeed ?? UInt64(number)
    var generator = CaseGenerator(seed: seed, audience: .backend, database: ServerFixture.database)
    let fixture = try StorageFixture()
    let keys = (0..<12).map { key("c/d\($0)") } + (0..<4).map { key("c/x/s/d\($0)") }
    func write(_ count: Int) async throws {
      for _ in 0..<count {
        let key = generator.element(keys)
        try await fixture.commit(generator.chance(70) ? .set(key, generator.fields()) : .delete(key))
      }
    }
    try await write(20)
    var conflicts = 0
    for _ in 0..<8 {
      var reads = TransactionReads(version: try fixture.storage.currentVersion())
      for _ in 0..<generator.below(3) { reads.keys.insert(generator.element(keys)) }
      for _ in 0..<generator.below(3) { reads.queries.append(generator.query(documents: [])) }
      let before = try await fixture.storage.documents(for: keys, at: reads.version).documents
      try await write(generator.below(4))
      let after = try await fixture.storage.documents(for: keys, at: nil).documents
      let isConflict = zip(before, after).contains { before, after in
        // Deleted and set again, a document has another version too.
        guard before.isFound || after.isFound, before.isFound != after.isFound || before.version != after.version
        else { return false }
        return reads.keys.contains(after.key)
          || reads.queries.contains { query in
            query.documentKey == after.key || query.matches(before) || query.matches(after)
          }
      }
      let passing = try await Self.hasPassed(reads, fixture)
      let expected: ReadCheck.Verdict = isConflict || passing ? .conflict : .holds
      conflicts += expected == .conflict ? 1 : 0
      for maximumLookups in [0, 256] {
        let check = ReadCheck(reads, maximumLookups: maximumLookups)
        #expect(try await fixture.storage.verdict(of: check, effort: 1_000) == expected, "HEARTH_TEST_SEED=\(seed)")
        for effort in [1, 3, 1_000] {
          let beside = try await fixture.storage.checked(check, effort: effort)
          #expect(beside.verdict == expected, "HEARTH_TEST_SEED=\(seed)")
          guard beside.verdict == .holds else { continue }
          // The rest is the writer's part.
          #expect(try await fixture.storage.verdict(of: beside.check, effort: 1_000) == .holds)
        }
      }
      let commit = CommitRequest(mutations: [.set(key("other/d"), [:])])
      let isRefused = await Self.isAborted { try await fixture.storage.commit(commit, ending: .init(reads: reads)) }
      #expect(isRefused == (expected == .conflict), "HEARTH_TEST_SEED=\(seed)")
    }
    #expect(conflicts < 8 || seed != 1, "a test in which everything conflicts shows nothing")
  }

  /// Returns true if a document that was read is missing now as it was then, but was there in between: that is a change too.
  private static func hasPassed(_ reads: TransactionReads, _ fixture: StorageFixture) async throws -> Bool {
    for key in reads.keys.union(reads.queries.compactMap(\.documentKey)) {
      let history = try await fixture.storage.reading("history") { snapshot in
        try snapshot.reader.changes.hasChanged(key, after: reads.version)
      }
      if history { return true }
    }
    return false
  }

  @Test("a change between the check outside the writer and the commit is found, and others do not matter")
  func later() async throws {
    let fixture = try StorageFixture()
    for n in 0..<10 { try await fixture.set("c/d\(n)", ["n": n.value]) }
    var reads = TransactionReads(version: try fixture.storage.currentVersion())
    reads.queries = [Query(path: path("c")).with(filter: .field(field("n"), .greaterThan, 5.value))]
    reads.keys = [key("c/d0")]
    try await fixture.set("c/d1", ["n": 2.value])
    let check = try await fixture.storage.checked(ReadCheck(reads), effort: 1).check
    #expect(check.through == fixture.storage.feed.latestVersion)
    for lookups in [0, 256] {
      let fresh = ReadCheck(reads, maximumLookups: lookups)
      #expect(try await fixture.storage.verdict(of: fresh, effort: 1_000) == .holds)
    }
    try await fixture.set("c/d2", ["n": 3.value])
    #expect(try await fixture.storage.verdict(of: check, effort: 1_000) == .holds)
    try await fixture.set("c/d1", ["n": 6.value])
    #expect(try await fixture.storage.verdict(of: check, effort: 1_000) == .conflict)
    #expect(try await fixture.storage.checked(check, effort: 1).verdict == .conflict)
  }

  @Test(
    "however much was written since its snapshot, a commit looks at little of it in the writer", .timeLimit(.minutes(2))
  )
  func effort() async throws {
    try await withTemporaryFolder { folder in
      let steps = Mutex(0)
      // Only the writer's connection counts: readers of a file have their own.
      let fixture = try StorageFixture(
        location: .file(path: folder + ".sqlite"),
        injecting: { point in
          if case .statement = point { steps.withLock { $0 += 1 } }
          return nil
        })
      func overwrite(_ value: Int) async throws {
        for first in stride(from: 0, to: 5_000, by: 500) {
          _ = try await fixture.storage.commit(
            CommitRequest(mutations: (first..<first + 500).map { .set(key("c/d\($0)"), ["n": value.value]) }))
        }
      }
      try await overwrite(1)
      var reads = TransactionReads(version: try fixture.storage.currentVersion())
      reads.queries = (0..<3).map { n in
        Query(path: path("c")).with(filter: .field(field("n"), .equal, (1_000 + n).value))
      }
      reads.keys = Set((0..<2_000).map { key("other/d\($0)") })
      try await overwrite(2)
      steps.withLock { $0 = 0 }
      _ = try await fixture.storage.commit(
        CommitRequest(mutations: [.set(key("x/y"), [:])]), ending: .init(reads: reads))
      let taken = steps.withLock { $0 }
      #expect(taken < 3_000, "\(taken) steps in the writer")
      // A transaction that must be refused is refused outside the writer too.
      reads.queries.append(Query(path: path("c")).with(filter: .field(field("n"), .equal, 1.value)))
      let refused = CommitRequest(mutations: [.set(key("x/z"), [:])])
      let last = reads
      #expect(await Self.isAborted { try await fixture.storage.commit(refused, ending: .init(reads: last)) })
      await fixture.storage.close()
    }
  }

  private static func isAborted(_ body: () async throws -> CommitOutcome) async -> Bool {
    do {
      _ = try await body()
      return false
    } catch {
      return (error as? StatusError)?.code == .aborted
    }
  }
}
