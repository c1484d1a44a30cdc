import HearthModel
import HearthPlan
import HearthStore
import TestSupport
import Testing

/// Indexes whose entries lie in one order over all collections of a group.
@Suite("Indexes of collection groups", .timeLimit(.minutes(5)))
struct GroupIndexTests {
  let store: DocumentStore
  let database: Database

  init() throws {
    database = try Database(.memory)
    store = try DocumentStore(database: database)
  }

  private static func index(
    _ group: String, _ scope: IndexDefinition.Scope, _ fields: (String, IndexDefinition.Kind)...
  ) throws -> IndexDefinition {
    try IndexDefinition(
      collectionGroup: group, scope: scope, fields: fields.map { .init(path: field($0.0), kind: $0.1) })
  }

  private func fillAll(_ limits: IndexTable.FillLimits = .init()) throws {
    while try store.indexes.fill(limits) {}
  }

  /// One order of each user.
  private func storeOrders(of userCount: Int) throws {
    try database.transaction("Store") {
      for number in 0..<userCount {
        try store.set(
          found("users/u\(number)/orders/o", 1, ["n": .integer(Int64(number)), "m": .integer(Int64(number % 10))]))
      }
    }
  }

  private func orders(_ filters: [Filter] = [], by path: String? = nil, limit: Int? = nil) -> Query {
    Query(
      path: ResourcePath(), collectionGroup: "orders", filters: filters,
      explicitOrders: path.map { [OrderBy(path: field($0))] } ?? [], limit: limit)
  }

  private var executor: QueryExecutor { QueryExecutor(documents: store, walksKeys: true, usesGroupIndexes: true) }

  /// Runs a query, and counts the statements that read the list of the group's collections. A failure point comes with each of their rows.
  private func run(_ query: Query) throws -> (keys: [String], execution: QueryExecution, lists: Int) {
    var lists: Set<String> = []
    database.injectFailure = { point in
      if case .statement(let sql) = point, sql.contains("FROM collections WHERE group_id") { lists.insert(sql) }
      return nil
    }
    defer { database.injectFailure = nil }
    let answer = try executor.run(query)
    return (keys(answer.documents), answer.execution, lists.count)
  }

  // MARK: - Costs

  @Test("a query of a group in 2,000 collections reads the entries that it needs, and looks into no collection")
  func cost() throws {
    try storeOrders(of: 2_000)
    try store.indexes.set([try Self.index("orders", .collectionGroup, ("n", .ascending))])
    try fillAll()
    let first = try run(orders(by: "n", limit: 1))
    #expect(first.keys == ["users/u0/orders/o"])
    #expect(first.execution.plan == .index && first.lists == 0)
    #expect(first.execution.rangesRead == 2 && first.execution.entriesRead == 1 && first.execution.rowsRead == 1)

    let behind = orders(by: "n", limit: 3).with(startAt: Bound(position: [.integer(1_500)], isInclusive: false))
    let later = try run(behind)
    #expect(later.keys == ["users/u1501/orders/o", "users/u1502/orders/o", "users/u1503/orders/o"])
    #expect(later.execution.rangesRead == 2 && later.execution.entriesRead == 3 && later.lists == 0)

    let equal = try run(orders([.field(field("n"), .equal, .integer(77))]))
    #expect(equal.keys == ["users/u77/orders/o"])
    #expect(equal.execution.rangesRead == 2 && equal.execution.rowsRead == 1 && equal.lists == 0)

    let piece = try executor.piece(of: orders(by: "n", limit: 20), bytes: 1 << 20, .direct)
    #expect(piece?.documents.count == 20 && piece?.execution.rangesRead == 2 && piece?.execution.rowsRead == 20)
    #expect(try executor.indexEffort(of: orders(by: "n", limit: 1), atMost: 5) == .small)
  }

  @Test("a query that leads to many documents of many collections counts them, and uses the index or scans")
  func budget() throws {
    try storeOrders(of: 6_000)
    try store.indexes.set([
      try Self.index("orders", .collectionGroup, ("n", .ascending)),
      try Self.index("orders", .collectionGroup, ("m", .ascending)),
    ])
    try fillAll()
    let some = try run(orders([.field(field("m"), .equal, .integer(3))]))
    #expect(some.keys.count == 600 && some.execution.plan == .index && some.execution.rowsRead == 600)
    let more = try run(orders([.field(field("n"), .lessThan, .integer(1_200))]))
    #expect(more.keys.count == 1_200 && more.execution.plan == .index)
    #expect(more.lists == 2)
    let most = try run(orders([.field(field("n"), .lessThan, .integer(4_000))]))
    #expect(most.keys.count == 4_000 && most.execution.plan == .scan)
    let long = try run(orders(by: "n", limit: 740))
    #expect(long.keys.count == 740 && long.execution.plan == .index && long.execution.rowsRead == 740)
    let longer = try run(orders(by: "n", limit: 3_000))
    #expect(longer.keys.count == 3_000 && longer.execution.plan == .scan)
  }

