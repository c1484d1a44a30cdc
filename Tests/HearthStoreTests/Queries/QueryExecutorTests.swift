import HearthModel
import HearthPlan
import HearthStore
import Testing

@Suite("Query execution")
struct QueryExecutorTests {
  let store: DocumentStore
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    store = try DocumentStore(database: Database(.memory))
  }

  func number(_ path: String, _ value: Int64, version: Int64 = 1) -> Document {
    found(path, version, ["n": .integer(value)])
  }

  let byNumber = Query(path: path("c"), explicitOrders: [OrderBy(path: field("n"))])

  @Test("a document query reads one document", arguments: TestLocation.allCases)
  func document(location: TestLocation) throws {
    let store = try DocumentStore(database: location.open(in: folder))
    try store.setAll(number("c/a", 1), number("c/b", 2), missing("c/gone", 3))
    let executor = QueryExecutor(documents: store)
    let answer = try executor.run(Query(path: path("c/a")))
    #expect(answer.documents == [number("c/a", 1)])
    #expect(answer.execution.plan == .document(key("c/a")))
    #expect(answer.execution.rowsRead == 1 && answer.execution.documentsDecoded == 1)
    #expect(try executor.run(Query(path: path("c/gone"))).documents == [])
    #expect(try executor.run(Query(path: path("c/never"))).documents == [])
  }

  @Test("a document query sees the local mutation, also of a document that is not stored")
  func documentOverlay() throws {
    try store.set(number("c/a", 1))
    let overlays = Overlays(.set(key("c/new"), ["n": .integer(5)]), .delete(key("c/a")))
    let executor = QueryExecutor(documents: store, localMutations: overlays)
    #expect(try executor.run(Query(path: path("c/a"))).documents == [])
    let created = try executor.run(Query(path: path("c/new"))).documents
    #expect(keys(created) == ["c/new"])
    #expect(created.first?.hasLocalMutations == true)
  }

  @Test("a scan filters in place and copies only what matches")
  func scan() throws {
    for index in 0..<100 { try store.set(number("c/\(index)", Int64(index))) }
    try store.setAll(missing("c/gone", 1), .foundWithUnknownContents(key("c/unknown"), version: version(2)))
    let query = byNumber.with(filter: .field(field("n"), .greaterThanOrEqual, .integer(97)))
    let answer = try QueryExecutor(documents: store).run(query)
    #expect(keys(answer.documents) == ["c/97", "c/98", "c/99"])
    #expect(answer.execution.plan == .scan && answer.execution.resultCount == 3)
    #expect(answer.execution.rowsRead == 102 && answer.execution.documentsDecoded == 3)
  }

  @Test(
    "a scan finds each document once, whether few match, many, or many from some place on", arguments: [0, 1, 700, 950])
  func scanOfMany(firstOfMany: Int) throws {
    try store.database.transaction("Store") {
      for index in 0..<1000 {
        try store.set(number("c/\(index)", index >= firstOfMany || index.isMultiple(of: 100) ? 1 : 0))
      }
    }
    let query = byNumber.with(filter: .field(field("n"), .equal, .integer(1)))
    let answer = try QueryExecutor(documents: store).run(query)
    let expected = try store.scan(.collection(path("c"))).filter(query.matches)
    #expect(Set(keys(answer.documents)) == Set(keys(expected)) && answer.documents.count == expected.count)
    #expect(answer.execution.rowsRead == 1000 && answer.execution.documentsDecoded == expected.count)
  }

  @Test("local mutations bring documents into a result, move them and take them out")
  func overlays() throws {
    try store.setAll(number("c/in", 5), number("c/moves", 1), number("c/leaves", 6), number("c/deleted", 7))
    let overlays = Overlays(
      .patch(key("c/moves"), ["n": .integer(9)], mask: FieldMask([field("n")]), precondition: .none),
      .set(key("c/leaves"), ["n": .integer(0)]), .delete(key("c/deleted")), .set(key("c/created"), ["n": .integer(8)]),
      .set(key("c/a/s/x"), ["n": .integer(8)]), .set(key("d/x"), ["n": .integer(8)]))
    let executor = QueryExecutor(documents: store, localMutations: overlays)
    let query = byNumber.with(filter: .field(field("n"), .greaterThanOrEqual, .integer(5)))
    let answer = try executor.run(query)
    #expect(keys(answer.documents) == ["c/in", "c/created", "c/moves"])
    #expect(answer.documents.map(\.hasPendingWrites) == [false, true, true])
  }

  @Test("a limit keeps the right end of the order", arguments: [1, 3, 40, 64, 99, 100, 1000, Int.max])
  func limits(limit: Int) throws {
    for index in 0..<100 { try store.set(number("c/\(index)", Int64((index * 37) % 100))) }
    let all = (0..<100).map { Int64($0) }
    func run(_ type: Query.LimitType) throws -> [Int64] {
      try QueryExecutor(documents: store).run(byNumber.with(limit: limit, type: type)).documents.map {
        guard case .integer(let number)? = try $0.fields.value(at: field("n")) else { return -1 }
        return number
      }
    }
    #expect(try run(.first) == Array(all.prefix(limit)))
    #expect(try run(.last) == Array(all.suffix(limit)))
  }

  @Test("a limit cuts through equal values by key", arguments: [1, 5, 30])
  func limitThroughTies(limit: Int) throws {
    var all: [Document] = []
    for index in 0..<100 { all.append(number("c/\((index * 37) % 100)", Int64(index % 3))) }
    for document in all { try store.set(document) }
    for order in [OrderBy(path: field("n")), OrderBy(path: field("n"), direction: .descending)] {
      let query = Query(path: path("c"), explicitOrders: [order])
      let sorted = all.sorted { query.compare($0, $1) == .ascending }
      let executor = QueryExecutor(documents: store)
      let first = try executor.run(query.with(limit: limit, type: .first))
      #expect(keys(first.documents) == keys(Array(sorted.prefix(limit))))
      #expect(first.execution.documentsDecoded < 100, "what sorts beyond the limit is not copied")
      #expect(try keys(executor.run(query.with(limit: limit, type: .last)).documents) == keys(sorted.suffix(limit)))
    }
  }

  @Test("a group query answers from every collection with the id")
  func group() throws {
    try store.setAll(number("s/b", 2), number("c/x/s/a", 1), number("c/x/t/a", 0), number("c/s", 0))
    let query = Query(path: path(""), collectionGroup: "s", explicitOrders: [OrderBy(path: field("n"))])
    let overlays = Overlays(.set(key("d/y/s/new"), ["n": .integer(3)]), .set(key("d/y/t/new"), ["n": .integer(3)]))
    let answer = try QueryExecutor(documents: store, localMutations: overlays).run(query)
    #expect(keys(answer.documents) == ["c/x/s/a", "s/b", "d/y/s/new"])
  }

  @Test("a query without a collection id answers from every collection below its path")
  func everything() throws {
    try store.setAll(number("s/b", 2), number("c/x/s/a", 1), number("c/x/t/a/u/b", 0), number("c/x", 0))
    let overlays = Overlays(.set(key("c/x/s/new"), ["n": .integer(3)]), .set(key("d/y"), ["n": .integer(4)]))
    let executor = QueryExecutor(documents: store, localMutations: overlays)
    func run(_ parent: String) throws -> [String] {
      let query = Query(path: path(parent), collectionGroup: "", explicitOrders: [OrderBy(path: field("n"))])
      return keys(try executor.run(query).documents)
    }
    #expect(try run("") == ["c/x", "c/x/t/a/u/b", "c/x/s/a", "s/b", "c/x/s/new", "d/y"])
    #expect(try run("c/x") == ["c/x/t/a/u/b", "c/x/s/a", "c/x/s/new"])
  }
}

