import TestSupport
import Testing

@testable import HearthModel

@Suite("Totals of aggregations")
struct AggregationTotalsTests {
  private let aggregations: [Aggregation]

  init() throws {
    let path = try FieldPath(["n"])
    aggregations = [
      Aggregation(alias: "count", operation: .count(upTo: nil)), Aggregation(alias: "sum", operation: .sum(path)),
      Aggregation(alias: "average", operation: .average(path)),
    ]
  }

  private func document(_ value: Value?) throws -> Document {
    let key = try DocumentKey(ResourcePath(["c", "d"]))
    let fields = EncodedFields(value.map { ["n": $0] } ?? [:])
    return .found(key, version: SnapshotVersion(microseconds: 1), fields: fields)
  }

  private func totals(_ values: [Value?]) throws -> AggregationTotals {
    try AggregationTotals(aggregations, over: values.map(document))
  }

  private func value(_ generator: inout SeededGenerator) -> Value? {
    switch generator.below(20) {
    case 0: .double(.nan)
    case 1: .double(.infinity)
    case 2: .double(-.infinity)
    case 3: .integer(.max)
    case 4: .integer(.min)
    case 5: .string("many")
    case 6: nil
    case 7: .double(1e308)
    case 8...12: .double(Double(generator.below(1_000)) / 10)
    default: .integer(Int64(generator.below(1_000)))
    }
  }

  @Test("are those of the documents that are left, bit by bit", arguments: SeededGenerator.seeds(20))
  func removal(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var present: [Value?] = []
    var live = AggregationTotals(aggregations)
    for _ in 0..<200 {
      if generator.chance(45), !present.isEmpty {
        try live.remove(document(present.remove(at: generator.below(present.count))))
      } else {
        present.append(value(&generator))
        try live.add(document(present.last ?? nil))
      }
      let expected = try totals(present.shuffled(using: &generator))
      #expect(live.values == expected.values && live.documentCount == present.count, "seed \(seed)")
    }
  }

  @Test("adjust a result that was computed elsewhere", arguments: SeededGenerator.seeds(40))
  func adjusted(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let usesDoubles = seed % 2 == 0
    func number() -> Value? {
      if generator.chance(10) { return nil }
      return usesDoubles ? .double(Double(generator.below(100)) / 8) : .integer(Int64(generator.below(100)))
    }
    let kept = (0..<30).map { _ in number() }
    let removed = (0..<generator.below(5)).map { _ in number() }
    let added = (0..<generator.below(5)).map { _ in number() }
    let adjusted = try AggregationTotals.adjust(
      totals(kept + removed).values, removing: totals(removed), adding: totals(added))
    #expect(try adjusted == totals(kept + added).values, "seed \(seed)")
  }

  @Test("are not adjusted where the values do not say enough")
  func notAdjustable() throws {
    func adjust(_ values: [Value?], removing removed: [Value?], adding added: [Value?]) throws -> [String: Value]? {
      try AggregationTotals.adjust(totals(values).values, removing: totals(removed), adding: totals(added))
    }
    #expect(try adjust([.double(1e300), .double(1)], removing: [.double(1e300)], adding: []) == nil)
    #expect(try adjust([.double(.nan), .double(1)], removing: [.double(.nan)], adding: []) == nil)
    #expect(try adjust([.integer(.max), .integer(2)], removing: [.integer(2)], adding: []) == nil)
    #expect(
      try adjust([.integer(1), .integer(-1)], removing: [], adding: [.integer(1)]) == nil, "how many were there?")
    // A count that does not change is known.
    let same = try adjust([.double(.nan), .integer(3)], removing: [.integer(3)], adding: [.integer(3)])
    #expect(try same == totals([.double(.nan), .integer(3)]).values)
    #expect(try adjust([.integer(3)], removing: [.integer(3)], adding: []) == totals([]).values)
    #expect(
      try adjust([], removing: [], adding: [.integer(.max), .integer(1)])
        == totals([.integer(.max), .integer(1)]).values)
  }

  @Test(
    "a count that no number of documents can have is not adjusted",
    arguments: [(Int64.max, 0, 1), (.min, 1, 0), (0, 1, 1), (-1, 0, 1)])
  func impossibleCount(_ count: Int64, removed: Int, added: Int) throws {
    let counting = [Aggregation(alias: "n", operation: .count(upTo: nil))]
    func totals(_ count: Int) throws -> AggregationTotals {
      try AggregationTotals(counting, over: (0..<count).map { _ in try document(.integer(1)) })
    }
    let adjusted = AggregationTotals.adjust(
      ["n": .integer(count)], removing: try totals(removed), adding: try totals(added))
    #expect(adjusted == nil)
  }

  @Test("an average is asked for with its sum, as long as a request has room")
  func adjustable() throws {
    let path = try FieldPath(["n"])
    let average = Aggregation(alias: "a", operation: .average(path))
    #expect(AggregationTotals.adjustable([average])?.map(\.operation) == [.average(path), .sum(path)])
    #expect(AggregationTotals.adjustable(aggregations) == aggregations)
    let three = try (1...3).map { Aggregation(alias: "\($0)", operation: .average(try FieldPath(["f\($0)"]))) }
    #expect(AggregationTotals.adjustable(three) == nil)
  }
}