  // MARK: - Choice

  @Test("an index of the group serves queries of the whole group, one of the collections those and all others")
  func choice() throws {
    try storeOrders(of: 20)
    let group = try Self.index("orders", .collectionGroup, ("n", .ascending))
    let single = try Self.index("orders", .collection, ("n", .ascending))
    func used(_ query: Query) throws -> IndexDefinition? {
      let answer = try executor.run(query)
      guard case .index(let definition, _, _)? = answer.execution.accesses.first else { return nil }
      return definition
    }
    let filters: [Filter] = [.field(field("n"), .equal, .integer(3))]
    let all = orders(filters)
    let one = Query(path: path("users/u3/orders"), filters: filters)
    let below = Query(path: path("users/u3"), collectionGroup: "orders", filters: filters)

    try store.indexes.set([group])
    try fillAll()
    #expect(try used(all) == group && used(one) == nil && used(below) == nil)
    try store.indexes.set([single])
    try fillAll()
    #expect(try used(all) == single && used(one) == single && used(below) == single)
    for definitions in [[single, group], [group, single]] {
      try store.indexes.dropAll()
      try fillAll()
      try store.indexes.set(definitions)
      try fillAll()
      #expect(try used(all) == group && used(one) == single && used(below) == single)
    }
  }

  @Test("a query of a group lacks an index of the group where one of the collections is too dear")
  func missing() throws {
    try storeOrders(of: 200)
    let group = try Self.index("orders", .collectionGroup, ("n", .ascending))
    let single = try Self.index("orders", .collection, ("n", .ascending))
    let filters: [Filter] = [.field(field("n"), .equal, .integer(3))]
    let one = Query(path: path("users/u3/orders"), filters: filters)
    #expect(try executor.missingIndexes(for: orders(filters)) == [group])
    #expect(try executor.missingIndexes(for: one) == [single])
    // A cache has few collections, and one index for both.
    #expect(try QueryExecutor(documents: store).missingIndexes(for: orders(filters)) == [single])

    try store.indexes.set([single])
    try fillAll()
    let looked = try executor.run(orders(filters)).execution
    #expect(looked.plan == .index && looked.rowsRead == 1 && looked.rangesRead == 400 && looked.isWorthAnIndex)
    #expect(try executor.missingIndexes(for: orders(filters)) == [group])
    #expect(try QueryExecutor(documents: store).missingIndexes(for: orders(filters)).isEmpty)
    try store.indexes.set([single, group])
    try fillAll()
    #expect(try executor.missingIndexes(for: orders(filters)).isEmpty)
    #expect(try !executor.run(orders(filters)).execution.isWorthAnIndex)
  }

  // MARK: - Files

  @Test("the indexes of an older file are of single collections, and serve what they have served")
  func migration() throws {
    try storeOrders(of: 50)
    let single = try Self.index("orders", .collection, ("n", .ascending))
    try store.indexes.set([single])
    try fillAll()
    for sql in [
      """
      CREATE TABLE former (
        number INTEGER PRIMARY KEY, state INTEGER NOT NULL, origin INTEGER NOT NULL, collection_group TEXT NOT NULL,
        filled_through INTEGER NOT NULL, local_filled_through INTEGER NOT NULL)
      """,
      """
      INSERT INTO former SELECT number, state, origin, collection_group, filled_through, local_filled_through
      FROM index_definitions
      """,
      "DROP TABLE index_definitions", "ALTER TABLE former RENAME TO index_definitions",
      "UPDATE schema_versions SET version = 1 WHERE component = 'store'",
    ] {
      try database.execute(sql)
    }
    let reopened = try DocumentStore(database: database)
    #expect(try reopened.indexes.listings().map(\.definition) == [single])
    let equal = orders([.field(field("n"), .equal, .integer(7))])
    let answer = try QueryExecutor(documents: reopened).run(equal)
    #expect(keys(answer.documents) == ["users/u7/orders/o"] && answer.execution.plan == .index)
    #expect(answer.execution.rowsRead == 1)
  }