@Suite("Query execution from a previous result")
struct PreviousResultTests {
  let store: DocumentStore

  init() throws {
    store = try DocumentStore(database: Database(.memory))
    for index in 0..<50 {
      try store.set(found("c/\(index)", 10, ["n": .integer(Int64(index))]))
    }
  }

  let query = Query(
    path: path("c"), filters: [.field(field("n"), .lessThan, .integer(4))], explicitOrders: [OrderBy(path: field("n"))])
  let previous = PreviousResult(
    keys: [key("c/0"), key("c/1"), key("c/2"), key("c/3")], limboFreeVersion: version(10))

  /// Runs with the previous result and checks that a scan says the same.
  func run(
    _ query: Query, _ overlays: Overlays = Overlays(), _ previous: PreviousResult
  ) throws -> (keys: [String], execution: QueryExecution) {
    let executor = QueryExecutor(documents: store, localMutations: overlays)
    let answer = try executor.run(query, previous: previous)
    let scanned = try executor.run(query)
    #expect(scanned.execution.plan == .scan)
    #expect(answer.documents == scanned.documents)
    return (keys(answer.documents), answer.execution)
  }

  @Test("reads the previous keys and what changed since, not the collection")
  func changes() throws {
    try store.setAll(
      found("c/3", 11, ["n": .integer(99)]), missing("c/0", 12), found("c/40", 12, ["n": .integer(-1)]),
      found("c/41", 12, ["n": .integer(77)]))
    let overlays = Overlays(.set(key("c/new"), ["n": .integer(-2)]), .set(key("c/2"), ["n": .integer(3)]))
    let answer = try run(query, overlays, previous)
    #expect(answer.keys == ["c/new", "c/40", "c/1", "c/2"])
    #expect(answer.execution.plan == .previousResult)
    #expect(answer.execution.rowsRead == 4 + 1 + 4, "four keys, one overlay, four changes")
  }

