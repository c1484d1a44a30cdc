import HearthCache
import HearthModel
import TestSupport
import Testing

@testable import HearthSync

@Suite("Aggregations of a view")
struct LiveAggregationTests {
  private static let queries: [Query] = [
    collection("rooms"), collection("rooms").filtered("open", .equal, true),
    collection("rooms").ordered(by: "n", .descending).with(limit: 7),
    collection("rooms").ordered(by: "m").with(limit: 5, type: .last), collection("rooms").with(limit: 6),
  ]

  private let aggregations: [Aggregation]

  init() throws {
    aggregations = [
      Aggregation(alias: "count", operation: .count(upTo: nil)),
      Aggregation(alias: "sum", operation: .sum(try FieldPath(["n"]))),
      Aggregation(alias: "average", operation: .average(try FieldPath(["m"]))),
    ]
  }

  private func number(_ generator: inout SeededGenerator) -> Value {
    switch generator.below(12) {
    case 0: .double(.nan)
    case 1: .double(.infinity)
    case 2: .integer(.max)
    case 3: .string("none")
    case 4...7: .double(Double(generator.below(100)) / 10)
    default: .integer(Int64(generator.below(20)) - 10)
    }
  }

  private func document(_ generator: inout SeededGenerator, time: Int64) -> Document {
    let path = "rooms/r\(generator.below(25))"
    if generator.chance(20) { return missing(path, time) }
    var fields: MapValue = ["open": .boolean(generator.chance(60))]
    if generator.chance(85) { fields["n"] = number(&generator) }
    if generator.chance(85) { fields["m"] = number(&generator) }
    return generator.chance(20) ? locallyWritten(path, fields) : found(path, time, fields)
  }

  /// The documents of an aggregation's result, found by looking at all.
  private func result(of query: Query, in documents: DocumentMap) -> [Document] {
    let query = Aggregation.query(query, for: aggregations)
    let matching = documents.values.filter(query.matches).sorted { query.compare($0, $1) == .ascending }
    guard let limit = query.limit else { return matching }
    return query.limitType == .first ? Array(matching.prefix(limit)) : Array(matching.suffix(limit))
  }

  @Test("are those of its documents after every change", arguments: queries.indices, SeededGenerator.seeds(8))
  func changes(index: Int, seed: UInt64) throws {
    let query = Self.queries[index]
    var generator = SeededGenerator(seed: seed)
    var documents: DocumentMap = [:]
    var view = View(
      query: LiveAggregation.listened(query, for: aggregations), confirmedKeys: [], hasCachedResults: false)
    var live = LiveAggregation(aggregations, of: query, includesMetadataChanges: false)
    var shown: AggregateResult?
    for time in 1...150 {
      var changed: DocumentMap = [:]
      for _ in 0...generator.below(4) {
        let document = document(&generator, time: Int64(time))
        changed[document.key] = document
      }
      documents.merge(changed) { _, new in new }
      var changes = view.computeChanges(changed)
      // As the engine does: the cache is asked for what may come in.
      if changes.needsRefill { changes = view.computeChanges(documents, after: changes) }
      let snapshot = view.apply(changes).snapshot
      let expected = try AggregationTotals(aggregations, over: result(of: query, in: documents)).values
      if let snapshot, let news = try live.update(snapshot) {
        #expect(news.values != shown?.values, "a result that has not changed was reported")
        #expect(news.isFromCache == snapshot.isFromCache && news.hasPendingWrites == snapshot.hasPendingWrites)
        shown = news
      }
      #expect(shown?.values == expected, "seed \(seed), step \(time)")
    }
  }

  @Test("a change of metadata alone is reported if it was asked for")
  func metadata() throws {
    var view = View(query: collection("rooms"), confirmedKeys: [], hasCachedResults: false)
    var plain = LiveAggregation(aggregations, of: view.query, includesMetadataChanges: false)
    var withMetadata = LiveAggregation(aggregations, of: view.query, includesMetadataChanges: true)
    let local = locallyWritten("rooms/a", ["n": 1, "m": 2])
    let first = try #require(view.apply(view.computeChanges([local.key: local])).snapshot)
    #expect(try plain.update(first)?.hasPendingWrites == true)
    #expect(try withMetadata.update(first)?.isFromCache == true)

    let written = found("rooms/a", 2, ["n": 1, "m": 2])
    let current = TargetChange(isCurrent: true, added: [local.key])
    let second = try #require(
      view.apply(view.computeChanges([local.key: written]), targetChange: current).snapshot)
    #expect(try plain.update(second) == nil)
    let news = try withMetadata.update(second)
    #expect(news?.hasPendingWrites == false && news?.isFromCache == false)
    #expect(news?.values == ["count": 1, "sum": 1, "average": .double(2)])
  }

  @Test("fields that cannot be read are an error that names the document")
  func malformed() throws {
    let key = try DocumentKey(parsing: "rooms/a")
    let damaged = Document.found(
      key, version: SnapshotVersion(microseconds: 1), fields: EncodedFields(uncheckedBytes: [0x0A, 0xFF]))
    var view = View(query: collection("rooms"), confirmedKeys: [], hasCachedResults: false)
    let snapshot = try #require(view.apply(view.computeChanges([key: damaged])).snapshot)
    var live = LiveAggregation(aggregations, of: view.query, includesMetadataChanges: false)
    let error = #expect(throws: StatusError.self) { _ = try live.update(snapshot) }
    #expect(error?.code == .dataLoss && error?.message.contains("rooms/a") == true)
  }
}
