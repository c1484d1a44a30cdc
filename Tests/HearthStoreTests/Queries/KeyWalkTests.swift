import HearthModel
import HearthPlan
import HearthStore
import TestSupport
import Testing

/// Queries of several collections in the order of keys, against all keys sorted.
@Suite("Walks along the keys of several collections")
struct KeyWalkTests {
  let store: DocumentStore

  init() throws {
    store = try DocumentStore(database: Database(.memory))
  }

  private var executor: QueryExecutor { QueryExecutor(documents: store, walksKeys: true) }

  private func reference(_ key: DocumentKey) -> Value {
    .reference(ReferenceValue(database: DatabaseID(projectID: "p"), key: key))
  }

  private func query(
    _ group: String, under parent: String = "", descending: Bool = false, after: DocumentKey? = nil,
    before: DocumentKey? = nil, limit: Int, type: Query.LimitType = .first
  ) -> Query {
    Query(
      path: path(parent), collectionGroup: group,
      explicitOrders: [OrderBy(path: .documentKey, direction: descending ? .descending : .ascending)], limit: limit,
      limitType: type, startAt: after.map { Bound(position: [reference($0)], isInclusive: false) },
      endAt: before.map { Bound(position: [reference($0)], isInclusive: false) })
  }

  private func add(_ paths: some Sequence<String>) throws -> [DocumentKey] {
    let documents = paths.map { found($0) }
    try store.database.transaction("Store") {
      for document in documents { try store.set(document) }
    }
    return documents.map(\.key)
  }

  /// Ids that are prefixes of each other, with bytes on both sides of the slash, and ids of numbers.
  private static let ids = [
    "a", "a!", "a!!", "a!b", "a-", "a-b", "a.b", "a0", "aa", "b", "é", "e\u{301}", "_", "__i", "__id", "__id1_", "__ie",
    "__id7__",
    "__id-7__", "__id10__", "__id9223372036854775807__", "__id9223372036854775808__",
  ]

  private func randomPaths(_ generator: inout SeededGenerator) -> Set<String> {
    var paths: Set<String> = []
    for _ in 0..<Int.random(in: 1...150, using: &generator) {
      let depth = [1, 1, 2, 2, 3, 4].randomElement(using: &generator) ?? 1
      let segments = (0..<2 * depth).map { index in
        (index.isMultiple(of: 2) && Bool.random(using: &generator) ? ["x", "x!", "y"] : Self.ids)
          .randomElement(using: &generator) ?? "x"
      }
      paths.insert(segments.joined(separator: "/"))
    }
    return paths
  }

  @Test("results are those of all keys sorted and cut, in both directions", arguments: SeededGenerator.seeds(60))
  func differential(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let all = try add(randomPaths(&generator)).sorted()
    for _ in 0..<60 {
      let group = ["", "", "x", "a", "__id7__"].randomElement(using: &generator) ?? ""
      let parent = Bool.random(using: &generator) ? "" : all.randomElement(using: &generator)?.canonicalString ?? ""
      let isDescending = Bool.random(using: &generator)
      let isLast = Int.random(in: 0..<4, using: &generator) == 0
      let limit = Int.random(in: 1...200, using: &generator)
      func bound() -> DocumentKey? {
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: nil
        case 1: all.randomElement(using: &generator)
        default: randomPaths(&generator).first.map { key($0) }
        }
      }
      let (after, before) = (bound(), bound())
      let query = query(
        group, under: parent, descending: isDescending, after: after, before: before, limit: limit,
        type: isLast ? .last : .first)
      let scope = CollectionScope(of: query)
      var expected = all.filter(scope.contains)
      if isDescending { expected.reverse() }
      expected = expected.filter { key in
        (after.map { isDescending ? key < $0 : $0 < key } ?? true)
          && (before.map { isDescending ? $0 < key : key < $0 } ?? true)
      }
      expected = Array(isLast ? expected.suffix(limit) : expected.prefix(limit))
      let answer = try executor.run(query)
      #expect(keys(answer.documents) == expected.map(\.canonicalString), "seed \(seed): \(query)")
      #expect(answer.execution.plan == .keys)
      // A cursor's own document, and those above the cursors' collections.
      #expect(answer.execution.rowsRead <= expected.count + 10)
    }
  }

  @Test("pages together read each document about once", arguments: ["", "s"], [false, true])
  func pages(group: String, isDescending: Bool) throws {
    let parents = (0..<40).map { "c/\($0)" }
    let all = try add(parents + parents.flatMap { parent in (0..<25).map { "\(parent)/s/\($0)" } })
    var (seen, last, rows): ([DocumentKey], DocumentKey?, Int) = ([], nil, 0)
    repeat {
      let page = query(group, descending: isDescending, after: last, limit: 30)
      #expect(try executor.piece(of: page, bytes: 1 << 20, .direct) != nil)
      let answer = try executor.run(page)
      #expect(answer.execution.rowsRead <= 33)
      seen += answer.documents.map(\.key)
      rows += answer.execution.rowsRead
      last = answer.documents.count == 30 ? answer.documents.last?.key : nil
    } while last != nil
    let expected = all.filter(CollectionScope(of: query(group, limit: 1)).contains).sorted()
    #expect(seen == (isDescending ? expected.reversed() : expected))
    #expect(rows <= expected.count + 3 * (expected.count / 30 + 1))
  }

  @Test("a page of many small collections costs a few lookups for each of its documents")
  func manySmallCollections() throws {
    let all = try add((0..<5_000).map { "c/\($0)/s/x" }).sorted()
    let answer = try executor.run(query("", after: all[4_000], limit: 20))
    #expect(answer.documents.map(\.key) == Array(all[4_001...4_020]))
    #expect(answer.execution.rowsRead <= 21)
  }

  @Test("a path as deep as an id is long is walked without a stack of calls")
  func deepPath() throws {
    let deep = (0..<3_000).map { _ in "a" }.joined(separator: "/")
    let all = try add([deep, "b/x", deep + "/c/d"]).sorted()
    #expect(try executor.run(query("", limit: 10)).documents.map(\.key) == all)
    #expect(try executor.run(query("", descending: true, limit: 10)).documents.map(\.key) == all.reversed())
  }
}