  @Test("an entry that leads into another group is a corrupt file, and one that leads nowhere is nothing")
  func strayEntry() throws {
    try storeOrders(of: 5)
    try store.set(found("other/x", 1, ["n": .integer(2)]))
    try store.indexes.set([try Self.index("orders", .collectionGroup, ("n", .ascending))])
    try fillAll()
    let atMostTwo = orders([.field(field("n"), .lessThanOrEqual, .integer(2))])
    try database.execute("UPDATE index_entries SET place = 99 WHERE place = (SELECT min(place) FROM index_entries)")
    #expect(try run(atMostTwo).keys == ["users/u1/orders/o", "users/u2/orders/o"])
    try database.execute("UPDATE index_entries SET place = (SELECT place FROM documents WHERE id = 'x')")
    let error = #expect(throws: StoreError.self) { try executor.run(atMostTwo) }
    #expect(error?.kind == .corrupt && error?.message.contains("other") == true)
  }

  // MARK: - Generated histories

  /// `HEARTH_TEST_SEED` repeats one history.
  @Test("an index of the group, one of the collections and a scan agree, whatever happens to the collections")
  func agreement() throws {
    var (pairs, grouped, ordered) = (0, 0, 0)
    for seed in SeededGenerator.askedSeed.map({ $0...$0 }) ?? 1...24 {
      var history = GroupHistory(seed: seed)
      let plain = try DocumentStore(database: Database(.memory))
      let indexed = try DocumentStore(database: Database(.memory), findsByReadTime: seed.isMultiple(of: 2))
      try indexed.indexes.set(try history.indexes())
      for round in 0..<6 {
        for change in history.changes() {
          for store in [plain, indexed] {
            try store.database.transaction("Change") {
              for document in change.set { try store.set(document) }
              for key in change.remove { try store.remove(key) }
            }
          }
        }
        if round == 3 { try indexed.indexes.set(try history.indexes()) }
        // A few documents at first, so that queries meet indexes that hold a part.
        for _ in 0..<(round < 2 ? 1 : 100) where try indexed.indexes.fill(.init(documents: 30, entries: 20)) {}
        let known = try plain.scan(.everything(under: ResourcePath())).filter(\.isFound).map {
          NaiveDocument(key: $0.key, fields: try $0.fields.decoded())
        }
        let executor = QueryExecutor(documents: indexed, walksKeys: true, usesGroupIndexes: true)
        for query in history.queries(known.map(\.key)) {
          let place: Comment = "HEARTH_TEST_SEED=\(seed), round \(round), query \(CaseText.text(query))"
          let expected = NaiveQuery(query).answer(known)
          let answer = try executor.run(query)
          #expect(answer.documents.map(\.key) == expected, place)
          #expect(try QueryExecutor(documents: plain).run(query).documents.map(\.key) == expected, place)
          pairs += 1
          for case .index(let definition, _, let isOrdered) in answer.execution.accesses
          where definition.scope == .collectionGroup && answer.execution.plan == .index {
            grouped += 1
            if isOrdered { ordered += 1 }
          }
          guard query.limitType == .first else { continue }
          try comparePieces(of: query, expected, executor, place)
        }
      }
    }
    guard SeededGenerator.askedSeed == nil else { return }
    #expect(pairs >= 4_000 && grouped >= 1_000 && ordered >= 300, "\(pairs) \(grouped) \(ordered)")
  }

  /// Reads a result in pieces, each behind the last document of the one before.
  private func comparePieces(
    of query: Query, _ expected: [DocumentKey], _ executor: QueryExecutor, _ place: Comment
  ) throws {
    var rest = query
    var found: [DocumentKey] = []
    while true {
      rest.limit = min(query.limit.map { $0 - found.count } ?? 7, 7)
      guard rest.limit != 0 else { break }
      guard let piece = try executor.piece(of: rest, bytes: 1 << 20, .patient) else {
        // A part of the indexes is not filled, or none gives the order.
        return
      }
      found += piece.documents.map(\.key)
      guard let last = piece.documents.last, piece.documents.count == rest.limit else { break }
      rest.startAt = Bound(position: try position(of: last, in: query), isInclusive: false)
    }
    #expect(found == expected, place)
  }

  private func position(of document: Document, in query: Query) throws -> [Value] {
    let fields = try document.fields.decoded()
    return query.orders.map { order in
      guard !order.path.isDocumentKey else {
        return .reference(ReferenceValue(database: GroupHistory.database, key: document.key))
      }
      return fields[order.path.segments.first ?? ""] ?? .null
    }
  }
}

/// Draws changes and queries of a world of many small collections with few ids, some below others of the same id.
private struct GroupHistory {
  static let database = DatabaseID(projectID: "p")

  private var numbers: SeededGenerator
  private var known: Set<DocumentKey> = []

  init(seed: UInt64) {
    numbers = SeededGenerator(seed: seed)
  }

  private mutating func collection() -> String {
    let user = "users/\(numbers.chance(10) ? "__id\(numbers.below(5))__" : "u\(numbers.below(40))")"
    switch numbers.below(10) {
    case 0: return "\(user)/orders/a/orders"
    case 1: return "orders"
    case 2: return "\(user)/other"
    default: return "\(user)/orders"
    }
  }

