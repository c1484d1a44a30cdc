import Foundation
import HearthModel
import HearthPlan
import HearthStore
import TestSupport
import Testing

@testable import HearthServer

/// The documents and their order are those of the plain evaluation, for every plan that the server chooses for a query, at the present or
/// in the past, whole or piece by piece.
///
/// `HEARTH_TEST_SEED` repeats one history, and `HEARTH_TEST_HISTORIES` makes a run longer.
// Each group computes for minutes; the limit is for what hangs, however slow the machine is.
@Suite("Generated queries of the server", .timeLimit(.minutes(30)))
struct ServerQueryDifferentialTests {
  private static let historiesPerGroup =
    UInt64(ProcessInfo.processInfo.environment["HEARTH_TEST_HISTORIES"] ?? "") ?? 31
  private static let queriesPerCheckpoint = 40

  @Test(
    "index, scan, walk along the keys, pieces and the past agree with the plain evaluation",
    arguments: 0..<3 as Range<UInt64>)
  func agreement(group: UInt64) async throws {
    let asked = SeededGenerator.askedSeed
    let first = group * Self.historiesPerGroup + 1
    let seeds = asked.map { group == 0 ? [$0] : [] } ?? Array(first..<first + Self.historiesPerGroup)
    var ways = QueryWays()
    for seed in seeds {
      try await withTemporaryFolder { folder in
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let location: Database.Location = seed % 3 == 0 ? .file(path: "\(folder)/data") : .memory
        // The keys of few documents, or of all.
        let budget = SortBudget(maximumBytes: seed % 4 == 0 ? 4_000 : 1 << 20)
        let fixture = try StorageFixture(location: location, fillsIndexes: false, sortBudget: budget)
        try await Self.play(seed, fixture, &ways)
        // The last cursor goes when its reader lets go of it.
        try await waitUntil { budget.usedBytes == 0 }
        await fixture.storage.close()
      }
    }
    guard asked == nil, Self.historiesPerGroup >= 31 else { return }
    let least = [
      "pairs": 4_000, "found": 1_300, "index": 800, "scan": 800, "keys": 150, "merged": 50, "several ranges": 300,
      "past": 2_700, "pieces": 300, "totals": 6_700,
      "sorted by keys": 120, "sorted in the past": 60, "exhausted": 4, "index of a group": 400,
    ]
    let rare = least.filter { ways.counts[$0.key, default: 0] < $0.value }
    #expect(rare.isEmpty, "\(ways.counts)")
  }

  private static func play(_ seed: UInt64, _ fixture: StorageFixture, _ ways: inout QueryWays) async throws {
    var generator = CaseGenerator(seed: seed)
    var present: [DocumentKey: MapValue] = [:]
    var past: (version: SnapshotVersion, documents: [NaiveDocument])?
    func documents() -> [NaiveDocument] {
      present.map { NaiveDocument(key: $0.key, fields: $0.value) }.sorted { $0.key < $1.key }
    }
    for _ in 0..<3 {
      // Many documents with few values, which some ranges share.
      for number in 0..<30 {
        let key = DocumentKey.numbered(number)
        let fields: MapValue = [
          "a": generator.below(2).value, "b": generator.below(2).value, "t": .array([generator.below(3).value]),
        ]
        try await fixture.commit(.set(key, fields))
        present[key] = fields
      }
      try await changeGroup(&generator, fixture, &present)
      for _ in 0..<40 {
        let key = generator.key()
        if generator.chance(85) {
          let fields = generator.fields()
          try await fixture.commit(.set(key, fields))
          present[key] = fields
        } else {
          try await fixture.commit(.delete(key))
          present[key] = nil
        }
      }
      let known = documents()
      var queries = (0..<queriesPerCheckpoint).map { _ in asked(generator.query(documents: known)) }
      for _ in 0..<4 { queries.append(narrow(&generator)) }
      for _ in 0..<6 {
        var query = asked(generator.query(documents: known))
        (query.path, query.collectionGroup) = (ResourcePath(), "s")
        queries.append(query)
      }
      try await declareSome(queries, fixture, &generator)
      let old = past
      for query in queries {
        let place: Comment = "HEARTH_TEST_SEED=\(seed), query \(CaseText.text(query))"
        let bytes = generator.element([1, 200, 500, 2_000])
        try await compare(query, at: nil, known, fixture, &ways, place)
        guard let old else { continue }
        try await compare(query, at: old.version, old.documents, fixture, &ways, place)
        switch generator.below(4) {
        case 0: try await compareSmallPieces(of: bytes, query, at: nil, known, fixture, &ways, place)
        case 1: try await compareSmallPieces(of: bytes, query, at: old.version, old.documents, fixture, &ways, place)
        default: break
        }
      }
      past = (try fixture.storage.currentVersion(), known)
    }
  }

  /// Changes documents of many collections with one id, and takes some of these out.
  private static func changeGroup(
    _ generator: inout CaseGenerator, _ fixture: StorageFixture, _ present: inout [DocumentKey: MapValue]
  ) async throws {
    for _ in 0..<25 {
      let collection = path("w/\(generator.below(30))/s")
      if generator.chance(20) {
        let keys = present.keys.filter { $0.collectionPath == collection }.sorted()
        _ = try await fixture.storage.commit(CommitRequest(mutations: keys.map { .delete($0) }))
        for key in keys { present[key] = nil }
      } else {
        let key = key("\(collection.canonicalString)/x\(generator.below(2))")
        let fields = generator.fields()
        try await fixture.commit(.set(key, fields))
        present[key] = fields
      }
    }
  }

