import HearthCache
import HearthModel
import TestSupport
import Testing

@testable import HearthSync

/// Equation: what a listener is shown = the plain evaluation of its query after each of the writes, in order, without repetitions.
@Suite("Random writes that are stored together")
struct WriteGroupPropertyTests {
  private typealias State = [DocumentKey: MapValue]

  @Test(
    "every snapshot is the state after some first part of the writes, none is left out, and none goes back",
    arguments: SeededGenerator.seeds(60))
  func prefixes(seed: UInt64) throws {
    var numbers = SeededGenerator(seed: seed)
    let client = try TestClient(durable: numbers.chance(20))
    var state = try Self.begin(client, &numbers)
    let queries = Self.queries(&numbers)
    var expected = queries.map { [Self.result(of: $0, state)] }
    let listeners = queries.map { client.listen($0) }

    for _ in 0..<12 {
      let batches = (0...numbers.below(8)).map { _ in Self.batch(&numbers) }
      for batch in batches {
        for mutation in batch { Self.apply(mutation, to: &state) }
        for (index, query) in queries.enumerated() {
          let result = Self.result(of: query, state)
          if result != expected[index].last { expected[index].append(result) }
        }
      }
      client.write(batches: batches.map { $0.map(\.mutation) })
    }

    for (index, listener) in listeners.enumerated() {
      let snapshots = client.snapshots[listener] ?? []
      let shown = try snapshots.map { try $0.documents.map { try Self.text($0.key, $0.fields.decoded()) } }
      #expect(Self.withoutRepetitions(shown) == expected[index], "query \(queries[index]), seed \(seed)")
      try checkTotals(of: queries[index], in: snapshots)
    }
  }

  /// A live total of each snapshot is that of its documents.
  private func checkTotals(of query: Query, in snapshots: [ViewSnapshot]) throws {
    let sum = Aggregation(alias: "sum", operation: .sum(field("n")))
    var live = LiveAggregation([sum], of: query, includesMetadataChanges: true)
    for snapshot in snapshots {
      let expected = try snapshot.documents.reduce(into: Int64(0)) { sum, document in
        if case .integer(let n)? = try document.fields.decoded()["n"] { sum += n }
      }
      if let result = try live.update(snapshot) { #expect(result.values["sum"] == .integer(expected)) }
    }
  }

  // MARK: - The world

  private struct Step {
    var mutation: Mutation
    var key: DocumentKey
    /// Nil for a deleted document, or one that stays missing.
    var change: (MapValue?) -> MapValue?
  }

  /// Documents that the backend has sent, and some that are pending.
  private static func begin(_ client: TestClient, _ numbers: inout SeededGenerator) throws -> State {
    var state: State = [:]
    var documents: [Document] = []
    for id in 0..<8 where numbers.chance(70) {
      let fields = Self.fields(&numbers)
      documents.append(found("rooms/\(id)", 5, fields))
      state[key("rooms/\(id)")] = fields
    }
    client.listen(rooms)
    try client.fill(2, documents, at: 10)
    // Without a network every first snapshot is shown at once.
    client.setNetwork(isEnabled: false)
    return state
  }

  private static func queries(_ numbers: inout SeededGenerator) -> [Query] {
    var queries = [rooms, rooms.ordered(by: "n").with(limit: 2)]
    for _ in 0..<4 {
      var query = rooms
      switch numbers.below(4) {
      case 0: query = query.filtered("n", .greaterThan, .integer(Int64(numbers.below(5))))
      case 1:
        query = query.with(
          filter: .or([
            .field(field("n"), .lessThan, .integer(Int64(2 + numbers.below(4)))), .field(field("tag"), .equal, "x"),
          ]))
      default: break
      }
      if numbers.chance(70) { query = query.ordered(by: "n", numbers.chance(50) ? .ascending : .descending) }
      query = query.with(limit: 1 + numbers.below(4), type: numbers.chance(50) ? .first : .last)
      if !queries.contains(query) { queries.append(query) }
    }
    return queries
  }

  private static func fields(_ numbers: inout SeededGenerator) -> MapValue {
    ["n": .integer(Int64(numbers.below(10))), "tag": numbers.chance(50) ? "x" : "y"]
  }

  private static func batch(_ numbers: inout SeededGenerator) -> [Step] {
    var ids = Set<Int>()
    for _ in 0...numbers.below(3) { ids.insert(numbers.below(8)) }
    return ids.sorted().map { step(key("rooms/\($0)"), &numbers) }
  }

  private static func step(_ key: DocumentKey, _ numbers: inout SeededGenerator) -> Step {
    let fields = fields(&numbers)
    switch numbers.below(5) {
    case 0: return Step(mutation: .delete(key), key: key) { _ in nil }
    case 1:
      let transform = FieldTransform(path: field("n"), operation: .increment(1))
      let mutation = Mutation.patch(key, [:], mask: .empty, transforms: [transform])
      return Step(mutation: mutation, key: key) { old in
        guard var old, case .integer(let n)? = old["n"] else { return old }
        old["n"] = .integer(n + 1)
        return old
      }
    case 2:
      let n = fields["n"]
      return Step(mutation: .patch(key, fields, mask: FieldMask([field("n")])), key: key) { old in
        guard var old else { return nil }
        old["n"] = n
        return old
      }
    default: return Step(mutation: .set(key, fields), key: key) { _ in fields }
    }
  }

  private static func apply(_ step: Step, to state: inout State) { state[step.key] = step.change(state[step.key]) }

  private static func result(of query: Query, _ state: State) -> [String] {
    NaiveQuery(query).answer(state.map { NaiveDocument(key: $0.key, fields: $0.value) })
      .map { text($0, state[$0] ?? [:]) }
  }

  private static func text(_ key: DocumentKey, _ fields: MapValue) -> String {
    "\(key.id)\(fields["n"] ?? .null)\(fields["tag"] ?? .null)"
  }

  private static func withoutRepetitions(_ results: [[String]]) -> [[String]] {
    results.reduce(into: []) { if $0.last != $1 { $0.append($1) } }
  }
}