  private mutating func fields() -> MapValue {
    var fields: MapValue = [:]
    if numbers.chance(85) { fields["n"] = value() }
    if numbers.chance(85) { fields["m"] = value() }
    if numbers.chance(70) { fields["t"] = .array((0..<numbers.below(4)).map { _ in value() }) }
    return fields
  }

  private mutating func value() -> Value {
    if numbers.chance(4) { return .string(String(repeating: "x", count: 1_600)) }
    return numbers.chance(85) ? .integer(Int64(numbers.below(6))) : .string("s\(numbers.below(3))")
  }

  struct Change {
    var set: [Document] = []
    var remove: [DocumentKey] = []
  }

  mutating func changes() -> [Change] {
    (0..<20).map { _ in
      var change = Change()
      if numbers.chance(15), !known.isEmpty {
        // A collection goes as a whole, and its number with it.
        let victim = numbers.element(known.sorted()).collectionPath
        change.remove = known.filter { $0.collectionPath == victim }.sorted()
      } else {
        for _ in 0...numbers.below(6) {
          let text = "\(collection())/\(numbers.chance(10) ? "__id\(numbers.below(3))__" : "d\(numbers.below(6))")"
          change.set.append(numbers.chance(8) ? HearthStoreTests.missing(text, 2) : found(text, 1, fields()))
        }
      }
      known.formUnion(change.set.map(\.key))
      known.subtract(change.remove)
      return change
    }
  }

  mutating func indexes() throws -> [IndexDefinition] {
    let kinds: [IndexDefinition.Kind] = [.ascending, .descending]
    return try (0..<6).map { _ in
      var fields: [IndexDefinition.Field] = []
      if numbers.chance(30) { fields.append(.init(path: field("t"), kind: .contains)) }
      for name in numbers.chance(50) ? ["n", "m"] : ["m", "n"] where fields.isEmpty || numbers.chance(60) {
        fields.append(.init(path: field(name), kind: numbers.element(kinds)))
      }
      if numbers.chance(20) { fields.append(.init(path: .documentKey, kind: numbers.element(kinds))) }
      return try IndexDefinition(
        collectionGroup: "orders", scope: numbers.chance(75) ? .collectionGroup : .collection, fields: fields)
    }
  }

  mutating func queries(_ keys: [DocumentKey]) -> [Query] {
    (0..<30).map { _ in query(keys) }
  }

  private mutating func query(_ keys: [DocumentKey]) -> Query {
    var query = Query(path: ResourcePath(), collectionGroup: "orders")
    switch numbers.below(10) {
    case 0: query = Query(path: path("users/u\(numbers.below(40))"), collectionGroup: "orders")
    case 1: query = Query(path: path("users/u\(numbers.below(40))/orders"))
    default: break
    }
    let ops: [FieldFilter.Operator] = [.equal, .equal, .lessThan, .greaterThanOrEqual, .greaterThan, .lessThanOrEqual]
    if numbers.chance(60) { query = query.with(filter: .field(field("n"), numbers.element(ops), value())) }
    if numbers.chance(25) { query = query.with(filter: .field(field("t"), .arrayContains, value())) }
    if numbers.chance(15) {
      query = query.with(filter: .field(field("m"), .in, .array([value(), value(), value()])))
    }
    let directions: [OrderBy.Direction] = [.ascending, .descending]
    if numbers.chance(60) {
      let path = field(numbers.element(["n", "m"]))
      query = query.with(order: OrderBy(path: path, direction: numbers.element(directions)))
      if numbers.chance(30) {
        query = query.with(order: OrderBy(path: .documentKey, direction: numbers.element(directions)))
      }
    }
    if numbers.chance(70) {
      query = query.with(limit: 1 + numbers.below(9), type: numbers.chance(25) ? .last : .first)
    }
    if numbers.chance(40) { query.startAt = bound(of: query, keys) }
    if numbers.chance(15) { query.endAt = bound(of: query, keys) }
    return query
  }

  private mutating func bound(of query: Query, _ keys: [DocumentKey]) -> Bound? {
    var position: [Value] = []
    for order in query.orders {
      guard position.isEmpty || numbers.chance(70) else { break }
      guard order.path.isDocumentKey else {
        position.append(value())
        continue
      }
      if query.collectionGroup != nil, !keys.isEmpty {
        position.append(.reference(ReferenceValue(database: Self.database, key: numbers.element(keys))))
      }
      break
    }
    return position.isEmpty ? nil : Bound(position: position, isInclusive: numbers.chance(50))
  }
}
