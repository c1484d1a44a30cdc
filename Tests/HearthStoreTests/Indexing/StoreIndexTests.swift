import HearthModel
import HearthPlan
import HearthStore
import Testing

@Suite("Local indexes")
struct StoreIndexTests {
  let store: DocumentStore
  let database: Database

  init() throws {
    database = try Database(.memory)
    store = try DocumentStore(database: database)
  }

  static func index(_ group: String, _ fields: (String, IndexDefinition.Kind)...) -> IndexDefinition {
    do {
      return try IndexDefinition(
        collectionGroup: group,
        fields: fields.map { .init(path: $0.0 == "__name__" ? .documentKey : field($0.0), kind: $0.1) })
    } catch {
      fatalError("\(error)")
    }
  }

  private func run(_ query: Query, limits: IndexTable.FillLimits? = nil) throws -> ([String], QueryExecution) {
    let answer = try QueryExecutor(documents: store).run(query)
    return (keys(answer.documents), answer.execution)
  }

  private func fillAll(_ limits: IndexTable.FillLimits = .init()) throws {
    while try store.indexes.fill(limits) {}
  }

  private func count(_ sql: String) throws -> Int64 {
    let statement = try database.prepare(sql)
    return try statement.step() ? try statement.int64(at: 0) : -1
  }

  private let equalTwo = Query(path: path("c"), filters: [.field(field("n"), .equal, .integer(2))])

  private func storeNumbers(_ count: Int, modulo: Int = 1000) throws {
    try database.transaction("Store") {
      for number in 0..<count {
        try store.set(found("c/d\(number)", 1, ["n": .integer(Int64(number % modulo)), "m": .integer(Int64(number))]))
      }
    }
  }

  // MARK: - Ways