  /// A query whose conditions several indexes serve, each a part.
  private static func narrow(_ generator: inout CaseGenerator) -> Query {
    var query = Query(path: path("c"))
    query = query.with(filter: .field(field("a"), .equal, generator.below(2).value))
    query = query.with(filter: .field(field("b"), .equal, generator.below(2).value))
    if generator.chance(50) {
      query = query.with(filter: .field(field("t"), .arrayContains, generator.below(3).value))
    }
    return query
  }

  /// A query as the server gets it: a limit to the last documents is one of the reversed order.
  private static func asked(_ query: Query) -> Query {
    var query = query
    query.limitType = .first
    return query
  }

  private static func declareSome(
    _ queries: [Query], _ fixture: StorageFixture, _ generator: inout CaseGenerator
  ) async throws {
    if generator.chance(20) { return }
    var wanted: Set<IndexDefinition> = []
    for _ in 0..<3 + generator.below(10) {
      let query = generator.element(queries)
      if generator.chance(40) {
        wanted.formUnion(try await fixture.storage.missingIndexes(for: query))
      } else {
        // Indexes of single fields, which are merged.
        let filters = query.filters.flatMap(\.flattened).filter { !$0.path.isDocumentKey }
        for filter in filters.prefix(3) {
          let kind: IndexDefinition.Kind = filter.op == .arrayContains ? .contains : .ascending
          let group = query.collectionGroup ?? query.path.last ?? ""
          let isOfGroup = query.collectionGroup != nil && generator.chance(60)
          wanted.insert(
            try IndexDefinition(
              collectionGroup: group, scope: isOfGroup ? .collectionGroup : .collection,
              fields: [.init(path: filter.path, kind: kind)]))
        }
      }
    }
    await fixture.storage.declare(Array(wanted))
    let isPartial = generator.chance(30)
    let limits = IndexTable.FillLimits(documents: isPartial ? 1 + generator.below(20) : 1_000)
    for _ in 0..<(isPartial ? 1 + generator.below(4) : 60) {
      if await !fixture.storage.fillIndexes(limits) { break }
    }
  }

  private static func compare(
    _ query: Query, at version: SnapshotVersion?, _ documents: [NaiveDocument], _ fixture: StorageFixture,
    _ ways: inout QueryWays, _ place: Comment
  ) async throws {
    let expected = NaiveQuery(query).answer(documents)
    ways.note(version == nil ? "pairs" : "past")
    if !expected.isEmpty { ways.note("found") }
    let answer = try await fixture.storage.run(query, at: version)
    ways.note(answer.execution)
    #expect(answer.documents.map(\.key) == expected, place)

    let count = Aggregation(alias: "count", operation: .count(upTo: nil))
    let totals = try await fixture.storage.aggregate([count], over: query, skipping: 0, at: version).totals
    ways.note("totals")
    #expect(totals.documentCount == expected.count, place)

    let sums = [count, Aggregation(alias: "sum", operation: .sum(field("a")))]
    let skipped = 1 + expected.count / 3
    let rest = try await fixture.storage.aggregate(sums, over: query, skipping: skipped, at: version).totals
    let all =
      query.limit == nil
      ? answer.documents : try await fixture.storage.run(query.widened(by: skipped), at: version).documents
    #expect(rest.values == (try AggregationTotals(sums, over: all.dropFirst(skipped)).values), place)

    let pieces = try await fixture.pieces(of: query, at: version, firstCount: 2)
    for _ in pieces.dropFirst() { ways.note("pieces") }
    #expect(pieces.flatMap(\.documents).map(\.key) == expected, place)
  }

  /// Compares pieces of so few bytes that results without an order of their own are sorted by their keys.
  private static func compareSmallPieces(
    of bytes: Int, _ query: Query, at version: SnapshotVersion?, _ documents: [NaiveDocument],
    _ fixture: StorageFixture, _ ways: inout QueryWays, _ place: Comment
  ) async throws {
    do {
      let pieces = try await fixture.pieces(of: query, at: version, firstCount: 2, bytes: bytes, keptBytes: bytes)
      pieces.first.map { ways.note($0.execution) }
      if version != nil, pieces.first?.execution?.isSortedByKeys == true { ways.note("sorted in the past") }
      #expect(pieces.flatMap(\.documents).map(\.key) == NaiveQuery(query).answer(documents), place)
    } catch let error as StatusError {
      ways.note("exhausted")
      #expect(error.code == .resourceExhausted && error.message.contains("--max-sort-bytes"), place)
    }
  }
}

extension DocumentKey {
  fileprivate static func numbered(_ number: Int) -> DocumentKey { key("c/n\(number)") }
}

extension EmbeddedStorage {
  /// The indexes that a query would have, had its scan been expensive.
  fileprivate func missingIndexes(for query: Query) throws -> [IndexDefinition] {
    try reader.queries.missingIndexes(for: query)
  }
}

extension Int {
  fileprivate var value: Value { .integer(Int64(self)) }
}