  @Test("is not used before a snapshot without limbo, nor for a whole collection")
  func notUsed() throws {
    let fresh = PreviousResult(keys: previous.keys, limboFreeVersion: .none)
    #expect(try run(query, Overlays(), fresh).execution.plan == .scan)
    #expect(try run(Query(path: path("c")), Overlays(), previous).execution.plan == .scan)
  }

  @Test("a limit query uses it while all documents still match and the edge is unchanged", arguments: [true, false])
  func limit(isLimitToLast: Bool) throws {
    let keys = isLimitToLast ? [47, 48, 49] : [0, 1, 2]
    let edge = isLimitToLast ? 47 : 2
    let inner = isLimitToLast ? 49 : 0
    let query = Query(path: path("c"), explicitOrders: [OrderBy(path: field("n"))])
      .with(limit: 3, type: isLimitToLast ? .last : .first)
    let previous = PreviousResult(keys: Set(keys.map { key("c/\($0)") }), limboFreeVersion: version(10))
    #expect(try run(query, Overlays(), previous).execution.plan == .previousResult)

    // A document that comes in pushes the edge out.
    try store.set(found("c/x", 11, ["n": .integer(Int64(edge))]))
    #expect(try run(query, Overlays(), previous).execution.plan == .previousResult)
    // A change that stays inside.
    try store.set(found("c/\(inner)", 12, ["n": .integer(Int64(inner)), "m": .null]))
    #expect(try run(query, Overlays(), previous).execution.plan == .previousResult)
    // A pending write at the edge may have moved it.
    let patch = Mutation.patch(key("c/\(edge)"), ["m": .null], mask: FieldMask([field("m")]), precondition: .none)
    #expect(try run(query, Overlays(patch), previous).execution.plan == .scan)
    // An inner document that moves beyond everything becomes the edge, and it is newer.
    let far: Int64 = isLimitToLast ? -1000 : 1000
    try store.set(found("c/\(inner)", 13, ["n": .integer(far)]))
    #expect(try run(query, Overlays(), previous).execution.plan == .scan)
    // A document that is gone must be replaced by one that nobody has looked at.
    try store.set(missing("c/\(inner)", 14))
    #expect(try run(query, Overlays(), previous).execution.plan == .scan)
  }

  @Test("a limit query that was not full uses it as well")
  func limitNotFull() throws {
    let limited = query.with(limit: 10)
    #expect(try run(limited, Overlays(), previous).execution.plan == .previousResult)
    let empty = PreviousResult(keys: [], limboFreeVersion: version(10))
    let none = Query(path: path("c"), filters: [.field(field("n"), .lessThan, .integer(0))], limit: 2)
    #expect(try run(none, Overlays(), empty).execution.plan == .previousResult)
    try store.set(found("c/neg", 11, ["n": .integer(-5)]))
    #expect(try run(none, Overlays(), empty).keys == ["c/neg"])
  }
}
