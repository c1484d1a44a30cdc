import Foundation
import HearthModel
import HearthStore
import TestSupport
import Testing

@testable import HearthCache

/// The documents of a query and their order are those of the plain evaluation, in whichever way the query is answered.
///
/// A failure prints the smallest case that was found. `HEARTH_TEST_SEED` repeats its history, and with
/// `HEARTH_TEST_CASE` only the query of that number is asked. `HEARTH_TEST_HISTORIES` makes a run longer.
@Suite("Generated queries of the cache")
struct QueryDifferentialTests {
  private static let groups: UInt64 = 4
  private static let historiesPerGroup: UInt64 = environment("HEARTH_TEST_HISTORIES") ?? 25
  private static let checkpoints = 4
  private static let queriesPerCheckpoint = 50

  private static func environment<Number: LosslessStringConvertible>(_ name: String) -> Number? {
    ProcessInfo.processInfo.environment[name].flatMap(Number.init)
  }

  struct Outcome: Sendable {
    var ways = Ways()
    var failures: [String] = []
  }

  @Test("all ways of answering agree, whatever has happened to the cache", arguments: 0..<groups)
  func agreement(group: UInt64) async {
    let first = group * Self.historiesPerGroup + 1
    let asked = SeededGenerator.askedSeed
    let seeds = asked.map { group == 0 ? [$0] : [] } ?? Array(first..<first + Self.historiesPerGroup)
    let outcome = await HeavyWork.run {
      var outcome = Outcome()
      for seed in seeds where outcome.failures.isEmpty {
        let history = Self.run(seed: seed)
        outcome.ways = outcome.ways + history.ways
        outcome.failures += history.failures
      }
      return outcome
    }
    for failure in outcome.failures { Issue.record("\(failure)") }
    guard asked == nil, outcome.failures.isEmpty, Self.historiesPerGroup >= 25 else { return }
    #expect(outcome.ways.pairs >= 5_000)
    #expect(outcome.ways.found > 1_500, "hardly any query finds something")
    let rare = Self.leastCounts.filter { outcome.ways.counts[$0.key, default: 0] < $0.value }
    #expect(rare.isEmpty, "\(outcome.ways.counts)")
  }

  /// The minimum count of each way in a group, so that agreement means something.
  private static let leastCounts = [
    "scan": 1_500, "index": 900, "previous result": 200, "previous result, forced": 300, "document": 50, "keys": 50,
    "several accesses": 200, "ordered index": 200, "array membership": 50, "composite index": 200,
    "cursor in an index": 50, "parts": 500, "in the background": 50, "index of a group": 50,
  ]

  @Test("all ways of answering agree on a collection that is too large for some indexes")
  func largeCollection() async {
    let outcome = await HeavyWork.run { Self.run(seed: SeededGenerator.askedSeed ?? 7_003, largeCollection: 2_500) }
    for failure in outcome.failures { Issue.record("\(failure)") }
    guard SeededGenerator.askedSeed == nil, outcome.failures.isEmpty else { return }
    #expect(outcome.ways.counts["indexes given up", default: 0] >= 3, "\(outcome.ways.counts)")
    #expect(outcome.ways.counts["index", default: 0] >= 15, "\(outcome.ways.counts)")
  }

  /// Plays one history and asks queries at several points of it, until one fails.
  ///
  /// - Parameter largeCollection: The number of further documents in one of the collections.
  private static func run(seed: UInt64, largeCollection: Int = 0) -> Outcome {
    let askedCase: Int? = environment("HEARTH_TEST_CASE")
    var generator = CaseGenerator(seed: seed)
    var outcome = Outcome()
    // The way of the disk is the same; a file is closed and opened again for real.
    let backing: Backing = seed % 5 == 0 ? .file : .memory
    var steps: [CacheStep] = []
    var listened: [Query] = []
    var number = 0
    func failure(_ query: Query) -> String {
      let original = QueryCase(backing: backing, steps: steps, query: query)
      return "HEARTH_TEST_SEED=\(seed) HEARTH_TEST_CASE=\(number)\n\(original.minimalText())"
    }
    do {
      let player = try CachePlayer(backing)
      defer { player.cache.close() }
      func play(_ step: CacheStep) throws {
        steps.append(step)
        if case .listen(let query) = step { listened.append(query) }
        try player.play(step)
      }
      // Many documents with the same fields, so that some ranges of indexes hold a large part of the collection.
      let common = largeCollection > 0 ? generator.fields() : [:]
      for start in stride(from: 0, to: largeCollection, by: 500) {
        let ids = start..<min(start + 500, largeCollection)
        try play(
          .receive(
            ids.map {
              .init(key: key("c/n\($0)"), fields: generator.chance(70) ? common : generator.fields(), age: 0)
            }))
      }
      for _ in 0..<4 { try play(.receive((0..<16).map { _ in generator.received() })) }
      let first = try QueryComparison(player).documents
      for _ in 0..<6 { try play(.listen(generator.query(documents: first))) }
      for _ in 0..<checkpoints {
        let known = try QueryComparison(player).documents
        for _ in 0..<15 { try play(generator.step(documents: known)) }
        try player.checkInvariants()
        let comparison = try QueryComparison(player)
        var queries = Array(listened.shuffled(using: &generator.numbers).prefix(queriesPerCheckpoint / 3))
        while queries.count < (largeCollection > 0 ? 30 : queriesPerCheckpoint) {
          queries.append(generator.query(documents: comparison.documents))
        }
        let missing = { try player.cache.store.executor().missingIndexes(for: $0) }
        for step in try generator.indexSteps(for: queries, missing: missing) { try play(step) }
        for query in queries {
          number += 1
          if let askedCase, number != askedCase { continue }
          if try comparison.difference(query, isThorough: number % 5 == 0, &outcome.ways) != nil {
            outcome.failures.append(failure(query))
            return outcome
          }
        }
      }
    } catch {
      outcome.failures.append(
        "seed \(seed), step \(steps.count): \(error)\n\(failure(Query(path: ResourcePath(["c"]))))")
    }
    return outcome
  }

  @Test("a failing case is made small and can be read")
  func minimization() throws {
    var generator = CaseGenerator(seed: 9)
    let steps =
      (0..<12).map { _ in generator.step(documents: []) } + [
        .receive([
          .init(key: key("c/a"), fields: ["a": 1, "b": ["x", "y"]], age: 0),
          .init(key: key("c/b"), fields: ["a": 2], age: 0),
        ])
      ]
    let query = Query(path: path("c")).with(
      filter: .and([.field(field("a"), .equal, 1), .field(field("b"), .notEqual, 2)])
    )
    .with(order: OrderBy(path: field("b"))).with(limit: 3)
    // As if the index of field a forgot 1.
    let minimal = minimized(QueryCase(backing: .memory, steps: steps, query: query), simpler: \.simpler) { candidate in
      let asksForA = candidate.query.filters.flatMap(\.flattened).contains { $0.path == field("a") && $0.op == .equal }
      let holdsOne = candidate.steps.contains { step in
        if case .receive(let documents) = step { documents.contains { $0.fields?["a"] == 1 } } else { false }
      }
      return asksForA && holdsOne
    }
    #expect(minimal.steps.map(\.description) == [#"receive "c/a" {"a": 1}"#])
    #expect(CaseText.text(minimal.query) == #"path "c" · where a == 1"#)
  }
}