  @Test("an equality reads the documents that match and no other")
  func equality() throws {
    try storeNumbers(3000)
    try store.indexes.set([Self.index("c", ("n", .ascending))])
    try fillAll()
    let (found, execution) = try run(equalTwo)
    #expect(Set(found) == ["c/d2", "c/d1002", "c/d2002"])
    #expect(execution.plan == .index && execution.rowsRead == 3 && execution.documentsDecoded == 3)
    #expect(
      execution.accesses == [.index(Self.index("c", ("n", .ascending)), bounds: ["n == 2"], isOrdered: false)])
  }

  @Test(
    "a limit ends the reading, from either end of the order", arguments: [IndexDefinition.Kind.ascending, .descending])
  func limit(kind: IndexDefinition.Kind) throws {
    try storeNumbers(3000)
    try store.indexes.set([Self.index("c", ("m", kind))])
    try fillAll()
    let range = Query(
      path: path("c"), filters: [.field(field("m"), .greaterThanOrEqual, .integer(100))],
      explicitOrders: [OrderBy(path: field("m"))])
    let (first, execution) = try run(range.with(limit: 3))
    #expect(first == ["c/d100", "c/d101", "c/d102"] && execution.rowsRead == 3 && execution.plan == .index)
    let (last, backward) = try run(range.with(limit: 3, type: .last))
    #expect(last == ["c/d2997", "c/d2998", "c/d2999"] && backward.rowsRead == 3)
    let descending = Query(
      path: path("c"), explicitOrders: [OrderBy(path: field("m"), direction: .descending)], limit: 2)
    let (top, unbound) = try run(descending)
    #expect(top == ["c/d2999", "c/d2998"] && unbound.rowsRead == 2)
  }

  @Test("cursors are a part of the range")
  func cursors() throws {
    try storeNumbers(3000)
    try store.indexes.set([Self.index("c", ("n", .ascending))])
    try fillAll()
    let query = Query(path: path("c"), explicitOrders: [OrderBy(path: field("n"))])
      .with(startAt: Bound(position: [.integer(998)], isInclusive: false))
    #expect(try run(query).0 == ["c/d1999", "c/d2999", "c/d999"])
    #expect(try run(query).1.rowsRead == 3)
    let reference = ReferenceValue(database: DatabaseID(projectID: "p"), key: key("c/d1999"))
    let behind = query.with(startAt: Bound(position: [.integer(999), .reference(reference)], isInclusive: false))
    #expect(try run(behind).0 == ["c/d2999", "c/d999"])
    #expect(try run(behind).1.rowsRead == 2)
  }

  @Test("each alternative of an or takes its own index, and a document that meets several is read once")
  func alternatives() throws {
    try storeNumbers(3000)
    try store.indexes.set([Self.index("c", ("n", .ascending)), Self.index("c", ("m", .ascending))])
    try fillAll()
    let query = Query(
      path: path("c"),
      filters: [
        .or([.field(field("n"), .equal, .integer(7)), .field(field("m"), .in, .array([.integer(7), .integer(9)]))])
      ])
    let (found, execution) = try run(query)
    #expect(Set(found) == ["c/d7", "c/d1007", "c/d2007", "c/d9"])
    #expect(execution.plan == .index && execution.accesses.count == 3)
    #expect(execution.rowsRead == 4 && execution.entriesRead == 5)
  }

  @Test("documents that a condition names are read by their keys")
  func keysInConditions() throws {
    try storeNumbers(100)
    let reference = { (name: String) in
      Value.reference(ReferenceValue(database: DatabaseID(projectID: "p"), key: key(name)))
    }
    let query = Query(
      path: path("c"),
      filters: [.field(.documentKey, .in, .array([reference("c/d1"), reference("c/d5"), reference("c/none")]))])
    let (found, execution) = try run(query)
    #expect(found == ["c/d1", "c/d5"] && execution.plan == .keys && execution.rowsRead == 3)
  }

  @Test("membership in arrays has an entry for each distinct element")
  func membership() throws {
    try store.set(found("c/a", 1, ["tags": .array(["x", "y", "x"])]))
    try store.set(found("c/b", 1, ["tags": .array(["y"])]))
    try store.set(found("c/c", 1, ["tags": "x"]))
    try store.indexes.set([Self.index("c", ("tags", .contains))])
    try fillAll()
    let listing = try store.indexes.listings()
    #expect(listing.map(\.rowCount) == [3])
    #expect(try run(Query(path: path("c"), filters: [.field(field("tags"), .arrayContains, "x")])).0 == ["c/a"])
    let any = Query(path: path("c"), filters: [.field(field("tags"), .arrayContainsAny, .array(["x", "y"]))])
    #expect(try run(any).0 == ["c/a", "c/b"])
    #expect(try run(any).1.plan == .index)
  }

  @Test("one index serves a collection and the group, and both are narrow")
  func group() throws {
    for parent in 0..<30 {
      for child in 0..<10 {
        try store.set(found("u/\(parent)/p/\(child)", 1, ["n": .integer(Int64(child))]))
      }
    }
    try store.indexes.set([Self.index("p", ("n", .ascending))])
    try fillAll()
    let filters: [Filter] = [.field(field("n"), .equal, .integer(3))]
    let (all, group) = try run(Query(path: path(""), collectionGroup: "p", filters: filters))
    #expect(all.count == 30 && group.plan == .index && group.rowsRead == 30)
    let (one, single) = try run(Query(path: path("u/7/p"), filters: filters))
    #expect(one == ["u/7/p/3"] && single.rowsRead == 1)
  }

  // MARK: - Where an index does not help

  @Test("an index is left alone where it lacks documents of the result, or would lead to most of them")
  func unsuitable() throws {
    try storeNumbers(9000, modulo: 2)
    try store.indexes.set([
      Self.index("c", ("n", .ascending)), Self.index("c", ("n", .ascending), ("other", .ascending)),
    ])
    try fillAll()
    let half = Query(path: path("c"), filters: [.field(field("n"), .equal, .integer(1))])
    let (found, execution) = try run(half)
    #expect(found.count == 4500 && execution.plan == .scan)
    #expect(execution.reason?.contains("large part") == true)
    try store.indexes.set([Self.index("c", ("n", .ascending), ("other", .ascending))])
    try fillAll()
    #expect(try run(half).1.reason == "no index serves n == 1")
    #expect(try run(Query(path: path("c"))).1.reason == "the query asks for all documents")
    #expect(
      try run(Query(path: path("d"), filters: half.filters)).1.reason == "there is no index of this collection group")
  }

  // MARK: - Keeping

  @Test("the progress of filling counts the documents of the collections that indexes lack")
  func fillProgress() throws {
    try storeNumbers(300)
    #expect(try store.indexes.fillProgress() == (0, nil))
    try store.indexes.set([Self.index("c", ("n", .ascending)), Self.index("c", ("m", .descending))])
    #expect(try store.indexes.fillProgress() == (0, 300))
    #expect(try store.indexes.fill(.init(documents: 20)))
    #expect(try store.indexes.fillProgress() == (20, 300))
    #expect(try store.indexes.fillProgress(collectionLimit: 0) == (0, nil))
    try fillAll()
    #expect(try store.indexes.fillProgress() == (0, nil))
  }

  @Test("an index that is being filled gives right answers at every step, also when documents change in between")
  func halfFilled() throws {
    try storeNumbers(300, modulo: 50)
    try store.indexes.set([Self.index("c", ("n", .ascending)), Self.index("c", ("m", .descending))])
    var steps = 0
    var sawPart = false
    repeat {
      steps += 1
      // One in what is filled, one beyond, one new, one gone.
      try store.set(found("c/d\(steps)", 2, ["n": .integer(2)]))
      try store.set(found("c/d\(299 - steps)", 2, ["n": .integer(2), "m": .integer(0)]))
      try store.set(found("c/new\(steps)", 1, ["n": .integer(2)]))
      try store.remove(key("c/d\(100 + steps)"))
      let expected = try store.scan(.collection(path("c"))).filter(equalTwo.matches).map(\.key.canonicalString)
      let (found, execution) = try run(equalTwo)
      #expect(Set(found) == Set(expected) && found.count == expected.count)
      if execution.plan == .index, execution.rowsRead > found.count { sawPart = true }
    } while try store.indexes.fill(.init(documents: 20))
    #expect(steps > 10 && sawPart)
    let (found, execution) = try run(equalTwo)
    #expect(execution.rowsRead == found.count, "all is filled, and entries are exact")
    let documents = try store.scan(.collection(path("c"))).count
    #expect(try store.indexes.listings().first?.rowCount == Int64(documents))
  }

  @Test("the same definitions keep their entries, others go bit by bit, and nothing of them is left")
  func replacing() throws {
    try storeNumbers(100)
    let (kept, gone) = (Self.index("c", ("n", .ascending)), Self.index("c", ("m", .ascending)))
    try store.indexes.set([kept, gone])
    try fillAll()
    try store.indexes.set([Self.index("c", ("n", .descending)), kept])
    #expect(try store.indexes.listings().map(\.rowCount) == [100, 0])
    var steps = 0
    while try store.indexes.fill(.init(entries: 30)) { steps += 1 }
    #expect(steps > 4)
    #expect(try store.indexes.listings().map(\.rowCount) == [100, 100])
    #expect(try count("SELECT count(*) FROM index_entries") == 200)
    try store.indexes.dropAll()
    #expect(try store.indexes.listings().isEmpty)
    #expect(try run(equalTwo).1.plan == .scan)
    try fillAll()
    #expect(try count("SELECT count(*) FROM index_entries") == 0)
    #expect(try count("SELECT count(*) FROM index_definitions") == 0)
    #expect(try count("SELECT count(*) FROM index_fields") == 0)
  }

  @Test("entries and documents stay one: what fails leaves both as they were")
  func failure() throws {
    try storeNumbers(10)
    try store.indexes.set([Self.index("c", ("n", .ascending))])
    try fillAll()
    database.injectFailure = { point in
      if case .statement(let sql) = point, sql.contains("INTO index_entries") {
        StoreError(kind: .full, message: "The disk is full.")
      } else {
        nil
      }
    }
    #expect(throws: StoreError.self) { try store.set(found("c/d1", 2, ["n": .integer(2)])) }
    database.injectFailure = nil
    #expect(try run(equalTwo).0 == ["c/d2"])
    #expect(try store.document(for: key("c/d1")).version == version(1))
  }

  @Test("values that are too long for a key are found all the same")
  func longValues() throws {
    let long = Value.string(String(repeating: "x", count: 5000))
    try store.set(found("c/long", 1, ["n": long, "tags": .array([long, "y"])]))
    try store.set(found("c/short", 1, ["n": "x", "tags": .array(["y"])]))
    try store.indexes.set([Self.index("c", ("n", .ascending)), Self.index("c", ("tags", .contains))])
    try fillAll()
    #expect(try run(Query(path: path("c"), filters: [.field(field("n"), .equal, long)])).0 == ["c/long"])
    let ordered = Query(path: path("c"), explicitOrders: [OrderBy(path: field("n"))], limit: 1)
    #expect(try run(ordered).0 == ["c/short"])
    #expect(try run(ordered).1.plan == .index)
    #expect(try run(ordered.with(limit: 1, type: .last)).0 == ["c/long"])
    #expect(
      try run(Query(path: path("c"), filters: [.field(field("tags"), .arrayContains, "y")])).0 == ["c/long", "c/short"])
    #expect(try count("SELECT max(length(key)) FROM index_entries") < 100)
    try store.set(found("c/long", 2, ["n": "short now"]))
    #expect(try run(Query(path: path("c"), filters: [.field(field("n"), .equal, long)])).0 == [])
    #expect(try count("SELECT count(*) FROM index_entries") == 3)
  }

  @Test("a damaged document is reported by a query along an index as it is by a scan")
  func damagedDocument() throws {
    try storeNumbers(10)
    try database.execute("UPDATE documents SET fields = x'12ff' WHERE id = 'd3'")
    let scanned = #expect(throws: StoreError.self) { try run(equalTwo) }
    try store.indexes.set([Self.index("c", ("n", .ascending))])
    try fillAll()
    let indexed = #expect(throws: StoreError.self) { try run(equalTwo) }
    #expect(scanned == indexed && indexed?.kind == .corrupt && indexed?.message.contains("c/d3") == true)
    try store.set(found("c/d3", 2, ["n": .integer(3)]))
    #expect(try run(equalTwo).0 == ["c/d2"])
  }

  @Test(
    "a row of a document that cannot be read holds up no filling, and is reported by queries",
    arguments: ["id = CAST(x'ff' AS TEXT)", "kind = 'x'", "fields = 'text'"])
  func damagedRow(change: String) throws {
    try storeNumbers(10)
    try database.execute("UPDATE documents SET \(change) WHERE id = 'd2'")
    try store.indexes.set([Self.index("c", ("n", .ascending))])
    try fillAll()
    #expect(try store.indexes.listings().map(\.rowCount) == [10])
    let error = #expect(throws: StoreError.self) { try run(equalTwo) }
    #expect(error?.kind == .corrupt)
  }

  @Test("an index whose row is damaged serves nothing and holds up nothing")
  func damagedDefinition() throws {
    try storeNumbers(10)
    try store.indexes.set([Self.index("c", ("n", .ascending)), Self.index("c", ("m", .ascending))])
    try fillAll()
    try database.execute("UPDATE index_fields SET path = '`n' WHERE number = 1")
    #expect(try store.indexes.listings().count == 1)
    try store.set(found("c/d3", 2, ["n": .integer(2)]))
    #expect(try run(equalTwo).0 == ["c/d2", "c/d3"] && run(equalTwo).1.plan == .scan)
    try store.indexes.dropAll()
    try fillAll()
    #expect(try count("SELECT count(*) FROM index_entries") == 0)
  }

  @Test("an index that cannot be read for a moment fails the write, instead of missing it")
  func passingFailure() throws {
    try storeNumbers(10)
    try store.indexes.set([Self.index("c", ("n", .ascending))])
    try fillAll()
    database.injectFailure = { point in
      if case .statement(let sql) = point, sql.contains("FROM index_fields") {
        StoreError(kind: .io, message: "The disk does not answer.")
      } else {
        nil
      }
    }
    #expect(throws: StoreError.self) { try store.set(found("c/d1", 2, ["n": .integer(2)])) }
    database.injectFailure = nil
    #expect(try run(equalTwo).0 == ["c/d2"])
    try store.set(found("c/d1", 2, ["n": .integer(2)]))
    #expect(try run(equalTwo).0 == ["c/d1", "c/d2"] && run(equalTwo).1.plan == .index)
  }

  @Test("an index that was given up is taken out without going through all of it in each step")
  func removalPlan() throws {
    try storeNumbers(50)
    for number in 0..<50 { try store.set(found("p/x\(number)/c/d", 1, ["n": .integer(1)])) }
    try store.indexes.set([Self.index("c", ("n", .ascending)), Self.index("c", ("m", .ascending))])
    try fillAll()
    var statements: Set<String> = []
    try store.indexes.set([Self.index("c", ("m", .ascending))])
    database.injectFailure = { point in
      if case .statement(let sql) = point, sql.contains("DELETE FROM index_entries") { statements.insert(sql) }
      return nil
    }
    var left = try [count("SELECT count(*) FROM index_entries WHERE number = 1")]
    while try store.indexes.fill(.init(entries: 30)) {
      left.append(try count("SELECT count(*) FROM index_entries WHERE number = 1"))
    }
    database.injectFailure = nil
    #expect(left.prefix(5) == [100, 70, 40, 10, 0])
    #expect(try count("SELECT count(*) FROM index_entries") == 50, "the other index keeps what it has")
    for sql in statements {
      let plan = try database.prepare("EXPLAIN QUERY PLAN \(sql)")
      var isNarrow = false
      while try plan.step() {
        let text = try plan.string(at: 3)
        if text.contains("(collection,key)<") || text.hasSuffix("(number=?)") { isNarrow = true }
        #expect(!text.contains("LIST SUBQUERY"))
      }
      #expect(isNarrow)
    }
  }

  @Test("a cursor with a value behind the key does not lose the document at the key")
  func cursorBehindKey() throws {
    try storeNumbers(20, modulo: 5)
    try store.indexes.set([Self.index("c", ("n", .ascending))])
    try fillAll()
    let reference = Value.reference(ReferenceValue(database: DatabaseID(projectID: "p"), key: key("c/d2")))
    for (value, expected) in [(Value.integer(1), ["c/d2", "c/d7"]), (.integer(2), ["c/d7"])] {
      let query = Query(
        path: path("c"), filters: equalTwo.filters,
        explicitOrders: [OrderBy(path: .documentKey), OrderBy(path: field("m"))],
        startAt: Bound(position: [reference, value], isInclusive: false))
      let scanned = try store.scan(.collection(path("c"))).filter(query.matches).map(\.key.canonicalString)
      let (found, execution) = try run(query)
      #expect(execution.plan == .index && Set(found) == Set(scanned) && found.first == expected[0])
    }
  }

  @Test("an array with very many elements is entered once, found all the same, and taken out again")
  func hugeArray() throws {
    let many = Value.array((0..<10_001).map { .integer(Int64($0)) })
    try store.set(found("c/many", 1, ["tags": many]))
    try store.set(found("c/few", 1, ["tags": [.integer(5)]]))
    try store.indexes.set([Self.index("c", ("tags", .contains))])
    try fillAll()
    #expect(try count("SELECT count(*) FROM index_entries") == 2)
    let query = Query(path: path("c"), filters: [.field(field("tags"), .arrayContains, .integer(5))])
    #expect(try run(query).0 == ["c/few", "c/many"])
    try store.remove(key("c/many"))
    #expect(try count("SELECT count(*) FROM index_entries") == 1)
  }

  @Test("a step of the filling ends when it has made enough entries")
  func entriesOfStep() throws {
    for number in 0..<10 { try store.set(found("c/d\(number)", 1, ["tags": [1, 2, 3, 4, 5]])) }
    try store.indexes.set([Self.index("c", ("tags", .contains))])
    _ = try store.indexes.fill(.init(newEntries: 12))
    #expect(try count("SELECT count(*) FROM index_entries") == 15)
    try fillAll()
    #expect(try count("SELECT count(*) FROM index_entries") == 50)
  }

  @Test("an entry that leads into another collection is a corrupt file, not a document under a wrong name")
  func strayEntry() throws {
    try storeNumbers(10)
    try store.set(found("other/x", 1, ["n": .integer(2)]))
    try store.indexes.set([Self.index("c", ("n", .ascending))])
    try fillAll()
    try database.execute(
      "UPDATE index_entries SET place = (SELECT place FROM documents WHERE id = 'x') WHERE number = 1")
    let error = #expect(throws: StoreError.self) { try run(equalTwo) }
    #expect(error?.kind == .corrupt)
  }

  @Test("the last place of the last collection does not stop the program")
  func lastPlace() throws {
    try database.execute("INSERT INTO collections (number, path, group_id) VALUES (134217727, 'c', 'c')")
    try database.execute(
      """
      INSERT INTO documents VALUES (9223372036854775806, 134217727, 'a', 1, 0, 0, 0, 0, 0, x'')
      """)
    let error = #expect(throws: StoreError.self) {
      try database.transaction("Store") {
        for number in 0..<3 { try store.set(found("c/d\(number)", 1, [:])) }
      }
    }
    #expect(error != nil)
  }

  @Test("many alternatives in many small collections are scanned")
  func manyCollections() throws {
    try database.transaction("Store") {
      for number in 0..<400 {
        try store.set(found("p/x\(number)/c/d", 1, ["n": .integer(Int64(number))]))
      }
    }
    try store.indexes.set([Self.index("c", ("n", .ascending))])
    try fillAll()
    let group = Query(
      path: ResourcePath([]), collectionGroup: "c",
      filters: [.field(field("n"), .in, .array((0..<10).map { .integer($0) }))])
    let (hits, execution) = try run(group)
    #expect(hits.count == 10 && execution.plan == .scan)
    #expect(try QueryExecutor(documents: store).indexEffort(of: group, atMost: 1000) == .unknown)
  }

  // MARK: - What would help

  @Test("an index that would not be used is not asked for")
  func uselessIndexes() throws {
    let executor = QueryExecutor(documents: store)
    let ordered = Query(path: path("c"), explicitOrders: [OrderBy(path: field("o"))])
    #expect(try executor.missingIndexes(for: ordered).isEmpty)
    #expect(try executor.missingIndexes(for: ordered.with(limit: 3)) == [Self.index("c", ("o", .ascending))])
    let unequal = Query(path: path("c"), filters: [.field(field("n"), .notEqual, .integer(2))])
    #expect(try executor.missingIndexes(for: unequal).isEmpty)
  }

  @Test("the index that a query lacks has its equalities, its membership and then its order")
  func missingIndexes() throws {
    let executor = QueryExecutor(documents: store)
    let query = Query(
      path: path("c"),
      filters: [
        .field(field("z"), .equal, 1), .field(field("tags"), .arrayContains, "x"),
        .or([.field(field("a"), .greaterThan, 1), .field(field("b"), .equal, 2)]),
      ], explicitOrders: [OrderBy(path: field("o"), direction: .descending)])
    let missing = try executor.missingIndexes(for: query)
    #expect(
      missing == [
        Self.index("c", ("z", .ascending), ("tags", .contains), ("o", .descending), ("a", .descending)),
        Self.index(
          "c", ("b", .ascending), ("z", .ascending), ("tags", .contains), ("o", .descending), ("a", .descending)),
      ])
    try store.indexes.set(missing)
    #expect(try executor.missingIndexes(for: query).isEmpty)
    try store.indexes.set([Self.index("c", ("z", .ascending))])
    #expect(try executor.missingIndexes(for: query) == missing, "one that serves in part is not enough")
  }
}
