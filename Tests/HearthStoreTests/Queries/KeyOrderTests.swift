import HearthModel
import HearthPlan
import HearthStore
import TestSupport
import Testing

@Suite("The order of keys over several collections")
struct KeyOrderTests {
  /// Ids whose order is not that of the bytes of their paths, or that begin alike.
  private static let ids = [
    "a", "a!", "a-b", "aa", "a0", "b", "__id7__", "__id-3__", "__id10__", "__id", "~", "é", "\u{1}",
  ]
  private static let collectionIDs = ["c", "c-d", "c!", "x"]
  private static let database = DatabaseID(projectID: "p")

  private struct Generator {
    var random: SeededGenerator

    mutating func key() -> DocumentKey {
      var path = ResourcePath()
      for _ in 0...random.below(3) {
        path = path.appending(random.element(KeyOrderTests.collectionIDs)).appending(random.element(KeyOrderTests.ids))
      }
      return HearthStoreTests.key(path.canonicalString)
    }

    mutating func bound() -> Bound? {
      guard random.chance(60) else { return nil }
      return Bound(
        position: [.reference(ReferenceValue(database: KeyOrderTests.database, key: key()))],
        isInclusive: random.chance(50))
    }

    mutating func query() -> Query {
      let direction: OrderBy.Direction = random.chance(60) ? .ascending : .descending
      let group = random.element(["", "", "c", "c-d", "x"])
      var query = Query(
        path: random.chance(25) ? path("c/a") : ResourcePath(), collectionGroup: group,
        explicitOrders: [OrderBy(path: .documentKey, direction: direction)])
      query.limit = random.element([1, 2, 3, 7, 20, 1_000])
      if random.chance(20) { query.limitType = .last }
      (query.startAt, query.endAt) = (bound(), bound())
      if random.chance(20) {
        query.filters = [.field(field("n"), .equal, .integer(Int64(random.below(4))))]
      }
      return query
    }
  }

  @Test("give what sorting all documents gives, with any cursors, in both directions", arguments: 1...40)
  func agreement(seed: UInt64) throws {
    let store = try DocumentStore(database: Database(.memory))
    var generator = Generator(random: SeededGenerator(seed: seed))
    var documents: [DocumentKey: NaiveDocument] = [:]
    for _ in 0..<generator.random.element([3, 40, 200]) {
      let key = generator.key()
      let fields: MapValue = ["n": .integer(Int64(generator.random.below(4)))]
      documents[key] = NaiveDocument(key: key, fields: fields)
      try store.set(
        .found(
          key, version: version(1), createTime: version(1), readTime: version(1), fields: EncodedFields(fields)))
    }
    try store.set(missing("c/zz", 1))
    let executor = QueryExecutor(documents: store, walksKeys: true)
    var walks = 0
    for _ in 0..<60 {
      let query = generator.query()
      let answer = try executor.run(query)
      #expect(answer.documents.map(\.key) == NaiveQuery(query).answer(documents.values), "\(query)")
      if answer.execution.plan == .keys { walks += 1 }
    }
    #expect(walks > 40)
  }

  @Test("read as many documents as they give, wherever the cursor is", arguments: ["", "messages"])
  func cost(group: String) throws {
    let store = try DocumentStore(database: Database(.memory))
    try store.database.transaction("Fill") {
      for room in 100..<200 {
        try store.set(found("rooms/\(room)"))
        for message in 10..<20 { try store.set(found("rooms/\(room)/messages/\(message)")) }
      }
    }
    let executor = QueryExecutor(documents: store, walksKeys: true)
    for direction in [OrderBy.Direction.ascending, .descending] {
      for cursor in [nil, "rooms/120/messages/15", "rooms/150", "rooms/150/messages/99", "rooms/180/messages/10"] {
        var query = Query(
          path: ResourcePath(), collectionGroup: group,
          explicitOrders: [OrderBy(path: .documentKey, direction: direction)])
        query.limit = 50
        query.startAt = cursor.map {
          Bound(
            position: [.reference(ReferenceValue(database: Self.database, key: key($0)))], isInclusive: false)
        }
        let answer = try executor.run(query)
        #expect(answer.execution.plan == .keys && answer.documents.count == 50)
        #expect(answer.execution.rowsRead <= 52, "\(cursor ?? "the begin"), \(direction)")
        #expect(try executor.piece(of: query, bytes: 1 << 20, .direct) != nil)
      }
    }
  }
}
