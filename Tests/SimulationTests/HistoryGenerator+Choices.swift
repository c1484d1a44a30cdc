import HearthModel
import HearthSync

/// The queries that users listen to, and the writes that they make.
extension HistoryGenerator {
  static let keys: [DocumentKey] = [
    "rooms/a", "rooms/b", "rooms/c", "rooms/d", "rooms/a/seats/1", "rooms/b/seats/2", "halls/h",
  ]
  .compactMap { try? DocumentKey(parsing: $0) }

  private func field(_ name: String) -> FieldPath {
    do { return try FieldPath(parsingUserFormat: name) } catch { fatalError("bad field in a test: \(error)") }
  }

  mutating func query() -> Query {
    let rooms = Query(path: ResourcePath(["rooms"]))
    let byNumber = rooms.with(order: OrderBy(path: field("n")))
    switch Int.random(in: 0..<11, using: &self) {
    case 0: return rooms
    case 1: return rooms.with(filter: .field(field("n"), .greaterThanOrEqual, .integer(2)))
    case 2: return byNumber.with(limit: 2, type: .first)
    case 3: return byNumber.with(limit: 2, type: .last)
    case 4: return rooms.with(order: OrderBy(path: field("n"), direction: .descending)).with(limit: 3, type: .first)
    case 5: return rooms.with(filter: .field(field("tag"), .equal, .string("x")))
    case 6: return Query(path: ResourcePath(), collectionGroup: "seats")
    case 7: return Query(path: ResourcePath(["halls"]))
    case 8: return rooms.with(filter: .field(field("list"), .arrayContains, .integer(1))).with(limit: 1, type: .first)
    default: return Query(path: pick(Self.keys).path)
    }
  }

  mutating func options() -> ListenOptions {
    var options = ListenOptions(includeDocumentMetadataChanges: true, includeQueryMetadataChanges: true)
    if chance(15) { options.source = .cache }
    if chance(15) { options.waitForSyncWhenOnline = true }
    if chance(30) { options.includeDocumentMetadataChanges = false }
    if chance(30) { options.includeQueryMetadataChanges = false }
    return options
  }

  /// Indexes for some of the queries.
  mutating func indexes() -> [IndexDefinition] {
    let all = [
      [IndexDefinition.Field(path: field("n"), kind: .ascending)],
      [.init(path: field("tag"), kind: .ascending), .init(path: field("n"), kind: .descending)],
      [.init(path: field("list"), kind: .contains)],
    ]
    return [pick(all), pick(all)].compactMap { try? IndexDefinition(collectionGroup: "rooms", fields: $0) }
  }

  mutating func mutations() -> [Mutation] {
    var mutations: [Mutation] = []
    for _ in 0..<(chance(20) ? 2 : 1) { mutations.append(mutation()) }
    return mutations
  }

  private mutating func mutation() -> Mutation {
    let key = pick(Self.keys)
    let n = Value.integer(Int64.random(in: 0...5, using: &self))
    let tag = Value.string(pick(["x", "y"]))
    switch Int.random(in: 0..<10, using: &self) {
    case 0, 1, 2: return .set(key, ["n": n, "tag": tag])
    case 3: return .set(key, ["n": n, "list": [1, n]])
    case 4: return .patch(key, ["tag": tag], mask: FieldMask([field("tag")]))
    case 5: return .patch(key, ["n": n], mask: FieldMask([field("n")]), precondition: .none)
    case 6: return .patch(key, [:], mask: FieldMask([field("tag")]))
    case 7: return .delete(key)
    case 8:
      return .patch(
        key, [:], mask: .empty, precondition: .none,
        transforms: [
          FieldTransform(path: field("n"), operation: .increment(1)),
          FieldTransform(path: field("list"), operation: .arrayUnion([n])),
        ])
    default:
      return .set(key, ["n": n, Mutation.forbiddenField: true])
    }
  }
}
